"""`etude scan samples` on circles that a small policy learns, one of them with a wrong label."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import etude
from etude.core.types import Task, TaskId
from etude.datasets.writer import RecordedEpisode, write_dataset
from etude.events.reader import read_events
from etude.runs.build import open_dataset
from etude.runs.config import load
from etude.runs.sample_scans import earlier_scans
from etude.runs.sample_scans import scan as scan_here
from etude.runs.scan_records import read_record
from etude.runs.training import train
from etude.store.layout import RunFolder
from training_run import quiet

SETTINGS = """
steps = 240
batch_size = 64
[dataset]
root = "data"
hold_out_episodes = 1
[policy]
width = 32
blocks = 1
horizon = 4
execute = 2
[train]
lr = 3e-3
warmup_steps = 5
[save]
every = 80
keep_last = 0
[scan]
samples_per_task = 200
[cache]
root = "kept"
"""
TASKS = tuple(
    Task(id=TaskId(f"circles/{place}"), index=place, name=name, text=f"go {name}")
    for place, name in enumerate(("left", "right"))
)
STEPS = (80, 160, 240)
FRAMES = 40
WRONG = 17
"""Frame whose recorded action is wrong, in the episode that is."""


def circle(task: int, number: int, *, wrong: bool) -> RecordedEpisode:
    """Return a demonstration in which the action is where the robot is, on its way round."""
    angles = number + (0.3 - 0.6 * task) * np.arange(FRAMES)
    states = np.stack([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
    actions = states.copy()
    if wrong:
        actions[WRONG] = -actions[WRONG]
    return RecordedEpisode(task_index=task, states=states, actions=actions)


def write_circles(folder: Path, *, wrong: int) -> None:
    """Write four episodes of each of two tasks; that of number `wrong` has a wrong label."""
    write_dataset(
        folder,
        fps=10,
        robot_type="toy",
        tasks=TASKS,
        state_names=["x", "y"],
        action_names=["to_x", "to_y"],
        episodes=[circle(number % 2, number, wrong=number == wrong) for number in range(8)],
        extra_meta={"settings": {}, "versions": {}},
    )


def checkpoint(step: int) -> str:
    return f"runs/recipe/checkpoints/step-{step:08d}"


def scanned(step: int, *flags: str, said: list[str] | None = None) -> dict[str, Any]:
    """Scan a checkpoint in the current folder and return what `--json` prints of it."""
    config = load(Path("recipe.toml"), ["--policy.path", checkpoint(step), *flags])
    warn = (lambda _: None) if said is None else said.append
    return scan_here(config, progress=quiet, warn=warn).to_json()


def found_suspects(report: dict[str, Any]) -> list[tuple[str, int, int, int]]:
    return [
        (task["name"], suspect["episode"], suspect["frame"], suspect["visits"])
        for task in report["tasks"]
        for suspect in task["suspects"]
    ]


def uncounted(report: dict[str, Any]) -> dict[str, Any]:
    return {name: report[name] for name in report if name not in ("inferences", "recalled")}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recipe, its demonstrations and three checkpoints."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "recipe.toml").write_text(SETTINGS)
    write_circles(folder / "data", wrong=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        train(load(Path("recipe.toml"), []), command=[], resume=False, progress=quiet)
    return folder


@pytest.fixture(scope="module")
def reports(trained: Path) -> list[dict[str, Any]]:
    """The first scans of the three checkpoints, in order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(trained)
        return [scanned(step) for step in STEPS]


@pytest.fixture
def folder(
    trained: Path, reports: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A copy of the folder after the scans, as the current one."""
    assert len(reports) == 3
    copy = shutil.copytree(trained, tmp_path / "copy")
    monkeypatch.chdir(copy)
    return copy


def test_every_task_is_told_with_its_strata(reports: list[dict[str, Any]]):
    for report in reports:
        assert [task["name"] for task in report["tasks"]] == ["left", "right"]
        for task in report["tasks"]:
            # Three of four episodes are trained on, and they are too short for an audit.
            assert (task["windows"], task["of"], task["estimated"]) == (120, 120, False)
            assert sum(row["of"] for row in task["strata"]) == 120
            assert sum(row["windows"] for row in task["strata"]) == 120
            drawn = sum(row["of"] * row["weight"] for row in task["strata"])
            assert drawn / 120 == pytest.approx(1.0)
        assert (report["inferences"], report["recalled"], report["complete"]) == (240, 0, True)


def test_difficulty_goes_down_with_training(reports: list[dict[str, Any]]):
    first, _, last = ([task["difficulty"] for task in report["tasks"]] for report in reports)

    assert all(after < before for before, after in zip(first, last, strict=True))


def test_the_windows_of_a_wrong_label_are_suspect_on_the_third_visit(
    reports: list[dict[str, Any]],
):
    assert [found_suspects(report) for report in reports[:2]] == [[], []]

    # Two actions of a chunk are played, so two windows hold the wrong one.
    # Others that are among the worst 5 % every time may be found with them.
    found = found_suspects(reports[2])
    assert {("left", 4, WRONG - 1, 3), ("left", 4, WRONG, 3)} <= set(found)
    assert len(found) <= 0.05 * 240


def test_the_same_scan_again_asks_nothing_and_leaves_the_same_record(
    folder: Path, reports: list[dict[str, Any]]
):
    record = folder / reports[2]["record"]
    before = record.read_bytes()

    again = scanned(240)

    assert (again["inferences"], again["recalled"]) == (0, 240)
    assert uncounted(again) == uncounted(reports[2])
    assert record.read_bytes() == before
    assert len(list(record.parent.iterdir())) == 3


def test_the_run_is_told_of_every_call_and_of_the_end(folder: Path, reports: list[dict[str, Any]]):
    told = list(read_events(folder / "runs/recipe/events"))

    asked = [event["windows"] for event in told if event["kind"] == "windows_asked"]
    ended = [event for event in told if event["kind"] == "scan_finished"]
    assert sum(asked) == 3 * 240
    assert [event["scan"] for event in ended] == ["sample-scan"] * 3
    assert [event["step"] for event in ended] == list(STEPS)
    kept = [report["record"].removeprefix("runs/recipe/") for report in reports]
    assert [event["record"] for event in ended] == kept
    assert ended[2]["gmse"] == [task["difficulty"] for task in reports[2]["tasks"]]


def test_a_scan_of_an_earlier_checkpoint_does_not_even_read_later_records(
    folder: Path, reports: list[dict[str, Any]]
):
    (folder / reports[2]["record"]).write_bytes(b"")
    said: list[str] = []

    assert uncounted(scanned(160, said=said)) == uncounted(reports[1])
    assert said == []


def test_a_damaged_record_is_said_and_the_scan_goes_on_without_it(
    folder: Path, reports: list[dict[str, Any]]
):
    record = folder / reports[0]["record"]
    record.write_bytes(record.read_bytes()[:40])
    said: list[str] = []

    report = scanned(240, said=said)

    assert found_suspects(report) == []
    (message,) = said
    assert record.name in message
    assert message.endswith("suspects are looked for without it")


@pytest.mark.parametrize(
    "flags",
    [
        "--scan.groups x=0",
        "--scan.horizon 1",
        "--dataset.hold_out_episodes 2",
        "--scan.actions relative",
    ],
)
@pytest.mark.usefixtures("folder")
def test_records_of_errors_that_mean_something_else_are_no_visits(flags: str):
    said: list[str] = []

    assert found_suspects(scanned(240, *flags.split(), said=said)) == []
    assert said == []


def test_windows_of_an_episode_that_was_recorded_anew_are_no_visits(
    folder: Path, reports: list[dict[str, Any]]
):
    head = read_record(folder / reports[0]["record"]).head
    shutil.rmtree(folder / "data")
    write_circles(folder / "data", wrong=-1)
    changed = open_dataset(load(Path("recipe.toml"), []))

    found = earlier_scans(
        RunFolder(folder / "runs/recipe"), changed, head.measure, until=160, warn=print
    )

    assert [(scan.step, scan.round, len(scan.windows)) for scan in found] == [
        (80, 0, 240 - FRAMES),
        (160, 0, 240 - FRAMES),
    ]
    assert not any(score.choice.episode == 4 for scan in found for score in scan.windows)


def test_a_scan_whose_folder_cannot_be_written_is_told_without_a_record(folder: Path):
    said: list[str] = []
    (folder / "taken").write_text("")

    report = scanned(240, "--output_dir", "taken", said=said)

    assert report["record"] == ""
    assert [task["windows"] for task in report["tasks"]] == [120, 120]
    assert len(said) == 1


def started(*words: str, ranks: int = 1) -> str:
    """Start `etude scan samples` of the last checkpoint and return what it prints."""
    command = ["scan", "samples", "recipe.toml", "--policy.path", checkpoint(240)]
    done = etude(Path.cwd(), *command, *words, ranks=ranks)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("folder")
def test_two_ranks_print_what_one_does(reports: list[dict[str, Any]]):
    printed = started("--cache.root", "other", "--json", ranks=2)

    assert json.loads(printed) == {"schema_version": 1, **reports[2]}


@pytest.mark.usefixtures("folder")
def test_a_person_reads_a_table_the_suspects_and_that_it_is_a_proxy():
    lines = started("--lang", "en").splitlines()

    assert lines[0].split()[:2] == ["task", "hardest"]
    suspects = [line.split()[2:4] for line in lines if line.startswith("left")][1:]
    assert ["4", str(WRONG)] in suspects
    assert "It is a proxy" in "\n".join(lines)
