import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from etude.cli.arguments import parse
from etude.cli.commands import COMMANDS
from etude.core import errors
from etude.core.errors import EtudeError
from etude.runs.config import load

ROOT = Path(__file__).parent.parent
ENGLISH, CHINESE = ROOT / "README.md", ROOT / "README.zh-CN.md"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md")])
PACKAGES = {path.parent.name for path in (ROOT / "src" / "etude").glob("*/__init__.py")}

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ERRORS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, EtudeError) and kind is not EtudeError
]


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def blocks(path: Path, language: str) -> list[str]:
    return [body for named, body in FENCE.findall(text_of(path)) if named == language]


def code_blocks(path: Path) -> list[tuple[str, list[str]]]:
    """Return each block's language and its lines without their comments, which are translated."""
    return [
        (language, [re.split(r"\s*#", line, maxsplit=1)[0].rstrip() for line in body.splitlines()])
        for language, body in FENCE.findall(text_of(path))
    ]


def heading_levels(path: Path) -> list[int]:
    prose = FENCE.sub("", text_of(path))
    return [len(marks) for marks in re.findall(r"^(#+) ", prose, re.MULTILINE)]


def code_of(path: Path) -> str:
    """Return everything in `path` that is written as code."""
    text = text_of(path)
    spans = re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    return "\n".join([*spans, *(body for _, body in FENCE.findall(text))])


def shell_lines(path: Path) -> list[list[str]]:
    """Return the words of every command in the shell blocks of `path`."""
    lines = [line for body in blocks(path, "sh") for line in body.splitlines()]
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def python(words: Sequence[str], *, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run Python in `folder`, from which packages can be imported too."""
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_both_readmes_have_the_same_headings():
    assert heading_levels(ENGLISH) == heading_levels(CHINESE)
    assert len(heading_levels(ENGLISH)) >= 8


def test_both_readmes_have_the_same_code():
    assert code_blocks(ENGLISH) == code_blocks(CHINESE)
    assert len(code_blocks(ENGLISH)) >= 5


def test_both_readmes_have_the_same_tables_and_places_for_figures():
    def shape(path: Path) -> list[str]:
        text = text_of(path)
        return re.findall(r"^<!-- .* -->$|^\| ---.*\|$", text, re.MULTILINE)

    assert shape(ENGLISH) == shape(CHINESE)
    assert [line for line in shape(ENGLISH) if line.startswith("<")] == [
        "<!-- figures:demo -->",
        "<!-- /figures -->",
        "<!-- figures:mt50 -->",
        "<!-- /figures -->",
    ]


@pytest.mark.parametrize("readme", [ENGLISH, CHINESE], ids=lambda path: path.name)
def test_the_directory_map_names_every_package_and_no_other(readme: Path):
    (body,) = [body for body in blocks(readme, "text") if "src/etude/" in body]

    assert set(re.findall(r"^  (\w+)/", body, re.MULTILINE)) == PACKAGES


def test_the_architecture_describes_every_package():
    described = re.findall(r"^\| `(\w+)` \|", text_of(ROOT / "docs/architecture.md"), re.MULTILINE)

    assert set(described) == PACKAGES


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(path: Path):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", FENCE.sub("", text_of(path)))

    broken = [link for link in links if "://" not in link and not (path.parent / link).exists()]

    assert broken == []


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"^([a-z]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    named = {
        target
        for path in DOCUMENTS
        for target in re.findall(r"^(?:.*\s)?make ([a-z]+)", code_of(path), re.MULTILINE)
    }

    assert named >= {"demo", "test"}
    assert named - targets == set()


@pytest.mark.parametrize("readme", [ENGLISH, CHINESE], ids=lambda path: path.name)
def test_every_command_that_a_readme_names_exists(readme: Path):
    named = set(
        re.findall(
            r"^etude ((?:(?:config|scan|cache|tasks|data) )?[a-z]+)\b",
            code_of(readme),
            re.MULTILINE,
        )
    )

    assert named == set(COMMANDS)


@pytest.mark.parametrize(
    "words",
    [words for words in shell_lines(ENGLISH) if words[0] == "etude"],
    ids=" ".join,
)
def test_every_command_line_of_the_readme_is_understood(
    words: Sequence[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(ROOT)
    length = 1 if words[1] in COMMANDS else 2
    command = " ".join(words[1 : 1 + length])

    arguments, settings = parse(COMMANDS[command][1], words[1 + length :], command=command)

    # Commands about folders and caches take no settings.
    assert load(getattr(arguments, "recipe", None), settings).steps > 0


def test_the_rules_for_agents_are_short_and_are_the_only_ones():
    assert len(text_of(ROOT / "AGENTS.md").splitlines()) <= 60
    assert text_of(ROOT / "CLAUDE.md") == "@AGENTS.md\n"


def test_every_dependency_has_its_reason():
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    table = text_of(ROOT / "docs/decisions/0001-dependencies.md")

    names = [re.split(r"[\s<>=\[!~;]", line, maxsplit=1)[0] for line in wanted]
    reasons = re.findall(r"^\| ([\w-]+) \|", table, re.MULTILINE)

    assert sorted(set(reasons) - {"Package", "---"}) == sorted(names)


def test_the_kill_points_are_those_of_the_code():
    called = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r'^\s+kill_point\("([\w.]+)"\)', text_of(path), re.MULTILINE)
    }

    listed = re.findall(
        r"^\| `(\w+\.\w+)` \|", text_of(ROOT / "docs/architecture.md"), re.MULTILINE
    )

    assert len(listed) == len(set(listed))
    assert set(listed) == called


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_is_described_under_its_exit_code(kind: type[EtudeError]):
    parts = re.split(r"^## Exit code (\d+)", text_of(ROOT / "docs/errors.md"), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))

    headings = [code for code, body in sections.items() if f"### {kind.__name__}\n" in body]

    assert headings == [str(int(kind.exit_code))]


def examples() -> list[tuple[str, str]]:
    """Return every command in docs/errors.md and what it prints."""
    shown = "".join(blocks(ROOT / "docs/errors.md", "console"))
    parts = re.split(r"^\$ (.*)\n", shown, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize(("command", "printed"), examples(), ids=[each for each, _ in examples()])
def test_an_error_is_as_its_description_shows_it(command: str, printed: str, tmp_path: Path):
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")

    done = python(["-m", *shlex.split(command)], folder=tmp_path)

    assert done.stderr == printed
    assert done.stdout == ""
    assert done.returncode != 0


PLUGINS = ROOT / "docs/plugins.md"


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lay the example of docs/plugins.md out as pip would install it."""
    folder = tmp_path_factory.mktemp("plugin")
    for body in [*blocks(PLUGINS, "python"), *blocks(PLUGINS, "toml")]:
        first, _, rest = body.partition("\n")
        path = folder / first.removeprefix("# ")
        path.parent.mkdir(exist_ok=True)
        path.write_text(rest)
    project = tomllib.loads(text_of(folder / "pyproject.toml"))["project"]
    installed = folder / "etude_line-0.1.0.dist-info"
    installed.mkdir()
    name, version = project["name"], project["version"]
    (installed / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    )
    (installed / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in points.items())
            for group, points in project["entry-points"].items()
        )
    )
    return folder


def test_the_example_of_a_plugin_keeps_the_contracts(plugin: Path):
    done = python(["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_line.py"], folder=plugin)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout


def test_the_example_of_a_plugin_works_in_the_commands_beside_it(plugin: Path):
    commands = [words[1:] for words in shell_lines(PLUGINS) if words[0] == "etude"]

    for words in commands:
        done = python(["-m", "etude", *words], folder=plugin)
        assert done.returncode == 0, done.stdout + done.stderr

    assert [words[0] for words in commands] == ["config", "eval", "run"]
    assert "by the rule failing" in text_of(plugin / "runs/line/report.html")


def test_a_misspelt_plugin_is_told_from_the_ones_that_are_there(plugin: Path):
    done = python(["-m", "etude", "config", "show", "--simulator.use", "lime"], folder=plugin)

    assert done.returncode == 2
    assert "hint: Use 'line'." in done.stderr
