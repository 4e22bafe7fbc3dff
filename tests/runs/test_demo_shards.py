from pathlib import Path

import numpy as np
import pytest

from etude.core.errors import DataError
from etude.core.types import Task, TaskId
from etude.runs.demo_shards import DemoShards
from etude.runs.recording import Demonstration, TaskRecording

TASK = Task(id=TaskId("toys/12"), index=12, name="toy-12", text="Play.")


def demonstration(*, seed: int, frames: int) -> Demonstration:
    values = np.arange(frames * 2, dtype=np.float32).reshape(frames, 2) + seed
    return Demonstration(
        seed=seed,
        noise=0.1 * seed,
        states=values,
        actions=-values,
        success=np.arange(frames) == frames - 1,
    )


RECORDING = TaskRecording(
    demonstrations=(demonstration(seed=1, frames=3), demonstration(seed=4, frames=2)), attempts=5
)


def test_a_finished_task_is_read_as_it_was_written(tmp_path: Path) -> None:
    shards = DemoShards(tmp_path)

    shards.write(TASK, RECORDING)
    found = shards.read(TASK)

    assert shards.holds(TASK)
    assert [path.name for path in tmp_path.iterdir()] == ["task-00012.npz"]
    assert found.attempts == 5
    for got, written in zip(found.demonstrations, RECORDING.demonstrations, strict=True):
        assert (got.seed, got.noise) == (written.seed, written.noise)
        np.testing.assert_array_equal(got.states, written.states)
        np.testing.assert_array_equal(got.actions, written.actions)
        np.testing.assert_array_equal(got.success, written.success)


def test_a_recording_of_the_same_identity_goes_on(tmp_path: Path) -> None:
    shards = DemoShards(tmp_path)
    shards.begin({"noise": 0.3})
    shards.write(TASK, RECORDING)

    shards.begin({"noise": 0.3})

    assert shards.holds(TASK)


def test_what_other_settings_recorded_is_dropped(tmp_path: Path) -> None:
    shards = DemoShards(tmp_path)
    shards.begin({"noise": 0.3})
    shards.write(TASK, RECORDING)

    shards.begin({"noise": 0.2})

    assert not shards.holds(TASK)


def test_a_damaged_shard_is_named_with_the_way_out(tmp_path: Path) -> None:
    shards = DemoShards(tmp_path)
    shards.write(TASK, RECORDING)
    path = tmp_path / "task-00012.npz"
    path.write_bytes(path.read_bytes()[:100])

    with pytest.raises(DataError) as caught:
        shards.read(TASK)

    assert str(caught.value).startswith(f"{path} is damaged: ")
    assert caught.value.hint == f"Remove it: rm {path}"
