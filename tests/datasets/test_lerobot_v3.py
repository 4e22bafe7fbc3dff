import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from etude.core.errors import DataError
from etude.core.protocols import Dataset
from etude.core.types import WindowSpec
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.lerobot_v3 import open_dataset
from etude.datasets.recorded import RecordedDataset
from tiny_dataset import DATA, TASKS, change, read, set_value, write_tiny

SAMPLE = Path(__file__).parents[1] / "data/lerobot_v30"


@pytest.fixture(scope="module")
def sample() -> RecordedDataset:
    """A dataset that LeRobot itself has written."""
    return open_dataset(LeRobotConfig(repo_id="me/lerobot_v30", root=str(SAMPLE)))


def test_frames_of_a_dataset_by_lerobot_itself_are_where_they_say(sample: RecordedDataset):
    assert isinstance(sample, Dataset)
    assert [e.length for e in sample.episodes] == [12, 7, 20, 3, 15, 9]
    assert [e.task.rpartition("/")[2] for e in sample.episodes] == ["0", "1", "0", "2", "1", "2"]
    for span in sample.episodes:
        columns = sample.columns(span)
        expected = 100 * span.index + np.arange(span.length)
        assert columns.states[:, 0].tolist() == expected.tolist()
        assert columns.actions[:, 0].tolist() == (expected + 1).tolist()
    assert sample.spec.cameras == (
        "observation.images.cam_high",
        "observation.images.cam_left_wrist",
    )
    assert (sample.spec.fps, sample.spec.state_dim, sample.spec.action_dim) == (15, 14, 14)


def test_a_window_of_it_equals_what_lerobot_itself_reads(sample: RecordedDataset):
    batch = sample.windows(np.array([17]), WindowSpec(action_offsets=(0, 1, 2, 3, 4)))

    assert batch.actions[0, :, 0].tolist() == [106, 107, 107, 107, 107]
    assert batch.actions_valid[0].tolist() == [True, True, False, False, False]
    assert sample.spec.tasks[batch.tasks[0]].text == "把瓶子放进篮子"
    assert sample.spec.tasks[batch.tasks[0]].id == "lerobot_v30/1"


def test_look_alike_texts_stay_apart_and_are_named(sample: RecordedDataset):
    assert [task.text for task in sample.spec.tasks] == [
        "place the empty cup on the plate",
        "把瓶子放进篮子",
        "place the empty cup on the plate ",
    ]
    [warning] = sample.warnings
    assert warning == (
        "tasks lerobot_v30/0, lerobot_v30/2 have texts that differ in spaces or case only: "
        "'place the empty cup on the plate', 'place the empty cup on the plate '; they stay apart"
    )


def test_video_is_not_needed(tmp_path: Path):
    shutil.copytree(SAMPLE, tmp_path / "set")
    shutil.rmtree(tmp_path / "set/videos")

    assert len(read(tmp_path / "set").episodes) == 6


def test_a_camera_that_is_not_there_is_named_with_those_that_are(sample: RecordedDataset):
    spec = WindowSpec(action_offsets=(0,), cameras=("cam_low",))

    with pytest.raises(DataError) as caught:
        sample.windows(np.array([0]), spec)

    assert str(caught.value) == (
        "camera cam_low is none of me/lerobot_v30, which has "
        "observation.images.cam_high, observation.images.cam_left_wrist"
    )


def test_windows_stay_in_their_episode_when_another_is_left_out(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [4, 5, 6])
    set_value(folder / DATA, "action", 6, 0, float("nan"))

    dataset = read(folder, on_bad="skip")
    batch = dataset.windows(np.array([12, 14]), WindowSpec(action_offsets=(0, 1, 2)))

    assert sum(episode.length for episode in dataset.episodes) == 10
    assert batch.actions[:, :, 0].tolist() == [[203, 204, 205], [205, 205, 205]]
    assert batch.actions_valid.tolist() == [[True, True, True], [True, False, False]]
    with pytest.raises(DataError, match="row 5 lies in no usable episode"):
        dataset.windows(np.array([5]), WindowSpec(action_offsets=(0,)))


def test_an_episode_shorter_than_the_window_gives_a_window_for_each_frame(tmp_path: Path):
    dataset = read(write_tiny(tmp_path / "set", [3]))

    batch = dataset.windows(np.arange(3), WindowSpec(action_offsets=tuple(range(50))))

    assert batch.actions_valid.sum(axis=1).tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([[0.1, 0.2]] * 2, pa.list_(pa.float64(), 2), np.float32(0.1)),
        ([[1, 0]] * 2, pa.list_(pa.int64(), 2), np.float32(1)),
        ([[0.1, 0.2]] * 2, pa.list_(pa.float32()), np.float32(0.1)),
        ([[0.1, 0.2]] * 2, pa.large_list(pa.float64()), np.float32(0.1)),
    ],
    ids=["float64", "int64", "list", "large list"],
)
def test_every_kind_of_number_becomes_float32(
    tmp_path: Path, values: list[Any], kind: pa.DataType, expected: np.float32
):
    folder = write_tiny(tmp_path / "set", [2])
    change(folder / DATA, action=pa.array(values, kind))

    batch = read(folder).windows(np.array([0]), WindowSpec(action_offsets=(0,)))

    assert batch.actions.dtype == np.float32
    assert batch.actions[0, 0, 0] == expected


def test_two_tasks_with_one_text_stay_two(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [2, 2, 2, 2], texts=("move the block", "move the block"))
    change(folder / TASKS, task_index=pa.array([3, 4]))
    change(folder / DATA, task_index=pa.array([3, 3, 4, 4] * 2))

    dataset = read(folder)

    assert [task.id for task in dataset.spec.tasks] == ["tiny/3", "tiny/4"]
    assert [episode.task for episode in dataset.episodes] == ["tiny/3", "tiny/4"] * 2
    assert dataset.warnings == [
        "tasks tiny/3, tiny/4 share the text 'move the block'; they stay apart"
    ]


def test_a_task_without_an_episode_is_named_and_no_part_of_the_data(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [2], texts=("open it", "close it"))

    dataset = read(folder)

    assert [task.id for task in dataset.spec.tasks] == ["tiny/0"]
    assert dataset.warnings == ["task tiny/1 ('close it') has no usable episode"]


@pytest.mark.parametrize("name", ["task", "__index_level_0__"])
def test_a_text_is_found_as_index_or_as_column(tmp_path: Path, name: str):
    folder = write_tiny(tmp_path / "set", [2, 2], texts=("open it", "关上"))
    table = pq.read_table(folder / TASKS).replace_schema_metadata(None)
    pq.write_table(table.rename_columns(["task_index", "name", name]), folder / TASKS)

    assert [(t.index, t.name, t.text) for t in read(folder).spec.tasks] == [
        (0, "task-0", "open it"),
        (1, "task-1", "关上"),
    ]


def test_a_task_without_a_name_is_called_by_its_id(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [2])
    change(folder / TASKS, name=None)

    assert [task.name for task in read(folder).spec.tasks] == ["tiny/0"]


def test_what_is_lent_cannot_be_written_to(tmp_path: Path):
    dataset = read(write_tiny(tmp_path / "set", [4]))

    with pytest.raises(ValueError, match="read-only"):
        dataset.columns(dataset.episodes[0]).states[0, 0] = 1
