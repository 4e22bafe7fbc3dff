"""Cutting windows out of episodes: whole batches at once, in NumPy alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Int64, UInt8

from etude.core.errors import DataError
from etude.core.types import WindowBatch, WindowSpec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EpisodeFrames:
    """Frames and the episodes that they belong to; some frames may belong to none."""

    states: Float32[np.ndarray, "frames state"]
    actions: Float32[np.ndarray, "frames action"]
    starts: Int64[np.ndarray, " episodes"]
    """First row of each episode, ascending."""
    stops: Int64[np.ndarray, " episodes"]
    """One past the last row of each episode; no later than the next start."""
    tasks: Int64[np.ndarray, " episodes"]
    """Place of each episode's task in the dataset's list."""


def cut_windows(
    frames: EpisodeFrames,
    rows: Int64[np.ndarray, " batch"],
    spec: WindowSpec,
    images: Mapping[str, UInt8[np.ndarray, "batch observations height width 3"]] | None = None,
) -> WindowBatch:
    """Return the windows anchored at `rows`, each cut at its own episode's ends.

    Raises:
        DataError: A row lies in no episode.
    """
    episodes, first, last = _around_episodes(frames, rows)
    seen, seen_valid = _around(rows, first, last, spec.observation_offsets)
    done, done_valid = _around(rows, first, last, spec.action_offsets)
    return WindowBatch(
        rows=rows,
        tasks=frames.tasks.take(episodes),
        states=frames.states.take(seen, axis=0, mode="clip"),
        states_valid=seen_valid,
        actions=frames.actions.take(done, axis=0, mode="clip"),
        actions_valid=done_valid,
        images=images or {},
    )


def observed_rows(
    frames: EpisodeFrames, rows: Int64[np.ndarray, " batch"], spec: WindowSpec
) -> Int64[np.ndarray, "batch observations"]:
    """Return the rows whose observations the windows anchored at `rows` hold.

    Raises:
        DataError: A row lies in no episode.
    """
    _, first, last = _around_episodes(frames, rows)
    return _around(rows, first, last, spec.observation_offsets)[0]


def _around_episodes(
    frames: EpisodeFrames, rows: Int64[np.ndarray, " batch"]
) -> tuple[Int64[np.ndarray, " batch"], Int64[np.ndarray, " batch"], Int64[np.ndarray, " batch"]]:
    """Return the episode that each row lies in, with its first and last row."""
    episodes = np.searchsorted(frames.starts, rows, side="right") - 1
    first = frames.starts.take(episodes, mode="clip")
    last = frames.stops.take(episodes, mode="clip") - 1
    outside = (rows < first) | (rows > last)
    if outside.any():
        raise DataError(
            f"row {rows[outside.argmax()]} lies in no usable episode",
            hint="Draw rows from the spans of `episodes`.",
        )
    return episodes, first, last


def _around(
    rows: Int64[np.ndarray, " batch"],
    first: Int64[np.ndarray, " batch"],
    last: Int64[np.ndarray, " batch"],
    offsets: tuple[int, ...],
) -> tuple[Int64[np.ndarray, "batch offsets"], Bool[np.ndarray, "batch offsets"]]:
    """Return the rows at `offsets`, held at the episode's edges, and which need no holding."""
    wanted = rows[:, None] + np.array(offsets, np.int64)
    held = np.minimum(np.maximum(wanted, first[:, None]), last[:, None])
    return held, held == wanted
