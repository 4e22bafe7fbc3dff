import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "etude"
MODULES = sorted(SOURCE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PACKAGES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))

LONGEST_MODULE = 300
LONGEST_FUNCTION = 60
VAGUE = {"utils", "util", "helpers", "common", "misc", "base", "manager"}

HEAVY = {
    "torch": {"compute", "checkpoints", "policies", "train", "testing"},
    "safetensors": {"checkpoints"},
    "gymnasium": {"simulators"},
    "mujoco": {"simulators"},
    "metaworld": {"simulators"},
    "pyarrow": {"datasets"},
    "av": {"datasets"},
    "h5py": {"datasets"},
    "PIL": {"datasets"},
    "websockets": {"serving"},
    "msgpack": {"serving"},
    "tyro": {"cli"},
}
"""Which packages may import a library that is slow to load or not installed everywhere."""

COMPANIONS = ("mujoco", "pydantic_core")
"""Libraries that a declared one pins: Meta-World and pydantic."""
IMPORTED_AS = {"pillow": "PIL"}
"""Declared packages whose modules have another name."""

LINT = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]


ENGLISH, CHINESE = ROOT / "README.md", ROOT / "README.zh-CN.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0]


def imports(tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Yield every import statement below `tree` with each module that it names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node, node.module or ""


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_there_is_something_to_check():
    assert {"core", "store", "events", "checkpoints", "policies"} <= set(PACKAGES)


def test_no_file_is_longer_than_300_lines():
    lengths = {named(p): len(p.read_text(encoding="utf-8").splitlines()) for p in MODULES + TESTS}

    assert {name: n for name, n in lengths.items() if n > LONGEST_MODULE} == {}


def test_no_function_is_longer_than_60_lines():
    lengths = {
        f"{named(path)}:{function.lineno} {function.name}": (
            (function.end_lineno or 0) - function.lineno + 1
        )
        for path in MODULES + TESTS
        for function in functions(parsed(path))
    }

    assert {name: n for name, n in lengths.items() if n > LONGEST_FUNCTION} == {}


def test_every_module_says_in_one_line_what_it_is_for():
    wrong = [
        named(path)
        for path in MODULES
        if not (text := ast.get_docstring(parsed(path), clean=False) or "")
        or not text.splitlines()[0].rstrip().endswith((".", ":"))
    ]

    assert wrong == []


def test_no_module_has_a_name_that_says_nothing():
    assert [named(path) for path in MODULES if VAGUE & {path.stem, *path.parent.parts}] == []


@pytest.mark.parametrize(("library", "homes"), HEAVY.items())
def test_a_heavy_library_is_imported_where_it_belongs(library: str, homes: set[str]):
    strays = {
        f"{named(path)}:{node.lineno}"
        for path in MODULES
        if package_of(path) not in homes
        for node, module in imports(parsed(path))
        if module.split(".")[0] == library
    }

    assert strays == set()


def test_only_the_command_line_and_the_runs_import_late():
    late = {
        f"{named(path)}:{node.lineno}"
        for path in MODULES
        if package_of(path) not in {"cli", "runs"}
        for function in functions(parsed(path))
        for node, _ in imports(function)
    }

    assert late == set()


def test_config_modules_can_be_read_without_numpy_or_torch():
    program = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "print(sorted({'torch', 'numpy', 'gymnasium', 'mujoco'} & set(sys.modules)))"
    )
    configs = [
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        for path in MODULES
        if path.stem.endswith("_config")
    ]

    done = subprocess.run(
        [sys.executable, "-c", program, *configs], capture_output=True, text=True, check=True
    )

    assert configs
    assert done.stdout.strip() == "[]"


def test_tests_use_no_mocks():
    word = "mock"
    strays = {
        f"{named(path)}:{node.lineno}"
        for path in TESTS
        for node, module in imports(parsed(path))
        if word in module.split(".")
    } | {
        f"{named(path)}:{node.lineno}"
        for path in TESTS
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute)
        and (node.attr == "setattr" or (node.attr == word and isinstance(node.value, ast.Name)))
    }

    assert strays == set()


def lint(folder: Path) -> tuple[int, str]:
    """Check the import contracts of the project in `folder`, which holds src/ and a config."""
    done = subprocess.run(
        [*LINT, "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "PATH": ""},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Copy the sources and the import contracts."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_imports_point_down(project: Path):
    code, said = lint(project)

    assert code == 0, said
    assert "Contracts: 1 kept, 0 broken." in said


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("core/errors.py", "etude.cli.main"),
        ("events/reader.py", "etude.checkpoints.commit"),
        ("checkpoints/card.py", "etude.policies.networks"),
    ],
    ids=["upward", "neighbour", "one up"],
)
def test_an_import_that_points_elsewhere_breaks_the_contract(
    project: Path, module: str, imported: str
):
    path = project / "src" / "etude" / module
    path.write_text(f"{path.read_text()}\nimport {imported}\n")

    code, said = lint(project)

    assert code == 1, said
    assert "Imports point down; neighbours are strangers BROKEN" in said
    assert imported in said


def test_a_package_in_no_layer_breaks_the_contract(project: Path):
    (project / "src" / "etude" / "attic").mkdir()
    (project / "src" / "etude" / "attic" / "__init__.py").write_text('"""Lost things."""\n')

    code, said = lint(project)

    assert code != 0
    assert "attic" in said


def test_every_third_party_import_is_a_declared_dependency():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = {
        re.split(r"[\s<>=\[!~;]", line, maxsplit=1)[0].lower().replace("-", "_")
        for line in declared["dependencies"]
    } | {"etude", *COMPANIONS, *IMPORTED_AS.values()}

    strays = {
        f"{named(path)}:{node.lineno} {module}"
        for path in MODULES
        for node, module in imports(parsed(path))
        if not (set(module.split(".")[:1]) & (known | set(sys.stdlib_module_names)))
    }

    assert strays == set()


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def code_blocks(path: Path) -> list[tuple[str, list[str]]]:
    """Return each block's language and its lines without their comments, which are translated."""
    return [
        (language, [re.split(r"\s*#", line, maxsplit=1)[0].rstrip() for line in body.splitlines()])
        for language, body in FENCE.findall(text_of(path))
    ]


def heading_levels(path: Path) -> list[int]:
    prose = FENCE.sub("", text_of(path))
    return [len(marks) for marks in re.findall(r"^(#+) ", prose, re.MULTILINE)]


def test_both_readmes_have_the_same_headings():
    assert heading_levels(ENGLISH) == heading_levels(CHINESE)
    assert len(heading_levels(ENGLISH)) >= 3


def test_both_readmes_have_the_same_code():
    assert code_blocks(ENGLISH) == code_blocks(CHINESE)
    assert code_blocks(ENGLISH)


def test_the_directory_map_names_every_package():
    packages = {path.parent.name for path in (ROOT / "src" / "etude").glob("*/__init__.py")}

    for readme in (ENGLISH, CHINESE):
        blocks = [body for _, body in FENCE.findall(text_of(readme)) if "src/etude" in body]
        named = {word for body in blocks for word in re.findall(r"\b(\w+)/", body)}

        assert packages - named == set(), f"{readme.name} does not name them in its directory map"


def test_each_readme_links_to_the_other():
    assert CHINESE.name in text_of(ENGLISH)
    assert ENGLISH.name in text_of(CHINESE)
