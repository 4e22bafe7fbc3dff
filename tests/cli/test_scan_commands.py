"""`etude scan` as a user meets it; real scans are in `runs/test_task_scans.py`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.core.types import ContentKey, WindowChoice, WindowScore
from etude.runs.scan_records import keep_record
from etude.scan.measure import Measure
from etude.scan.record import scan_record
from etude.store.layout import RunFolder
from toy_scan import TASKS, copied

DATA = copied()
TASK = TASKS[0].id
MEASURE = Measure(
    dataset="memory/toy", horizon=4, groups={"arm": (0, 1)}, actions="auto", units=ContentKey("u")
)


def score(episode: int, error: float) -> WindowScore:
    choice = WindowChoice(task=TASK, episode=episode, frame=3, stratum="slow", weight=1.0, seed=0)
    return WindowScore(choice=choice, groups={"arm": error}, mse=error, mae=error)


def keep(folder: Path, errors: list[float], *, step: int = 1, horizon: int = 4) -> str:
    """Record a scan of one window of each of the first episodes, and return the file."""
    record = scan_record(
        [score(episode, error) for episode, error in enumerate(errors)],
        kind="tasks",
        dataset=DATA,
        policy=ContentKey(f"weights-{step}"),
        step=step,
        measure=replace(MEASURE, horizon=horizon),
        settings={"tau": 0.25},
        of={TASK: 200},
        complete=True,
    )
    return keep_record(RunFolder(folder), record, warn=pytest.fail)


@pytest.mark.parametrize(
    ("command", "language", "said"),
    [
        ("tasks", "en", "task by task"),
        ("tasks", "zh", "逐个任务"),
        ("compare", "en", "usage: etude scan compare A B"),
        ("compare", "zh", "之后的扫描"),
    ],
)
def test_help_says_what_a_scan_does(
    command: str, language: str, said: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["scan", command, "--help", "--lang", language]) == 0

    assert said in capsys.readouterr().out


def test_two_scans_are_compared_as_one_json_object(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    before = keep(tmp_path / "run", [1.0, 1.0], step=1)
    after = keep(tmp_path / "run", [0.5, 0.25], step=2)

    code = main(["scan", "compare", before, str(tmp_path / "run"), "--json"])

    found = json.loads(capsys.readouterr().out)
    assert code == 0
    assert list(found) == ["schema_version", "a", "b", "tasks", "overall"]
    assert found["a"] == {
        "record": before,
        "kind": "tasks",
        "dataset": "memory/toy",
        "policy": "weights-1",
        "step": 1,
        "complete": True,
        "windows": 2,
    }
    assert found["b"]["record"] == after
    (task,) = found["tasks"]
    assert list(task) == [
        "task",
        "name",
        "pairs",
        "only_a",
        "only_b",
        "before",
        "after",
        "ratio",
        "interval",
        "passed_before",
        "passed_after",
        "verdict",
    ]
    # The square root of 0.5001 / 1.0001 * 0.2501 / 1.0001.
    assert task["ratio"] == pytest.approx(0.353624, abs=1e-6)
    assert (task["passed_before"], task["passed_after"]) == (0, 1)


@pytest.mark.parametrize(("language", "said"), [("en", "Holm's correction"), ("zh", "Holm 校正")])
def test_a_comparison_is_told_in_both_languages(
    tmp_path: Path, language: str, said: str, capsys: pytest.CaptureFixture[str]
):
    record = keep(tmp_path, [1.0, 1.0])

    assert main(["scan", "compare", record, record, "--lang", language]) == 0

    assert said in capsys.readouterr().out


def test_scans_that_cannot_be_compared_end_with_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    one = keep(tmp_path / "one", [1.0, 1.0])
    other = keep(tmp_path / "other", [1.0, 1.0], horizon=8)

    assert main(["scan", "compare", one, other]) == 2

    assert capsys.readouterr().err == (
        "error: the scans cannot be compared: horizon 4 in the first and 8 in the second\n"
        "hint: Scan both policies with the same settings and data; what is known is recalled.\n"
    )


def test_a_damaged_record_ends_with_exit_code_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    record = Path(keep(tmp_path, [1.0, 1.0]))
    record.write_bytes(record.read_bytes()[:-1])

    assert main(["scan", "compare", str(record), str(record)]) == 4

    assert f"error: {record} (" in capsys.readouterr().err


def test_a_comparison_takes_two_scans(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["scan", "compare", str(tmp_path)]) == 2

    assert "Run `etude scan compare --help`." in capsys.readouterr().err
