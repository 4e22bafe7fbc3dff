import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from etude.core.errors import DataError, Interrupted, SimulatorError, StateError
from etude.core.types import Task, TaskId
from etude.runs.demos import DemosOutcome, record_demos
from etude.runs.demos_config import DemosConfig
from etude.simulators.metaworld_config import MetaworldConfig
from etude.testing.toy_benchmark import ToyBenchmarkConfig, ToyEpisode, calls_of, toy_builder

METAWORLD = "etude.simulators.metaworld:build_metaworld"
CONFIG = DemosConfig(episodes=2, tries=5, max_steps=20, processes=1)
TASKS = tuple(
    Task(id=TaskId(f"toys/{index}"), index=index, name=f"toy-{index}", text=f"Play game {index}.")
    for index in (0, 4, 7)
)
SOLVED = ToyEpisode(success_steps=(5,))


def quiet(phase: str, done: int, total: int, note: str = "", /) -> None:
    """Say nothing."""


def record(
    folder: Path, config: DemosConfig = CONFIG, *, log: Path | None = None, **toys: object
) -> DemosOutcome:
    benchmark = ToyBenchmarkConfig(tasks=TASKS, log=str(log or ""), **toys)  # pyright: ignore
    return record_demos(
        config, simulator="toy", builder=toy_builder(benchmark), folder=folder, progress=quiet
    )


def child(folder: Path, log: Path, *, kill_at: str = "") -> int:
    """Record in a process of its own and return its exit code."""
    script = (
        "import sys; from pathlib import Path\n"
        "from etude.core.types import Task\n"
        "from etude.runs.demos import record_demos\n"
        "from etude.runs.demos_config import DemosConfig\n"
        "from etude.testing.toy_benchmark import *\n"
        "if __name__ == '__main__':\n"
        f"    tasks = {TASKS!r}\n"
        f"    toys = ToyBenchmarkConfig(tasks=tasks, log={str(log)!r})\n"
        f"    record_demos({CONFIG!r}, simulator='toy', builder=toy_builder(toys),\n"
        f"                 folder=Path({str(folder)!r}), progress=lambda *_: None)\n"
    )
    environment = {**os.environ, "ETUDE_KILL_AT": kill_at}
    command = [sys.executable, "-c", script]
    return subprocess.run(command, env=environment, capture_output=True).returncode


def content(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_recording_is_a_dataset_that_tells_how_it_was_made(tmp_path: Path) -> None:
    outcome = record(tmp_path / "demos", default=SOLVED)

    made = json.loads((tmp_path / "demos/meta/etude.json").read_text())
    assert made["settings"]["demos"] == {
        "episodes": 2,
        "noise": 0.3,
        "steps_after_success": 5,
        "max_steps": 20,
        "seed": 0,
    }
    assert made["settings"]["simulator"]["use"] == "toy"
    assert made["versions"]["numpy"] == np.__version__
    assert made["attempts"] == {"toy-0": 2, "toy-4": 2, "toy-7": 2}
    assert made["seeds"] == [0, 1, 0, 1, 0, 1]
    assert all(0 <= level <= 0.3 for level in made["noise"])
    assert outcome == DemosOutcome(
        folder=tmp_path / "demos",
        episodes=6,
        frames=60,
        attempts=6,
        seconds=outcome.seconds,
        reused=False,
    )
    assert [path.name for path in tmp_path.iterdir()] == ["demos"]


def test_tasks_are_numbered_by_their_place_in_the_dataset(tmp_path: Path) -> None:
    record(tmp_path / "demos", default=SOLVED)

    (data,) = (tmp_path / "demos/data").rglob("*.parquet")
    table = pq.read_table(data).to_pydict()
    assert sorted(set(table["task_index"])) == [0, 1, 2]
    # The toy shows its own number as the first part of the state.
    assert {state[0] for state in table["observation.state"]} == {0, 4, 7}


def test_the_bytes_are_the_same_for_any_number_of_processes(tmp_path: Path) -> None:
    record(tmp_path / "one")
    record(tmp_path / "three", replace(CONFIG, processes=3))

    assert content(tmp_path / "one") == content(tmp_path / "three")


def test_a_recording_with_the_same_settings_is_reused_untouched(tmp_path: Path) -> None:
    first = record(tmp_path / "demos", default=SOLVED)
    before = content(tmp_path / "demos")
    (tmp_path / ".demos.recording").mkdir()

    again = record(tmp_path / "demos", replace(CONFIG, tries=9, processes=2), default=SOLVED)

    assert again == replace(first, reused=True, seconds=again.seconds)
    assert content(tmp_path / "demos") == before
    assert [path.name for path in tmp_path.iterdir()] == ["demos"]


def test_other_settings_are_refused_with_all_that_differs(tmp_path: Path) -> None:
    record(tmp_path / "demos", default=SOLVED)
    before = content(tmp_path / "demos")

    with pytest.raises(StateError) as caught:
        record(tmp_path / "demos", replace(CONFIG, noise=0.1, episodes=1), default=SOLVED)

    assert str(caught.value) == (
        f"{tmp_path}/demos was recorded with other settings: "
        "demos.episodes was 2, not 1; demos.noise was 0.3, not 0.1"
    )
    assert "--dataset.root" in caught.value.hint
    assert content(tmp_path / "demos") == before


def test_a_folder_that_is_no_recording_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "robot").mkdir()
    (tmp_path / "robot/notes.txt").write_text("mine")

    with pytest.raises(StateError, match="is no recording of demonstrations"):
        record(tmp_path / "robot")

    assert content(tmp_path / "robot") == {"notes.txt": b"mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["robot"]


def test_a_recording_that_forgot_its_settings_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / "demos/meta").mkdir(parents=True)
    (tmp_path / "demos/meta/etude.json").write_text('{"settings": 3}')

    with pytest.raises(DataError, match="does not say with which settings"):
        record(tmp_path / "demos")


@pytest.mark.parametrize(
    "kill_at",
    [
        "demos.attempt_done:3",
        "demos.task_written:2",
        "demos.merge_started",
        "dataset.data_written",
        "dataset.files_written",
        "dataset.in_place",
        "demos.merged",
    ],
)
def test_a_killed_recording_goes_on_and_ends_with_the_same_bytes(
    tmp_path: Path, kill_at: str
) -> None:
    log = tmp_path / "log"
    (tmp_path / "never-killed").mkdir()
    record(tmp_path / "never-killed/demos", log=log)
    tasks = {"demos.attempt_done:3": 1, "demos.task_written:2": 2}.get(kill_at, 3)
    log.unlink()
    (tmp_path / "killed").mkdir()

    killed = child(tmp_path / "killed/demos", log, kill_at=kill_at)
    made_before = calls_of(log, "make")
    finished = child(tmp_path / "killed/demos", log)

    assert killed != 0
    assert finished == 0
    assert content(tmp_path / "killed") == content(tmp_path / "never-killed")
    written = tasks if "attempt" not in kill_at else made_before - 1
    assert calls_of(log, "make") - made_before == 3 - written


def test_tasks_that_miss_their_quota_are_told_at_once_and_the_others_kept(tmp_path: Path) -> None:
    log = tmp_path / "log"

    with pytest.raises(SimulatorError) as caught:
        record(tmp_path / "demos", replace(CONFIG, tries=1), log=log)
    made = calls_of(log, "make")
    record(tmp_path / "demos", replace(CONFIG, tries=9), log=log)

    # With these seeds two of the three toys fail one of their first two attempts.
    assert str(caught.value) == (
        "toy-4 reached 1 of 2 demonstrations in 2 attempts; "
        "toy-7 reached 1 of 2 demonstrations in 2 attempts"
    )
    assert "--demos.tries" in caught.value.hint
    assert (made, calls_of(log, "make") - made) == (3, 2)


def test_a_simulator_that_always_breaks_says_so_in_the_shortage(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match=r"toy-0 .* \(the simulator broke: the toy broke at"):
        record(tmp_path / "demos", default=ToyEpisode(crash_at=2))


def test_a_process_that_is_killed_is_an_error_that_names_its_task(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError) as caught:
        record(tmp_path / "demos", default=ToyEpisode(kill_at=2))

    assert str(caught.value) == "the process that recorded toy-0 was killed by signal 9"
    assert "finished tasks are kept" in caught.value.hint


def test_an_environment_that_cannot_be_made_ends_the_recording(tmp_path: Path) -> None:
    with pytest.raises(SimulatorError, match=r"^toys/4 cannot be made$"):
        record(tmp_path / "demos", broken=(TaskId("toys/4"),))


def test_a_wish_to_stop_ends_the_recording_and_can_be_taken_back(tmp_path: Path) -> None:
    toys = ToyBenchmarkConfig(tasks=TASKS)
    folder = tmp_path / "demos"

    with pytest.raises(Interrupted, match=r"^the recording stopped"):
        record_demos(
            CONFIG,
            simulator="toy",
            builder=toy_builder(toys),
            folder=folder,
            progress=quiet,
            stopping=lambda: True,
        )

    assert record(folder).episodes == 6


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_recording_process_outlives_its_parent(tmp_path: Path, sent: signal.Signals) -> None:
    script = (
        # Whoever starts the tests in the background may have told them to ignore it.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from pathlib import Path\n"
        "from etude.core.types import Task\n"
        "from etude.runs.demos import record_demos\n"
        "from etude.runs.demos_config import DemosConfig\n"
        "from etude.testing.toy_benchmark import *\n"
        "if __name__ == '__main__':\n"
        f"    toys = ToyBenchmarkConfig(tasks={TASKS!r}, default=ToyEpisode())\n"
        "    config = DemosConfig(tries=10**9, processes=2)\n"
        "    record_demos(config, simulator='toy', builder=toy_builder(toys),\n"
        f"                 folder=Path({str(tmp_path / 'demos')!r}), progress=lambda *_: None,\n"
        "                 stopping=lambda: print('running', flush=True) is not None)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()

    if sent is signal.SIGKILL:
        process.kill()
    else:
        os.killpg(process.pid, sent)

    # The pipe is shared with the recording processes: it ends when the last of them has.
    process.communicate(timeout=60)
    assert process.returncode != 0


def test_meta_world_is_recorded_the_same_by_one_process_and_by_two(tmp_path: Path) -> None:
    settings = MetaworldConfig(tasks=("coffee-button-v3", "door-close-v3"))
    outcomes = [
        record_demos(
            DemosConfig(episodes=2, processes=processes),
            simulator="metaworld",
            builder=(METAWORLD, settings),
            folder=tmp_path / f"by-{processes}",
            progress=quiet,
        )
        for processes in (1, 2)
    ]

    assert [outcome.episodes for outcome in outcomes] == [4, 4]
    assert content(tmp_path / "by-1") == content(tmp_path / "by-2")
    (data,) = (tmp_path / "by-1/data").rglob("*.parquet")
    actions = np.array(pq.read_table(data).to_pydict()["action"])
    assert np.abs(actions).max() <= 1
