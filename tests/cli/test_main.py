"""The program as a user meets it: real processes, real exit codes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from etude.runs.config import load

HEAVY = ("numpy", "torch", "pydantic", "tyro", "rich", "metaworld", "pyarrow")


def etude(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    plain = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG"))}
    return subprocess.run(
        [sys.executable, "-m", "etude", *arguments],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
        env={**plain, "PYTHONUTF8": "1", **variables},
    )


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["nonsense"], []])
def test_the_program_starts_without_any_heavy_library(arguments: list[str]) -> None:
    code = (
        "import sys; from etude.cli.main import main; "
        f"main({arguments!r}); "
        f"sys.exit(repr([name for name in {HEAVY!r} if name in sys.modules]))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stderr.splitlines()[-1] == "[]"


def test_a_configuration_is_refused_without_torch_or_numpy() -> None:
    code = (
        "import sys; from etude.runs.config import load; load(None, ['--steps', '9000']); "
        "sys.exit(repr([name for name in ('numpy', 'torch') if name in sys.modules]))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stderr.strip() == "[]"


def test_help_names_every_command() -> None:
    done = etude("--help")

    assert done.returncode == 0
    for command in ("run", "demos", "train", "eval", "report", "config show"):
        assert f"\n  {command} " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        (["--lang", "zh", "--help"], {}),
        (["--help"], {"LANG": "zh_CN.UTF-8"}),
        (["--help", "--lang=auto"], {"LC_ALL": "zh_CN.UTF-8", "LANG": "en_US.UTF-8"}),
    ],
)
def test_help_speaks_chinese_when_asked(arguments: list[str], variables: dict[str, str]) -> None:
    assert "用法" in etude(*arguments, **variables).stdout
    assert "用法" not in etude("--help", LANG="C.UTF-8").stdout


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["rnu"], "'rnu' is no command of etude", "The nearest is `etude run`."),
        (["config"], "'config' is no command of etude", "The nearest is `etude config show`."),
        (
            ["xyz"],
            "'xyz' is no command of etude",
            "Run `etude --help`.",
        ),
        (
            ["run", "--dryrun"],
            "--dryrun is no option of `etude run`",
            "The nearest is --dry-run.",
        ),
        (
            ["run", "no.toml"],
            "no.toml does not exist",
            "Name a recipe, e.g. recipes/mt50-quick.toml.",
        ),
        (
            ["run", "--steps", "1e3"],
            "steps is 1000.0, not a whole number (--steps)",
            "Write 1000.",
        ),
        (
            ["eval", "--target", "97"],
            "--target is 97.0, not between 0 and 1",
            "Write a success rate, e.g. --target 0.97.",
        ),
        (
            ["report", "no/such/run"],
            "no/such/run is no folder",
            "Name a run, e.g. runs/mt50-quick.",
        ),
        (
            ["train", "--policy.use", "chunkk"],
            'policy.use is "chunkk", which no installed package provides (--policy.use)',
            "Use 'chunk'.",
        ),
    ],
)
def test_a_wrong_call_gets_two_lines_and_exit_code_2(
    arguments: list[str], error: str, hint: str
) -> None:
    done = etude(*arguments)

    assert done.stderr == f"error: {error}\nhint: {hint}\n"
    assert done.stdout == ""
    assert done.returncode == 2


def test_options_that_cannot_be_parsed_end_with_exit_code_2() -> None:
    done = etude("report")

    assert done.returncode == 2
    assert "etude report --help" in done.stderr


def test_a_failure_is_one_json_object_when_json_is_asked_for() -> None:
    done = etude("config", "show", "--json", "--steps", "0")

    assert json.loads(done.stdout) == {
        "schema_version": 1,
        "error": "steps is 0, not at least 1 (--steps)",
        "hint": "",
        "exit_code": 2,
    }
    assert done.stderr == "error: steps is 0, not at least 1 (--steps)\n"


def test_what_config_show_prints_is_a_recipe_of_the_same_run(tmp_path: Path) -> None:
    recipe = tmp_path / "mine.toml"
    recipe.write_text('[simulator]\ntasks = ["reach-v3"]\n', encoding="utf-8")
    flags = ["--steps", "3000", "--train.lr=1e-4"]

    done = etude("config", "show", *flags, str(recipe))

    assert done.returncode == 0
    resolved = tmp_path / "resolved.toml"
    resolved.write_text(done.stdout, encoding="utf-8")
    assert load(resolved) == load(recipe, flags)
    assert "steps = 3000 # --steps" in done.stdout
    assert f'tasks = ["reach-v3"] # {recipe}:2' in done.stdout


def test_config_show_prints_one_json_object() -> None:
    done = etude("config", "show", "--json", "--steps", "3000")

    shown = json.loads(done.stdout)
    assert shown["schema_version"] == 1
    assert shown["config"]["steps"] == 3000
    assert shown["config"]["policy"]["use"] == "chunk"
    assert shown["sources"] == {"steps": "--steps"}


def test_ctrl_c_ends_with_exit_code_130_and_no_traceback(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    os.mkfifo(recipe)
    # A program started in the background may inherit that Ctrl-C is ignored.
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from etude.cli.main import main; "
        f"sys.exit(main(['--lang=en', 'config', 'show', {str(recipe)!r}]))"
    )
    command = [sys.executable, "-c", code]

    # Opening the pipe returns only when the program has begun to read its recipe.
    with (
        subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process,
        recipe.open("w", encoding="utf-8"),
    ):
        process.send_signal(signal.SIGINT)
        _, told = process.communicate()

    assert process.returncode == 130
    assert told == "interrupted\n"


def test_a_dry_run_says_what_would_happen_and_does_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    flags = ["--output_dir", str(folder), "--simulator.tasks", "reach-v3", "push-v3"]

    done = etude("run", "--dry-run", "--json", *flags, "--dataset.root", str(tmp_path / "data"))

    plan = json.loads(done.stdout)
    assert (plan["tasks"], plan["demonstrations"], plan["steps_done"]) == (2, 100, 0)
    assert list(tmp_path.iterdir()) == []
