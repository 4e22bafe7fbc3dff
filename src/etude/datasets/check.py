"""Whether the frames of a dataset are what its metadata says, with the address of every fault."""

from collections import Counter
from collections.abc import Collection, Iterator

import numpy as np
from jaxtyping import Bool, Float32, Int64

from etude.datasets.episode_table import EpisodeTable
from etude.datasets.faults import SKIP_HINT, Fault
from etude.datasets.frame_files import Frames
from etude.datasets.info import Info
from etude.datasets.lerobot_schema import ACTION, STATE

_ROWS_AT_ONCE = 1 << 16


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
        Fault(
            id="counts",
            address="meta/info.json",
            message=f"{what}: info.json says {said}, {episodes.name} {listed}, "
            f"the data files {held}",
        )
        for what, (said, listed, held) in counts.items()
        if not said == listed == held + (empty if what == "episodes" else 0)
    ]
    twice = numbers[repeats > 1].tolist()
    return faults + [
        Fault(
            id="episode-twice",
            address=f"{episodes.name}, episode {number}",
            message=f"{episodes.name} lists episode {number} twice",
        )
        for number in twice
    ]


def episode_faults(
    episodes: EpisodeTable, frames: Frames, known_tasks: Collection[int]
) -> list[Fault]:
    """Return what is wrong with single episodes, episode after episode.

    What only follows from another fault is not told: an episode that lies in the wrong place is not
    searched for wrong values, and of values that are not finite each column tells the first.
    """
    found = _rows_in_named_file(episodes, frames)
    begins = episodes.start
    sound = (
        (episodes.length > 0)
        & (found == episodes.length)
        & (begins >= 0)
        & (episodes.stop <= len(frames))
        & (episodes.stop - begins == episodes.length)
    )
    faults = [
        _misplaced(episodes, frames, row, int(found[row]))
        for row in np.flatnonzero(~sound).tolist()
    ]
    rows = np.flatnonzero(sound)
    agreements = _agreements(episodes, frames, rows)
    listed = np.isin(frames.task[begins[rows]], list(known_tasks))
    fine = agreements.all(axis=0) & listed
    unlike = zip(
        rows[~fine].tolist(), agreements[:, ~fine].T.tolist(), listed[~fine].tolist(), strict=True
    )
    for row, agrees, known in unlike:
        faults += _inconsistent(episodes, frames, row, [*agrees, known])
    whole = rows[agreements[:2].all(axis=0)]
    faults += _not_finite(episodes, whole, frames.states, STATE)
    faults += _not_finite(episodes, whole, frames.actions, ACTION)
    return sorted(faults, key=lambda fault: fault.row or 0)


def _rows_in_named_file(episodes: EpisodeTable, frames: Frames) -> Int64[np.ndarray, " episodes"]:
    """Return how many rows of each episode lie in the file that its metadata names."""
    held: dict[tuple[str, int], int] = {}
    for file, start, stop in zip(frames.files, frames.bounds, frames.bounds[1:], strict=False):
        numbers, counts = np.unique(frames.episode[start:stop], return_counts=True)
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            held[file, number] = count
    named = (episodes.data_file(row) for row in range(len(episodes)))
    wanted = zip(named, episodes.index.tolist(), strict=True)
    return np.array([held.get(key, 0) for key in wanted], np.int64)


def _agreements(
    episodes: EpisodeTable, frames: Frames, rows: Int64[np.ndarray, " sound"]
) -> Bool[np.ndarray, "4 sound"]:
    """Return whether all frames are the episode's own, count from 0, share a task, and ascend."""
    if not len(rows):
        return np.zeros((4, 0), np.bool_)
    lengths = episodes.length[rows]
    offsets = np.cumsum(lengths, dtype=np.int64) - lengths
    within = np.arange(int(lengths.sum())) - np.repeat(offsets, lengths)
    frame = within + np.repeat(episodes.start[rows], lengths)
    task = frames.task[frame]
    agreements = (
        frames.episode[frame] == np.repeat(episodes.index[rows], lengths),
        frames.frame[frame] == within,
        task == np.repeat(task[offsets], lengths),
        # A file without timestamps has NaN, which is no fault.
        ~(frames.timestamps[frame] <= frames.timestamps[frame - 1]) | (within == 0),
    )
    return np.stack([np.logical_and.reduceat(agrees, offsets) for agrees in agreements])


def _misplaced(episodes: EpisodeTable, frames: Frames, row: int, found: int) -> Fault:
    number, length = int(episodes.index[row]), int(episodes.length[row])
    if length <= 0:
        return _fault("episode-empty", row, number, f"episode {number} has {length} frames")
    if found == length:
        span = f"{episodes.start[row]} to {episodes.stop[row]} of {len(frames)}"
        text = f"episode {number} has {length} frames, but the rows {span}"
        return _fault("episode-rows", row, number, text)
    file = episodes.data_file(row)
    text = f"episode {number}, {file}: expected {length} rows, found {found}"
    rows = np.flatnonzero(frames.episode == number)
    holders: list[int] = np.unique(np.searchsorted(frames.bounds, rows, side="right") - 1).tolist()
    others = [frames.files[holder] for holder in holders if frames.files[holder] != file]
    text = f"{text}; more in {', '.join(others)}" if others else text
    return _fault("episode-misplaced", row, number, text)


def _inconsistent(
    episodes: EpisodeTable, frames: Frames, row: int, agrees: list[bool]
) -> Iterator[Fault]:
    number, start = int(episodes.index[row]), int(episodes.start[row])
    span = slice(start, int(episodes.stop[row]))
    own, counted, same_task, ascends, listed = agrees
    if not own:
        other = frames.episode[span][frames.episode[span] != number][0]
        text = f"episode {number}: its rows {start} to {span.stop} hold frames of episode {other}"
        yield _fault("episode-rows", row, number, text)
        return
    if not counted:
        wrong = int(np.argmax(frames.frame[span] != np.arange(span.stop - start)))
        text = f"episode {number}, frame {wrong}: frame_index is {frames.frame[start + wrong]}"
        yield _fault("frame-index", row, number, text)
    elif not ascends:
        seconds = frames.timestamps[span]
        late = int(np.argmax(seconds[1:] <= seconds[:-1])) + 1
        text = (
            f"episode {number}, frame {late}: timestamp is {seconds[late]:g} s, not after "
            f"{seconds[late - 1]:g} s of the frame before"
        )
        yield _fault("timestamp-order", row, number, text)
    if not same_task:
        # Limit: an episode has one task; LeRobot would allow one for each frame.
        text = f"episode {number} mixes the tasks {np.unique(frames.task[span]).tolist()}"
        yield _fault("tasks-mixed", row, number, text)
    elif not listed:
        text = f"episode {number} is of task {frames.task[start]}, which the task table lacks"
        yield _fault("task-unlisted", row, number, text)


def _fault(kind: str, row: int, number: int, message: str) -> Fault:
    address = f"episode {number}"
    return Fault(id=kind, address=address, message=message, fix=SKIP_HINT, row=row)


def _not_finite(
    episodes: EpisodeTable,
    rows: Int64[np.ndarray, " sound"],
    values: Float32[np.ndarray, "frames size"],
    column: str,
) -> Iterator[Fault]:
    """Yield of each episode the first value that is NaN or infinite, and how many more are."""
    starts, stops = episodes.start[rows], episodes.stop[rows]
    first: dict[int, tuple[int, int]] = {}
    counts: Counter[int] = Counter()
    for begin in range(0, len(values), _ROWS_AT_ONCE):
        finite = np.isfinite(values[begin : begin + _ROWS_AT_ONCE])
        if finite.all():
            continue
        for frame, dimension in np.argwhere(~finite).tolist():
            row = int(np.searchsorted(starts, begin + frame, side="right")) - 1
            if row >= 0 and begin + frame < stops[row]:
                first.setdefault(row, (begin + frame, dimension))
                counts[row] += 1
    for row, (frame, dimension) in first.items():
        place = f"episode {episodes.index[rows[row]]}, frame {frame - starts[row]}"
        what = f"column {column}, dimension {dimension}"
        more = f"; {counts[row] - 1} more values are not finite" if counts[row] > 1 else ""
        yield Fault(
            id="not-finite",
            address=f"{place}, {what}",
            message=f"{place}: {what} is {values[frame, dimension]}{more}",
            fix=SKIP_HINT,
            row=int(rows[row]),
        )
