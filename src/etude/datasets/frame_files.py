"""Reading the data files of a LeRobot dataset into plain arrays."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.types as kinds
from jaxtyping import Float32, Float64, Int64

from etude.core.errors import DataError
from etude.datasets.episode_table import EpisodeTable
from etude.datasets.faults import FaultsError, faults_of
from etude.datasets.identity import FileStamp, take_stamp
from etude.datasets.info import Info
from etude.datasets.lerobot_schema import ACTION, STATE, TIMESTAMP
from etude.datasets.parquet_files import (
    by_numbers,
    column_names,
    list_bounded,
    read_pieces,
    row_count,
)

_INDICES = ("episode_index", "frame_index", "task_index")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frames:
    """All frames of a dataset, file after file, as recorded."""

    states: Float32[np.ndarray, "frames state"]
    actions: Float32[np.ndarray, "frames action"]
    episode: Int64[np.ndarray, " frames"]
    frame: Int64[np.ndarray, " frames"]
    task: Int64[np.ndarray, " frames"]
    timestamps: Float64[np.ndarray, " frames"]
    """Seconds, as recorded; NaN in a file without them."""
    files: tuple[str, ...]
    """Relative to the dataset."""
    stamps: tuple[FileStamp, ...]
    """Of the files, taken before they were read."""
    bounds: Int64[np.ndarray, " bounds"]
    """Rows [bounds[i], bounds[i + 1]) came from files[i]."""

    def __len__(self) -> int:
        return len(self.episode)


def read_frames(folder: Path, info: Info, episodes: EpisodeTable) -> Frames:
    """Read the low-dimensional columns of every data file; no other column, and no video.

    Raises:
        DataError: A file is missing or torn, or a column is not what info.json says.
    """
    paths = _data_files(folder, info, episodes)
    bounds = np.cumsum([0, *_row_counts(paths)], dtype=np.int64)
    stamps = tuple(take_stamp(path) for path in paths)
    total = int(bounds[-1])
    states = np.empty((total, info.state_dim), np.float32)
    actions = np.empty((total, info.action_dim), np.float32)
    indices = np.empty((len(_INDICES), total), np.int64)
    timestamps = np.full(total, np.nan)
    row = 0
    for path in paths:
        timed = [TIMESTAMP] if TIMESTAMP in column_names(path) else []
        for table in read_pieces(path, (STATE, ACTION, *_INDICES, *timed)):
            span = slice(row, row + table.num_rows)
            _fill_vectors(table[STATE], states[span], f"{path}: {STATE}")
            _fill_vectors(table[ACTION], actions[span], f"{path}: {ACTION}")
            for name, column in zip(_INDICES, indices, strict=True):
                _fill_integers(table[name], column[span], f"{path}: {name}")
            for name in timed:
                _fill_seconds(table[name], timestamps[span], f"{path}: {name}")
            row = span.stop
    for array in (states, actions, indices, timestamps):
        array.flags.writeable = False
    return Frames(
        states=states,
        actions=actions,
        episode=indices[0],
        frame=indices[1],
        task=indices[2],
        timestamps=timestamps,
        files=tuple(str(path.relative_to(folder)) for path in paths),
        stamps=stamps,
        bounds=bounds,
    )


def _data_files(folder: Path, info: Info, episodes: EpisodeTable) -> list[Path]:
    """Return the files that the metadata names and those that lie there; both, to find strays."""
    named = (folder / file for file in episodes.files)
    present = folder.glob(re.sub(r"\{[^}]*\}", "*", info.data_path))
    return by_numbers([*named, *present], folder)


def _row_counts(paths: Sequence[Path]) -> list[int]:
    counts: list[int] = []
    errors: list[DataError] = []
    for path in paths:
        try:
            counts.append(row_count(path))
        except DataError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        said = "\n  ".join(list_bounded([str(error) for error in errors]))
        raise FaultsError(
            f"{len(errors)} data files cannot be read:\n  {said}",
            hint=errors[0].hint,
            faults=[fault for error in errors for fault in faults_of(error)],
        )
    return counts


def _fill_vectors(column: Any, out: Float32[np.ndarray, "frames size"], address: str) -> None:
    """Copy a column of number lists, or of plain numbers, into `out`."""
    size = out.shape[1]
    kind = column.type
    listed = kinds.is_list(kind) or kinds.is_fixed_size_list(kind) or kinds.is_large_list(kind)
    number = kind.value_type if listed else kind
    if not (kinds.is_floating(number) or kinds.is_integer(number) or kinds.is_boolean(number)):
        raise DataError(f"{address} is of type {kind}, not numbers")
    if column.null_count:
        raise DataError(f"{address} is null in {column.null_count} frames")
    row = 0
    for chunk in column.chunks:
        values = (chunk.flatten() if listed else chunk).to_numpy(zero_copy_only=False)
        widths = np.unique(chunk.value_lengths().to_numpy(zero_copy_only=False)) if listed else [1]
        if len(chunk) and list(widths) != [size]:
            found = ", ".join(str(width) for width in widths)
            raise DataError(f"{address} has {found} values in a frame, not {size} as in info.json")
        with np.errstate(over="ignore"):
            out[row : row + len(chunk)] = values.reshape(-1, size)
        row += len(chunk)


def _fill_integers(column: Any, out: Int64[np.ndarray, " frames"], address: str) -> None:
    if not kinds.is_integer(column.type) or column.null_count:
        raise DataError(
            f"{address} is of type {column.type} with {column.null_count} nulls, not whole numbers"
        )
    out[:] = column.to_numpy()


def _fill_seconds(column: Any, out: Float64[np.ndarray, " frames"], address: str) -> None:
    if not (kinds.is_floating(column.type) or kinds.is_integer(column.type)):
        raise DataError(f"{address} is of type {column.type}, not numbers")
    out[:] = column.to_numpy()
