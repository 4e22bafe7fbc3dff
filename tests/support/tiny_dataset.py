"""A LeRobot dataset of a few frames that name themselves, and ways to spoil its files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from etude.core.errors import DataError
from etude.core.types import Task, TaskId
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.lerobot_v3 import open_dataset
from etude.datasets.recorded import RecordedDataset
from etude.datasets.writer import RecordedEpisode, write_dataset

DATA = "data/chunk-000/file-000.parquet"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"
TASKS = "meta/tasks.parquet"


def write_tiny(folder: Path, lengths: list[int], *, texts: tuple[str, ...] = ("open it",)) -> Path:
    """Write frames that name themselves; the episodes take turns between the tasks."""
    episodes: list[RecordedEpisode] = []
    for number, frames in enumerate(lengths):
        actions = np.zeros((frames, 2), np.float32)
        actions[:, 0] = 100 * number + np.arange(frames)
        actions[:, 1] = number % len(texts)
        states = np.hstack([actions, actions])
        episodes.append(
            RecordedEpisode(task_index=number % len(texts), states=states, actions=actions)
        )
    write_dataset(
        folder,
        fps=10,
        robot_type="toy",
        tasks=[
            Task(id=TaskId(f"tiny/{i}"), index=i, name=f"task-{i}", text=text)
            for i, text in enumerate(texts)
        ],
        state_names=list("abcd"),
        action_names=list("xy"),
        episodes=episodes,
        extra_meta={},
    )
    return folder


def read(folder: Path, **settings: Any) -> RecordedDataset:
    return open_dataset(LeRobotConfig(repo_id="me/tiny", root=str(folder), **settings))


def refusal(folder: Path, **settings: Any) -> DataError:
    with pytest.raises(DataError) as caught:
        read(folder, **settings)
    return caught.value


def change(path: Path, **columns: Any) -> None:
    """Replace columns of a Parquet file, or drop those given as None."""
    table = pq.read_table(path)
    for name, values in columns.items():
        table = table.drop_columns([name])
        if values is not None:
            table = table.append_column(name, values)
    pq.write_table(table, path)


def change_info(folder: Path, **fields: Any) -> None:
    path = folder / "meta/info.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def set_value(path: Path, column: str, row: int, dimension: int, value: float) -> None:
    rows = pq.read_table(path)[column].to_pylist()
    rows[row][dimension] = value
    change(path, **{column: pa.array(rows, pa.list_(pa.float32(), len(rows[0])))})


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path): (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns)
        for path in folder.rglob("*")
    }
