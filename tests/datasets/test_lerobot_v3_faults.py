import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tiny_dataset import (
    DATA,
    EPISODES,
    TASKS,
    change,
    change_info,
    read,
    refusal,
    set_value,
    write_tiny,
)


def test_metadata_that_names_the_wrong_file_is_refused_with_both_counts(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [4, 4])
    table = pq.read_table(folder / DATA)
    pq.write_table(table.slice(0, 4), folder / DATA)
    pq.write_table(table.slice(4), folder / "data/chunk-000/file-001.parquet")

    error = refusal(folder)

    assert str(error) == (
        f"me/tiny in {folder}: episode 1, data/chunk-000/file-000.parquet: expected 4 rows, "
        "found 0; more in data/chunk-000/file-001.parquet"
    )
    assert error.hint == "Repair these episodes, or leave them out with --dataset.on_bad skip."
    assert [(s.index, s.reason[:9]) for s in read(folder, on_bad="skip").skipped] == [
        (1, "episode 1")
    ]


def test_counts_that_disagree_are_listed_all_at_once(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [4, 4, 4])
    pq.write_table(pq.read_table(folder / EPISODES).slice(0, 2), folder / EPISODES)

    lines = str(refusal(folder)).split("\n  ")

    assert lines == [
        f"me/tiny in {folder}:",
        "episodes: info.json says 3, meta/episodes 2, the data files 3",
        "frames: info.json says 12, meta/episodes 8, the data files 12",
    ]
    assert str(refusal(folder, on_bad="skip")).split("\n  ") == lines


def test_episodes_collapsed_into_one_are_refused(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [3, 3])
    change(folder / DATA, episode_index=pa.array([0] * 6))

    message = str(refusal(folder))

    assert "episodes: info.json says 2, meta/episodes 2, the data files 1" in message
    assert "episode 0, data/chunk-000/file-000.parquet: expected 3 rows, found 6" in message


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("frame_index", [0, 1, 2, 1, 2, 3], "episode 1, frame 0: frame_index is 1"),
        ("task_index", [0, 0, 0, 0, 0, 1], "episode 1 mixes the tasks [0, 1]"),
        ("task_index", [0, 0, 0, 9, 9, 9], "episode 1 is of task 9, which the task table lacks"),
        (
            "episode_index",
            [0, 0, 1, 0, 1, 1],
            "episode 0: its rows 0 to 3 hold frames of episode 1",
        ),
    ],
)
def test_a_frame_that_contradicts_its_episode_is_named(
    tmp_path: Path, column: str, values: list[int], said: str
):
    folder = write_tiny(tmp_path / "set", [3, 3])
    change(folder / DATA, **{column: pa.array(values)})

    assert said in str(refusal(folder))


def test_rows_that_do_not_fit_the_length_are_named(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [3, 3])
    change(folder / EPISODES, dataset_to_index=pa.array([3, 7]))

    assert "episode 1 has 3 frames, but the rows 3 to 7 of 6" in str(refusal(folder))


def test_an_episode_of_no_frame_stops_or_is_left_out(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [3, 1, 3])
    change(folder / EPISODES, length=pa.array([3, 0, 3]), dataset_to_index=pa.array([3, 3, 6]))
    change(folder / EPISODES, dataset_from_index=pa.array([0, 3, 3]))
    table = pq.read_table(folder / DATA)
    pq.write_table(pa.concat_tables([table.slice(0, 3), table.slice(4)]), folder / DATA)
    change_info(folder, total_frames=6)

    assert str(refusal(folder)) == f"me/tiny in {folder}: episode 1 has 0 frames"
    assert [e.index for e in read(folder, on_bad="skip").episodes] == [0, 2]


@pytest.mark.parametrize(
    ("column", "dimension", "value", "said"),
    [
        ("action", 0, float("nan"), "column action, dimension 0 is nan"),
        ("observation.state", 3, float("inf"), "column observation.state, dimension 3 is inf"),
    ],
)
def test_a_value_that_is_not_finite_stops_or_leaves_its_episode_out(
    tmp_path: Path, column: str, dimension: int, value: float, said: str
):
    folder = write_tiny(tmp_path / "set", [5, 5])
    set_value(folder / DATA, column, 7, dimension, value)

    assert str(refusal(folder)) == f"me/tiny in {folder}: episode 1, frame 2: {said}"
    dataset = read(folder, on_bad="skip")
    assert [e.index for e in dataset.episodes] == [0]
    assert [(s.index, s.reason) for s in dataset.skipped] == [(1, f"episode 1, frame 2: {said}")]


def test_many_faults_are_counted_and_the_first_twenty_named(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [1] * 30)
    change(folder / DATA, frame_index=pa.array([4] * 30))

    lines = str(refusal(folder)).split("\n  ")

    assert lines[1] == "episode 0, frame 0: frame_index is 4"
    assert len(lines) == 22
    assert lines[-1] == "... and 10 more"


def test_a_dataset_of_which_nothing_is_left_is_refused(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [2])
    set_value(folder / DATA, "action", 0, 0, float("nan"))

    assert "no episode can be used" in str(refusal(folder, on_bad="skip"))


def test_a_dataset_that_was_created_but_not_recorded_is_refused(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [2])
    shutil.rmtree(folder / "data")
    shutil.rmtree(folder / "meta/episodes")
    change_info(folder, total_episodes=0, total_frames=0)

    assert str(refusal(folder)) == f"me/tiny in {folder} holds no episode"


def test_tasks_in_the_older_form_are_read_as_well(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [2])
    (folder / TASKS).unlink()
    (folder / "meta/tasks.jsonl").write_text('{"task_index": 0, "task": "open it"}\n\n')

    assert [(task.index, task.text) for task in read(folder).spec.tasks] == [(0, "open it")]


def test_a_torn_line_of_tasks_is_named_by_its_number(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [2])
    (folder / TASKS).unlink()
    lines = folder / "meta/tasks.jsonl"
    lines.write_text('{"task_index": 0, "task": "open it"}\n{"task_index": 1, "ta')

    assert str(refusal(folder)).startswith(f"{lines}, line 2 is no whole JSON object: ")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"codebase_version": "v2.1"}, "codebase_version is 'v2.1', not 'v3.0'"),
        ({"codebase_version": "v9.0"}, "codebase_version is 'v9.0', not 'v3.0'"),
        ({"fps": 0}, "fps is 0, not a number of at least"),
        ({"total_frames": None}, "total_frames is None, not a number"),
        ({"features": {}}, "features has no observation.state"),
        ({"data_path": "data/{episode_chunk}"}, "data_path is 'data/{episode_chunk}'"),
    ],
)
def test_an_info_file_that_cannot_be_right_is_refused(
    tmp_path: Path, fields: dict[str, Any], said: str
):
    folder = write_tiny(tmp_path / "set", [2])
    change_info(folder, **fields)

    assert said in str(refusal(folder))


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([["a", "b"]] * 2), "action is of type list<element: string>, not numbers"),
        (pa.array([[1.0, 2.0], [1.0]]), "action has 1, 2 values in a frame, not 2 as in info.json"),
        (pa.array([[1.0, 2.0], None]), "action is null in 1 frames"),
        (None, "has no column action; it has episode_index"),
        (pa.array([[1.0, None], [1.0, 2.0]]), "frame 0: column action, dimension 1 is nan"),
        (pa.array([[1.0, 1e300], [1.0, 2.0]]), "frame 0: column action, dimension 1 is inf"),
    ],
    ids=["text", "ragged", "null", "missing", "null value", "overflow"],
)
def test_an_action_column_that_is_no_table_of_numbers_is_refused(
    tmp_path: Path, column: pa.Array | None, said: str
):
    folder = write_tiny(tmp_path / "set", [2])
    change(folder / DATA, action=column)

    assert said in str(refusal(folder))
