"""What the metadata of a LeRobot v3.0 dataset says, before any frame is read."""

# pyright: reportUnknownMemberType=false

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from etude.core.errors import DataError
from etude.core.types import Task, TaskId
from etude.datasets.lerobot_schema import (
    ACTION,
    DATA_FILES,
    INFO_FILE,
    STATE,
    TASKS_FILE,
    FilePlace,
)
from etude.datasets.parquet_files import column_names, read_columns, require_there
from etude.store.atomic import read_json

_CONVERTER = "python -m lerobot.datasets.v30.convert_dataset_v21_to_v30"
_EPISODE_COLUMNS = (
    "episode_index",
    "length",
    "dataset_from_index",
    "dataset_to_index",
    "data/chunk_index",
    "data/file_index",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """The parts of meta/info.json that reading needs."""

    fps: float
    total_episodes: int
    total_frames: int
    total_tasks: int
    data_path: str
    state_dim: int
    action_dim: int
    cameras: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EpisodeTable:
    """What meta/episodes says of each episode, ordered by where its rows begin."""

    index: Int64[np.ndarray, " episodes"]
    length: Int64[np.ndarray, " episodes"]
    start: Int64[np.ndarray, " episodes"]
    stop: Int64[np.ndarray, " episodes"]
    chunk: Int64[np.ndarray, " episodes"]
    file: Int64[np.ndarray, " episodes"]

    def __len__(self) -> int:
        return len(self.index)

    def place(self, row: int) -> FilePlace:
        """Return the data file that should hold the episode in `row` of this table."""
        return FilePlace(chunk=int(self.chunk[row]), file=int(self.file[row]))


def read_info(folder: Path, repo_id: str) -> Info:
    """Return what meta/info.json says.

    Raises:
        DataError: The file is missing, of another format version, or lacks something.
    """
    path = folder / INFO_FILE
    require_there(path)
    info = read_json(path)
    _require_version(folder, str(info.get("codebase_version")), repo_id)
    features = info.get("features")
    if not isinstance(features, Mapping):
        raise DataError(f"{path}: features is missing")
    described = cast("Mapping[str, Mapping[str, Any]]", features)
    return Info(
        fps=_number(path, info, "fps", least=1e-9),
        total_episodes=int(_number(path, info, "total_episodes")),
        total_frames=int(_number(path, info, "total_frames")),
        total_tasks=int(_number(path, info, "total_tasks")),
        data_path=_pattern(path, info.get("data_path", DATA_FILES)),
        state_dim=_size(path, described, STATE),
        action_dim=_size(path, described, ACTION),
        cameras=tuple(k for k, v in described.items() if v.get("dtype") in ("video", "image")),
    )


def read_tasks(folder: Path, repo_id: str) -> tuple[Task, ...]:
    """Return the task table, ordered by index.

    The text is a column `task`, the pandas index of that name, or an index without a name.

    Raises:
        DataError: The table is missing, of an older format, or numbers a task twice.
    """
    path = folder / TASKS_FILE
    if not path.exists() and (folder / "meta/tasks.jsonl").exists():
        raise _old_format(folder, "v2.1 (its tasks are in meta/tasks.jsonl)", repo_id)
    present = column_names(path) if path.exists() else []
    text = next((name for name in ("task", "__index_level_0__") if name in present), "task")
    named = ["name"] if "name" in present else []
    rows = read_columns(path, ["task_index", text, *named]).to_pylist()
    family = repo_id.strip("/ ").rpartition("/")[2]
    tasks: dict[int, Task] = {}
    for row in rows:
        index = row["task_index"]
        if index is None or row[text] is None:
            raise DataError(f"{path}: a task lacks its index or its text")
        if index in tasks:
            raise DataError(f"{path}: task_index {index} stands there twice")
        task = TaskId(f"{family}/{index}")
        name = row.get("name") or task
        tasks[index] = Task(id=task, index=index, name=str(name), text=str(row[text]))
    return tuple(tasks[index] for index in sorted(tasks))


def read_episodes(folder: Path) -> EpisodeTable:
    """Return what meta/episodes says, without the statistics.

    Raises:
        DataError: A file is missing or torn, or lacks a column or a value.
    """
    require_there(folder / "meta/episodes")
    paths = by_numbers(folder.glob("meta/episodes/chunk-*/file-*.parquet"), folder)
    if not paths:
        raise DataError(
            f"{folder / 'meta/episodes'} holds no file",
            hint="End the recording with finalize(), or copy the dataset again.",
        )
    tables = [read_columns(path, _EPISODE_COLUMNS) for path in paths]
    columns = [_integers(pa.concat_tables(tables), name, folder) for name in _EPISODE_COLUMNS]
    order = np.argsort(columns[2], kind="stable")
    index, length, start, stop, chunk, file = (column[order] for column in columns)
    return EpisodeTable(index=index, length=length, start=start, stop=stop, chunk=chunk, file=file)


def by_numbers(paths: Iterable[Path], folder: Path) -> list[Path]:
    """Return files of `folder`, each once, in the order of the numbers in their names."""

    def numbers(path: Path) -> list[int]:
        return [int(digits) for digits in re.findall(r"\d+", str(path.relative_to(folder)))]

    return sorted(set(paths), key=numbers)


def _require_version(folder: Path, version: str, repo_id: str) -> None:
    if version.startswith(("v1", "v2")):
        raise _old_format(folder, version, repo_id)
    if not version.startswith("v3"):
        raise DataError(
            f"{folder / INFO_FILE}: codebase_version is {version!r}, not 'v3.0'",
            hint="Convert the dataset to LeRobot v3.0.",
        )


def _old_format(folder: Path, version: str, repo_id: str) -> DataError:
    return DataError(
        f"{folder} is in LeRobot format {version}, not v3.0",
        hint=f"Convert a copy of it with LeRobot: {_CONVERTER} --repo-id={repo_id}",
    )


def _number(path: Path, info: Mapping[str, Any], name: str, *, least: float = 0) -> float:
    value = info.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < least:
        raise DataError(f"{path}: {name} is {value!r}, not a number of at least {least:g}")
    return value


def _pattern(path: Path, pattern: object) -> str:
    try:
        FilePlace(chunk=0, file=0).path(str(pattern))
    except (LookupError, ValueError) as error:
        raise DataError(f"{path}: data_path is {pattern!r}, not like {DATA_FILES!r}") from error
    return str(pattern)


def _size(path: Path, features: Mapping[str, Mapping[str, Any]], name: str) -> int:
    if name not in features:
        raise DataError(
            f"{path}: features has no {name}; it has {', '.join(sorted(features))}",
            hint=f"Give the dataset a column {name}: one list of numbers for each frame.",
        )
    shape = features[name].get("shape")
    match shape:
        case [int(size)] if size > 0:
            return size
        case _:
            raise DataError(f"{path}: {name} has shape {shape}, not one dimension")


def _integers(table: pa.Table, name: str, folder: Path) -> Int64[np.ndarray, " rows"]:
    column = table[name]
    if column.null_count:
        raise DataError(
            f"{folder / 'meta/episodes'}: {column.null_count} values of {name} are null"
        )
    return np.asarray(column.to_numpy(), dtype=np.int64)
