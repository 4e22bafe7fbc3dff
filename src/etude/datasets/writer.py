"""Writing a LeRobot v3.0 dataset whole: it is there complete, or not at all."""

# pyright: reportUnknownMemberType=false

import shutil
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Bool, Float32

from etude.core.errors import DataError, StateError
from etude.core.kill_points import kill_point
from etude.core.types import Task
from etude.datasets.feature_stats import summarise
from etude.datasets.frame_writer import FrameWriter, WrittenEpisode
from etude.datasets.lerobot_schema import (
    ACTION,
    DATA_FILES,
    EPISODES_FILES,
    FILES_PER_CHUNK,
    INFO_FILE,
    PROVENANCE_FILE,
    STATE,
    STATS_FILE,
    SUCCESS,
    TASKS_FILE,
    VERSION,
    Feature,
    FilePlace,
    episodes_schema,
    frame_features,
    tasks_table,
)
from etude.store.atomic import storage_errors, sync_file, sync_folder, write_json

DATA_FILE_MB = 100
"""Size at which a data file is full; LeRobot's own choice."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordedEpisode:
    """One demonstration, frame by frame: the state seen and the action taken in it."""

    task_index: int
    states: Float32[np.ndarray, "frames state"]
    actions: Float32[np.ndarray, "frames action"]
    success: Bool[np.ndarray, " frames"] | None = None
    """Whether the task was solved after each action; given for all episodes or for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A dataset while it is being built."""

    root: Path
    features: Mapping[str, Feature]
    tasks: Sequence[Task]
    fps: int
    data_file_mb: int


def write_dataset(
    folder: Path,
    *,
    fps: int,
    robot_type: str,
    tasks: Sequence[Task],
    state_names: Sequence[str],
    action_names: Sequence[str],
    episodes: Iterable[RecordedEpisode],
    extra_meta: Mapping[str, object],
    data_file_mb: int = DATA_FILE_MB,
) -> None:
    """Write `episodes`, in order, as the dataset `folder`, which must not exist yet.

    Everything is built in a sibling folder, made durable, and moved into place by one rename.
    `extra_meta` says where the data came from and is kept in meta/etude.json.

    Raises:
        StateError: `folder` exists.
        DataError: There is no episode, or one does not fit its description.
        StorageError: The files cannot be written.
    """
    _require_places(tasks)
    with storage_errors(folder), _staging(folder) as root:
        first, recorded = _peek(episodes)
        features = frame_features(state_names, action_names, success=first.success is not None)
        draft = _Draft(
            root=root, features=features, tasks=tasks, fps=fps, data_file_mb=data_file_mb
        )
        columns, places = _write_frames(draft, recorded)
        kill_point("dataset.data_written")
        _write_episodes(draft, columns, places)
        _write_whole(draft, columns)
        write_json(root / PROVENANCE_FILE, dict(extra_meta))
        write_json(root / INFO_FILE, _info(draft, robot_type, places))


@contextmanager
def _staging(folder: Path) -> Generator[Path, None, None]:
    """Lend a folder that becomes `folder` if all goes well, and nothing if not."""
    _refuse_existing(folder)
    draft = folder.with_name(f".{folder.name}.staging")
    shutil.rmtree(draft, ignore_errors=True)
    (draft / "meta").mkdir(parents=True)
    try:
        yield draft
        for path in sorted(draft.rglob("*"), reverse=True):
            (sync_folder if path.is_dir() else sync_file)(path)
        sync_folder(draft)
        kill_point("dataset.files_written")
        _refuse_existing(folder)
        draft.rename(folder)
        sync_folder(folder.parent)
        kill_point("dataset.in_place")
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _refuse_existing(folder: Path) -> None:
    if folder.exists() or folder.is_symlink():
        raise StateError(
            f"{folder} exists already",
            hint="Remove it, or choose another folder: a dataset is never overwritten.",
        )


def _require_places(tasks: Sequence[Task]) -> None:
    # LeRobot looks a task's text up by its place in the table, whatever the index column says.
    for place, task in enumerate(tasks):
        if task.index != place:
            raise DataError(
                f"task {task.name!r} has index {task.index}, not its place {place} in the list",
                hint="Number the tasks 0, 1, 2, ... in the order of the list.",
            )


def _peek(episodes: Iterable[RecordedEpisode]) -> tuple[RecordedEpisode, Iterable[RecordedEpisode]]:
    rest = iter(episodes)
    first = next(rest, None)
    if first is None:
        raise DataError("a dataset without an episode is not written", hint="Record at least one.")
    return first, chain((first,), rest)


def _write_frames(
    draft: _Draft, episodes: Iterable[RecordedEpisode]
) -> tuple[list[dict[str, np.ndarray]], list[WrittenEpisode]]:
    # Limit: all columns stay in memory until the end, because exact quantiles need every value.
    columns: list[dict[str, np.ndarray]] = []
    places: list[WrittenEpisode] = []
    frames = FrameWriter(draft.root, draft.features, file_bytes=draft.data_file_mb << 20)
    with frames:
        for number, episode in enumerate(episodes):
            _require_fit(draft, number, episode)
            start = places[-1].stop if places else 0
            columns.append(_frame_columns(draft, number, episode, start))
            places.append(frames.append(columns[-1]))
    return columns, places


def _require_fit(draft: _Draft, number: int, episode: RecordedEpisode) -> None:
    frames = len(episode.states)
    expected: dict[str, tuple[np.ndarray, tuple[int, ...], type]] = {
        STATE: (episode.states, (frames, draft.features[STATE].size), np.float32),
        ACTION: (episode.actions, (frames, draft.features[ACTION].size), np.float32),
    }
    if frames == 0:
        raise DataError(f"episode {number} has 0 frames")
    if not 0 <= episode.task_index < len(draft.tasks):
        raise DataError(
            f"episode {number} is of task {episode.task_index}, not one of {len(draft.tasks)} tasks"
        )
    if (episode.success is not None) != (SUCCESS in draft.features):
        told = "no" if episode.success is None else "a"
        raise DataError(f"episode {number} has {told} success column, unlike the dataset")
    if episode.success is not None:
        expected[SUCCESS] = (episode.success, (frames,), np.bool_)
    for name, (values, shape, dtype) in expected.items():
        if values.shape != shape or values.dtype != dtype:
            raise DataError(
                f"episode {number}: {name} is {values.dtype} {list(values.shape)}, "
                f"not {np.dtype(dtype)} {list(shape)}"
            )
        if not np.isfinite(values).all():
            frame = int(np.argmin(np.isfinite(values).reshape(frames, -1).all(axis=1)))
            raise DataError(f"episode {number}, frame {frame}: {name} is not finite")


def _frame_columns(
    draft: _Draft, number: int, episode: RecordedEpisode, start: int
) -> dict[str, np.ndarray]:
    length = len(episode.states)
    frames = np.arange(length)
    columns: dict[str, np.ndarray] = {
        STATE: episode.states,
        ACTION: episode.actions,
        "timestamp": (frames / draft.fps).astype(np.float32),
        "frame_index": frames,
        "episode_index": np.full(length, number),
        "index": start + frames,
        "task_index": np.full(length, episode.task_index),
    }
    if episode.success is not None:
        columns[SUCCESS] = episode.success
    return columns


def _write_episodes(
    draft: _Draft, columns: Sequence[Mapping[str, np.ndarray]], places: Sequence[WrittenEpisode]
) -> None:
    rows: list[dict[str, Any]] = []
    for number, (episode, place) in enumerate(zip(columns, places, strict=True)):
        task = draft.tasks[int(episode["task_index"][0])]
        row: dict[str, Any] = {
            "episode_index": number,
            "tasks": [task.text],
            "length": place.stop - place.start,
            "data/chunk_index": place.place.chunk,
            "data/file_index": place.place.file,
            "dataset_from_index": place.start,
            "dataset_to_index": place.stop,
            "meta/episodes/chunk_index": 0,
            "meta/episodes/file_index": 0,
        }
        for name, feature in draft.features.items():
            for statistic, value in summarise(episode[name], feature).items():
                row[f"stats/{name}/{statistic}"] = value
        rows.append(row)
    # Limit: one file, about 10 kB an episode; LeRobot begins another at 100 MB but reads any size.
    path = draft.root / FilePlace(chunk=0, file=0).path(EPISODES_FILES)
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=episodes_schema(draft.features)), path)


def _write_whole(draft: _Draft, columns: Sequence[Mapping[str, np.ndarray]]) -> None:
    statistics = {
        name: summarise(np.concatenate([episode[name] for episode in columns]), feature)
        for name, feature in draft.features.items()
    }
    write_json(draft.root / STATS_FILE, statistics)
    pq.write_table(tasks_table(draft.tasks), draft.root / TASKS_FILE)


def _info(draft: _Draft, robot_type: str, places: Sequence[WrittenEpisode]) -> dict[str, object]:
    return {
        "codebase_version": VERSION,
        "robot_type": robot_type,
        "total_episodes": len(places),
        "total_frames": places[-1].stop,
        "total_tasks": len(draft.tasks),
        "chunks_size": FILES_PER_CHUNK,
        "data_files_size_in_mb": draft.data_file_mb,
        "video_files_size_in_mb": 200,
        "fps": draft.fps,
        "splits": {"train": f"0:{len(places)}"},
        "data_path": DATA_FILES,
        "video_path": None,
        "features": {name: feature.to_json() for name, feature in draft.features.items()},
    }
