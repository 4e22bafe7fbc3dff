"""`etude tasks` as a user meets it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from etude.cli.main import main
from task_states import document, save_checkpoint


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    save_checkpoint(folder, 1000, states=document())
    return folder


@pytest.fixture
def run(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run `runs/mt50` below the working folder."""
    shutil.copytree(saved, tmp_path / "runs" / "mt50")
    monkeypatch.chdir(tmp_path)
    return Path("runs/mt50")


def answer(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, Any]:
    """Run a command with --json and return what it prints, and its exit code."""
    code = main(["tasks", *map(str, words), "--json"])
    return {**json.loads(capsys.readouterr().out), "code": code}


def test_show_tells_where_every_task_stands(run: Path, capsys: pytest.CaptureFixture[str]):
    found = answer(capsys, "show", run)

    assert (found["schema_version"], found["code"], found["step"]) == (1, 0, 1000)
    assert found["document"] == "runs/mt50/checkpoints/step-00001000/task_state.json"
    assert found["statuses"] == {"untried": 1, "training": 1, "passed": 1, "exhausted": 1}
    first = found["tasks"][0]
    assert (first["name"], first["status"], first["proxy"]) == ("reach-v3", "passed", True)
    assert (first["success"], first["trials"], first["share"]) == (0.95, 20.0, 0.125)


@pytest.mark.parametrize(("language", "word"), [("en", "passed (proxy)"), ("zh", "已通过（替代）")])
def test_show_without_a_place_takes_the_newest_run(
    run: Path, language: str, word: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["--lang", language, "tasks", "show"]) == 0
    assert word in capsys.readouterr().out


def test_show_tells_all_about_one_task(run: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["tasks", "show", str(run), "--task", "reach-v3"]) == 0
    assert "mt50-1a2b@850" in capsys.readouterr().out

    found = answer(capsys, "show", run, "--task", "mt50/0")
    assert [score["step"] for score in found["scores"]] == [850, 900]


def test_states_are_exported_edited_and_compared(run: Path, capsys: pytest.CaptureFixture[str]):
    assert answer(capsys, "export", run, "mine.json")["document"] == "mine.json"

    marked = answer(capsys, "mark", "push-v3", "passed", "--document", "mine.json")
    cleared = answer(capsys, "reset", "mt50/0", "--document", "mine.json")
    found = answer(capsys, "diff", run, "mine.json")

    assert marked["code"] == cleared["code"] == found["code"] == 0
    status = [change for change in found["changes"] if change["entry"] == "status"]
    assert [(each["name"], each["before"], each["after"]) for each in status] == [
        ("reach-v3", "passed (proxy)", "untried"),
        ("push-v3", "training", "passed"),
    ]
    assert answer(capsys, "show", run)["statuses"]["untried"] == 1
    assert answer(capsys, "show", "mine.json")["statuses"]["untried"] == 2


def test_an_edit_says_what_it_has_changed(run: Path, capsys: pytest.CaptureFixture[str]):
    main(["tasks", "export", str(run), "mine.json"])
    capsys.readouterr()

    assert main(["tasks", "mark", "disassemble-v3", "training", "--document", "mine.json"]) == 0
    assert "exhausted→training" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["show", "nowhere"], "nowhere does not exist"),
        (["show", "runs"], "runs has no checkpoint, and is no document"),
        (["show", "runs/mt50", "--task", "rech-v3"], "runs/mt50/checkpoints/step-00001000/task"),
        (["export", "runs/mt50"], "`etude tasks export` does not take these options"),
        (["mark", "reach-v3", "passed"], "`etude tasks mark` does not take these options"),
        (["mark", "reach-v3", "won", "--document", "mine.json"], "'won' is no state of a task"),
        (["reset", "rech-v3", "--document", "mine.json"], "mine.json has no task 'rech-v3'"),
        (["reset", "reach-v3", "--document", "runs/mt50"], "runs/mt50 is a folder"),
        (
            [
                "reset",
                "reach-v3",
                "--document",
                "runs/mt50/checkpoints/step-00001000/task_state.json",
            ],
            "runs/mt50/checkpoints/step-00001000/task_state.json is sealed with the weights",
        ),
        (["shwo"], "'tasks shwo' is no command of etude"),
        ([], "'tasks' is no command of etude"),
    ],
)
def test_what_cannot_be_done_is_said_with_a_way_out(
    run: Path, words: list[str], error: str, capsys: pytest.CaptureFixture[str]
):
    Path("mine.json").write_text(document().to_text(), encoding="utf-8")

    assert main(["tasks", *words]) == 2

    said = capsys.readouterr().err.splitlines()
    assert said[-2].startswith(f"error: {error}")
    assert said[-1].startswith("hint: ")


def test_a_damaged_checkpoint_ends_with_the_exit_code_of_data(
    run: Path, capsys: pytest.CaptureFixture[str]
):
    (run / "checkpoints" / "step-00001000" / "weights").unlink()

    assert main(["tasks", "show", str(run)]) == 4
    assert "is damaged" in capsys.readouterr().err


def test_faults_of_a_document_are_all_told(run: Path, capsys: pytest.CaptureFixture[str]):
    text = document().to_text().replace('"exhausted"', '"exausted"').replace("9000.5", '"many"')
    Path("mine.json").write_text(text, encoding="utf-8")

    assert main(["tasks", "show", "mine.json"]) == 2

    assert capsys.readouterr().err == (
        "error: mine.json has 2 faults\n"
        '  mine.json:tasks[1].spent is "many", not a number of at least 0\n'
        '  mine.json:tasks[3].status is "exausted", not untried, training, passed or exhausted\n'
        "    The nearest is exhausted.\n"
        "hint: Correct them, then read it again: etude tasks show mine.json\n"
    )


@pytest.mark.parametrize("command", ["show", "export", "diff", "reset", "mark"])
def test_help_names_what_a_command_takes(command: str, capsys: pytest.CaptureFixture[str]):
    assert main(["tasks", command, "--help"]) == 0

    said = capsys.readouterr().out
    assert said.startswith(f"usage: etude tasks {command} ")
    assert ("--document" in said) == (command in ("reset", "mark"))
