"""Whether the frames of a dataset are what its metadata says, with the address of every fault."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Int64

from etude.datasets.frame_files import Frames
from etude.datasets.lerobot_schema import ACTION, STATE
from etude.datasets.metadata import EpisodeTable, Info

_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something about a dataset, or about one episode, that keeps it from being used."""

    text: str
    row: int | None = None
    """Row of the episode table; None where no single episode is to blame."""


def count_faults(info: Info, episodes: EpisodeTable, frames: Frames) -> list[Fault]:
    """Return where info.json, meta/episodes and the data files count differently."""
    numbers, repeats = np.unique(episodes.index, return_counts=True)
    counts = {
        "episodes": (info.total_episodes, len(episodes), len(np.unique(frames.episode))),
        "frames": (info.total_frames, int(episodes.length.sum()), len(frames)),
    }
    # An episode of no frame leaves no trace in the data files; it is a fault of its own.
    empty = int((episodes.length <= 0).sum())
    faults = [
        Fault(text=f"{what}: info.json says {said}, meta/episodes {listed}, the data files {held}")
        for what, (said, listed, held) in counts.items()
        if not said == listed == held + (empty if what == "episodes" else 0)
    ]
    twice = numbers[repeats > 1].tolist()
    return faults + [Fault(text=f"meta/episodes lists episode {number} twice") for number in twice]


def episode_faults(
    info: Info, episodes: EpisodeTable, frames: Frames, known_tasks: Collection[int]
) -> list[Fault]:
    """Return what is wrong with single episodes; the first fault of each."""
    found = _rows_in_named_file(info, episodes, frames)
    begins = episodes.start
    sound = (
        (episodes.length > 0)
        & (found == episodes.length)
        & (begins >= 0)
        & (episodes.stop <= len(frames))
        & (episodes.stop - begins == episodes.length)
    )
    faults = [
        _misplaced(info, episodes, frames, row, int(found[row]))
        for row in np.flatnonzero(~sound).tolist()
    ]
    rows = np.flatnonzero(sound)
    agreements = _agreements(episodes, frames, rows)
    listed = np.isin(frames.task[begins[rows]], list(known_tasks))
    fine = agreements.all(axis=0) & listed
    faults += [
        _inconsistent(episodes, frames, row, agrees)
        for row, agrees in zip(rows[~fine].tolist(), agreements[:, ~fine].T.tolist(), strict=True)
    ]
    whole = rows[agreements[:2].all(axis=0)]
    faults += _not_finite(episodes, whole, frames.states, STATE)
    faults += _not_finite(episodes, whole, frames.actions, ACTION)
    first = {fault.row: fault for fault in reversed(faults)}
    return [first[row] for row in range(len(episodes)) if row in first]


def _rows_in_named_file(
    info: Info, episodes: EpisodeTable, frames: Frames
) -> Int64[np.ndarray, " episodes"]:
    """Return how many rows of each episode lie in the file that its metadata names."""
    held: dict[tuple[str, int], int] = {}
    for file, start, stop in zip(frames.files, frames.bounds, frames.bounds[1:], strict=False):
        numbers, counts = np.unique(frames.episode[start:stop], return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            held[file, number] = count
    named = (episodes.place(row).path(info.data_path) for row in range(len(episodes)))
    wanted = zip(named, episodes.index.tolist(), strict=True)
    return np.array([held.get(key, 0) for key in wanted], np.int64)


def _agreements(
    episodes: EpisodeTable, frames: Frames, rows: Int64[np.ndarray, " sound"]
) -> Bool[np.ndarray, "3 sound"]:
    """Return whether all frames are the episode's own, count from 0, and are of one task."""
    if not len(rows):
        return np.zeros((3, 0), np.bool_)
    lengths = episodes.length[rows]
    offsets = np.cumsum(lengths, dtype=np.int64) - lengths
    within = np.arange(int(lengths.sum())) - np.repeat(offsets, lengths)
    frame = within + np.repeat(episodes.start[rows], lengths)
    task = frames.task[frame]
    agreements = (
        frames.episode[frame] == np.repeat(episodes.index[rows], lengths),
        frames.frame[frame] == within,
        task == np.repeat(task[offsets], lengths),
    )
    return np.stack([np.logical_and.reduceat(agrees, offsets) for agrees in agreements])


def _misplaced(info: Info, episodes: EpisodeTable, frames: Frames, row: int, found: int) -> Fault:
    number, length = int(episodes.index[row]), int(episodes.length[row])
    if length <= 0:
        return Fault(row=row, text=f"episode {number} has {length} frames")
    if found == length:
        span = f"{episodes.start[row]} to {episodes.stop[row]} of {len(frames)}"
        return Fault(row=row, text=f"episode {number} has {length} frames, but the rows {span}")
    file = episodes.place(row).path(info.data_path)
    text = f"episode {number}, {file}: expected {length} rows, found {found}"
    rows = np.flatnonzero(frames.episode == number)
    holders: list[int] = np.unique(np.searchsorted(frames.bounds, rows, side="right") - 1).tolist()
    others = [frames.files[holder] for holder in holders if frames.files[holder] != file]
    return Fault(row=row, text=f"{text}; more in {', '.join(others)}" if others else text)


def _inconsistent(episodes: EpisodeTable, frames: Frames, row: int, agrees: list[bool]) -> Fault:
    number, start = int(episodes.index[row]), int(episodes.start[row])
    span = slice(start, int(episodes.stop[row]))
    own, counted, same_task = agrees
    if not own:
        other = frames.episode[span][frames.episode[span] != number][0]
        text = f"episode {number}: its rows {start} to {span.stop} hold frames of episode {other}"
    elif not counted:
        wrong = int(np.argmax(frames.frame[span] != np.arange(span.stop - start)))
        text = f"episode {number}, frame {wrong}: frame_index is {frames.frame[start + wrong]}"
    elif not same_task:
        # Limit: an episode has one task; LeRobot would allow one for each frame.
        text = f"episode {number} mixes the tasks {np.unique(frames.task[span]).tolist()}"
    else:
        text = f"episode {number} is of task {frames.task[start]}, which tasks.parquet lacks"
    return Fault(row=row, text=text)


def _not_finite(
    episodes: EpisodeTable,
    rows: Int64[np.ndarray, " sound"],
    values: Float32[np.ndarray, "frames size"],
    column: str,
) -> Iterator[Fault]:
    """Yield the first value of each episode that is NaN or infinite."""
    starts, stops = episodes.start[rows], episodes.stop[rows]
    for begin in range(0, len(values), _ROWS_AT_ONCE):
        finite = np.isfinite(values[begin : begin + _ROWS_AT_ONCE])
        if finite.all():
            continue
        for frame, dimension in np.argwhere(~finite).tolist():
            row = int(np.searchsorted(starts, begin + frame, side="right")) - 1
            if row < 0 or begin + frame >= stops[row]:
                continue
            number = int(episodes.index[rows[row]])
            yield Fault(
                row=int(rows[row]),
                text=f"episode {number}, frame {begin + frame - starts[row]}: column {column}, "
                f"dimension {dimension} is {values[begin + frame, dimension]}",
            )
