"""Where each episode's rows and pictures lie, whatever the format."""

# pyright: reportUnknownMemberType=false

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float64, Int64

from etude.core.errors import DataError
from etude.datasets.info import Info, fill_pattern
from etude.datasets.json_lines import read_json_lines
from etude.datasets.parquet_files import by_numbers, column_names, read_columns, require_there

EPISODES_FOLDER = "meta/episodes"
EPISODES_LINES = "meta/episodes.jsonl"

_COLUMNS = (
    "episode_index",
    "length",
    "dataset_from_index",
    "dataset_to_index",
    "data/chunk_index",
    "data/file_index",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VideoPlaces:
    """In which file of one camera each episode is, and where it begins there."""

    files: tuple[str, ...]
    """Relative to the dataset."""
    file: Int64[np.ndarray, " episodes"]
    """Place in `files`."""
    start_s: Float64[np.ndarray, " episodes"]
    """Time of the episode's first frame within the file."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EpisodeTable:
    """What the metadata says of each episode, ordered by where its rows begin."""

    name: str
    """What the table is called in messages."""
    index: Int64[np.ndarray, " episodes"]
    length: Int64[np.ndarray, " episodes"]
    start: Int64[np.ndarray, " episodes"]
    stop: Int64[np.ndarray, " episodes"]
    files: tuple[str, ...]
    """Data files, relative to the dataset."""
    file: Int64[np.ndarray, " episodes"]
    """Place in `files` of the one that should hold the episode."""
    videos: Mapping[str, VideoPlaces]
    """By camera."""

    def __len__(self) -> int:
        return len(self.index)

    def data_file(self, row: int) -> str:
        """Return the data file that should hold the episode in `row` of this table."""
        return self.files[int(self.file[row])]


def read_episode_files(folder: Path, info: Info) -> EpisodeTable:
    """Return what the Parquet files of meta/episodes say (v3.0), without the statistics.

    Raises:
        DataError: A file is missing or torn, or lacks a column or a value.
    """
    require_there(folder / EPISODES_FOLDER)
    paths = by_numbers(folder.glob(f"{EPISODES_FOLDER}/chunk-*/file-*.parquet"), folder)
    if not paths:
        raise DataError(
            f"{folder / EPISODES_FOLDER} holds no file",
            hint="End the recording with finalize(), or copy the dataset again.",
        )
    filmed = [camera for camera in info.cameras if info.is_video(camera)]
    named = {
        camera: [f"videos/{camera}/{part}" for part in ("chunk_index", "file_index")]
        + [f"videos/{camera}/from_timestamp"]
        for camera in filmed
    }
    present = set(column_names(paths[0]))
    named = {camera: columns for camera, columns in named.items() if present.issuperset(columns)}
    wanted = [*_COLUMNS, *(column for columns in named.values() for column in columns)]
    table = pa.concat_tables([read_columns(path, wanted) for path in paths])
    order: Int64[np.ndarray, " episodes"] = np.argsort(
        _numbers(table, "dataset_from_index", folder), kind="stable"
    )
    index, length, start, stop, chunk, file = (
        _numbers(table, name, folder)[order].astype(np.int64) for name in _COLUMNS
    )
    places, where = _distinct(chunk, file)
    videos: dict[str, VideoPlaces] = {}
    for camera, columns in named.items():
        chunk, file, begins = (_numbers(table, name, folder)[order] for name in columns)
        parts, holder = _distinct(chunk, file)
        videos[camera] = VideoPlaces(
            files=tuple(
                fill_pattern(info.video_path, chunk_index=c, file_index=f, video_key=camera)
                for c, f in parts
            ),
            file=holder,
            start_s=begins.astype(np.float64),
        )
    return EpisodeTable(
        name=EPISODES_FOLDER,
        index=index,
        length=length,
        start=start,
        stop=stop,
        files=tuple(fill_pattern(info.data_path, chunk_index=c, file_index=f) for c, f in places),
        file=where,
        videos=videos,
    )


def read_episode_lines(folder: Path, info: Info) -> EpisodeTable:
    """Return what meta/episodes.jsonl says (v2.0 and v2.1); each episode has files of its own.

    Raises:
        DataError: The file is missing, or a line is torn or lacks something.
    """
    path = folder / EPISODES_LINES
    rows = [
        (_whole(path, number, line, "episode_index"), _whole(path, number, line, "length"))
        for number, line in read_json_lines(path)
    ]
    rows.sort()
    index = np.array([number for number, _ in rows], np.int64)
    length = np.array([frames for _, frames in rows], np.int64)
    stop = np.cumsum(length, dtype=np.int64)
    own = np.arange(len(rows))

    def files(pattern: str, **more: str) -> tuple[str, ...]:
        return tuple(
            fill_pattern(
                pattern, episode_chunk=number // info.chunks_size, episode_index=number, **more
            )
            for number, _ in rows
        )

    return EpisodeTable(
        name=EPISODES_LINES,
        index=index,
        length=length,
        start=stop - length,
        stop=stop,
        files=files(info.data_path),
        file=own,
        videos={
            camera: VideoPlaces(
                files=files(info.video_path, video_key=camera),
                file=own,
                start_s=np.zeros(len(rows)),
            )
            for camera in info.cameras
            if info.is_video(camera)
        },
    )


def _distinct(
    chunk: np.ndarray, file: np.ndarray
) -> tuple[list[tuple[int, int]], Int64[np.ndarray, " episodes"]]:
    """Return the different pairs, and which of them each row has."""
    pairs = np.stack([chunk, file], axis=1).astype(np.int64)
    distinct, where = np.unique(pairs, axis=0, return_inverse=True)
    return [(int(c), int(f)) for c, f in distinct], where.reshape(-1).astype(np.int64)


def _numbers(table: pa.Table, name: str, folder: Path) -> np.ndarray:
    column = table[name]
    if column.null_count:
        raise DataError(
            f"{folder / EPISODES_FOLDER}: {column.null_count} values of {name} are null"
        )
    return np.asarray(column.to_numpy())


def _whole(path: Path, number: int, line: Mapping[str, Any], name: str) -> int:
    value = line.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise DataError(f"{path}, line {number}: {name} is {value!r}, not a whole number")
    return value
