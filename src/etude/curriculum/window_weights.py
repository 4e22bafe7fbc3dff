"""Which frames of a task are drawn more often, told by what happens at them.

A stratum of a task is drawn like a task of its own: it gets a share of the task's draws, and its
frames are visited in a keyed random order, all of them once before any of them again. So frames of
equal weight are drawn equally often, to within one visit. Taking each frame of one common order
several times or not at all, by a keyed coin, would put copies of a frame side by side and make
equal frames unequal by chance.

Which stratum is next follows from the number of the draw alone, by a sequence whose shares are
right to within a few draws after any number of them. So there is nothing to remember but how far
the order of each stratum has come.

To find the n-th frame of a stratum, its frames are counted once for pieces of `PIECE` frames; the
rest is read from the labels, which may be a file that is mapped into memory.

Source: the additive recurrence with the golden ratio, Kuipers and Niederreiter, "Uniform
distribution of sequences", 1974.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int8, Int64, UInt64

from etude.core.errors import ConfigError, DataError
from etude.core.types import TaskId
from etude.curriculum.frame_layout import FrameLayout
from etude.store.content import bytes_digest

PIECE = 64
"""Frames that are counted together; another number is another `identity` of the same strata."""
CHUNK = 16_384
"""Pieces that are counted at once: one million frames."""
UNKNOWN = -1
"""Label of a frame whose stratum is not known: it counts as a stratum of weight 1."""
HUNDREDTHS = 100
"""Multipliers are kept in steps of 0.01, which is finer than a scan can tell them apart."""
IDENTITY_CHARACTERS = 16
"""Of a digest; two data sets that differ are told apart, nobody is kept from forging one."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

Multipliers = Mapping[TaskId, Mapping[str, float]]
"""By task and stratum: how often to draw each of its frames, relative to the others of the task."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrameStrata:
    """What happens at each row of a dataset."""

    names: tuple[str, ...]
    labels: Int8[np.ndarray, " rows"]
    """Place in `names` of each row's stratum, or `UNKNOWN`."""


class StratumIndex:
    """Finds the n-th frame of a stratum of a task without a list of frames."""

    def __init__(self, layout: FrameLayout, strata: FrameStrata) -> None:
        """Count the frames of every stratum, reading each label once.

        Raises:
            DataError: There are fewer labels than rows, or one that names no stratum.
        """
        self.names = strata.names
        self._labels = strata.labels
        rows = int(np.max(layout.starts + layout.lengths, initial=0))
        if len(strata.labels) < rows:
            raise DataError(
                f"{len(strata.labels)} frames have strata, of {rows} in the dataset",
                hint="Label the frames of this dataset again.",
            )
        pieces = -(-layout.lengths // PIECE)
        episode = np.repeat(np.arange(len(pieces)), pieces)
        number = np.arange(len(episode)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        self._starts = layout.starts[episode] + number * PIECE
        self._lengths = np.minimum(PIECE, layout.lengths[episode] - number * PIECE)
        self._before = np.zeros((len(self.names) + 1, len(episode) + 1), dtype=np.int64)
        for first in range(0, len(episode), CHUNK):
            tallies = self._tallies(slice(first, first + CHUNK))
            self._before[:, first + 1 : first + 1 + len(tallies)] = tallies.T
        np.cumsum(self._before, axis=1, out=self._before)
        owners = layout.owners[episode]
        tasks = np.arange(len(layout.tasks))
        first_piece = np.searchsorted(owners, tasks, side="left")
        self._task_before = self._before[:, first_piece].T.copy()
        ends = self._before[:, np.searchsorted(owners, tasks, side="right")].T
        self.sizes: Int64[np.ndarray, "tasks strata"] = ends - self._task_before
        """Frames of each stratum of each task; the last column counts those of no known stratum."""
        names = "\n".join(self.names)
        counts = bytes_digest(self._before.ravel().view(np.uint8).data)
        self.identity: str = bytes_digest(f"{names}\n{counts}".encode())[:IDENTITY_CHARACTERS]
        """Changes when the names do, or when strata lie elsewhere."""

    def rows(
        self,
        tasks: Int64[np.ndarray, " draws"],
        strata: Int64[np.ndarray, " draws"],
        places: Int64[np.ndarray, " draws"],
    ) -> Int64[np.ndarray, " draws"]:
        """Return the dataset's rows of frames that are counted within strata of their tasks."""
        wanted = self._task_before[tasks, strata] + places
        piece = np.empty_like(wanted)
        for stratum in range(len(self._before)):
            mine = np.flatnonzero(strata == stratum)
            piece[mine] = np.searchsorted(self._before[stratum], wanted[mine], side="right") - 1
        within = wanted - self._before[strata, piece]
        offsets = np.arange(PIECE)
        inside = offsets < self._lengths[piece, None]
        known = np.where(strata == len(self.names), UNKNOWN, strata).astype(np.int8)
        labels = np.asarray(self._labels[self._starts[piece, None] + np.where(inside, offsets, 0)])
        hits = (labels == known[:, None]) & inside
        counts = np.count_nonzero(hits, axis=1)
        nth = np.flatnonzero(hits)[np.cumsum(counts) - counts + within] % PIECE
        return self._starts[piece] + nth

    def _tallies(self, pieces: slice) -> Int64[np.ndarray, "pieces strata"]:
        """Return how many frames of each stratum lie in each of some pieces."""
        starts, lengths = self._starts[pieces], self._lengths[pieces]
        offsets = np.cumsum(lengths) - lengths
        rows = np.arange(int(lengths.sum())) + np.repeat(starts - offsets, lengths)
        labels = self._read(rows)
        kinds = len(self.names) + 1
        cells = np.repeat(np.arange(len(lengths)) * kinds, lengths) + labels
        return np.bincount(cells, minlength=len(lengths) * kinds).reshape(len(lengths), kinds)

    def _read(self, rows: Int64[np.ndarray, "*shape"]) -> Int64[np.ndarray, "*shape"]:
        """Return labels of rows, unknown ones as the last."""
        labels = np.asarray(self._labels[rows]).astype(np.int64)
        strange = (labels < UNKNOWN) | (labels >= len(self.names))
        if strange.any():
            raise DataError(
                f"a frame has the stratum number {labels[strange].flat[0]}, "
                f"of {len(self.names)} that have names",
                hint="Label the frames of this dataset again.",
            )
        return np.where(labels == UNKNOWN, len(self.names), labels)


def to_hundredths(
    multipliers: Multipliers, tasks: Sequence[TaskId], names: Sequence[str]
) -> list[list[int]]:
    """Return for each task the rounded multipliers of its strata; an empty list for none.

    Raises:
        ConfigError: A task or a stratum is unknown, or a multiplier is no number of at least 0.
    """
    known = set(tasks)
    strangers = [task for task in multipliers if task not in known]
    if strangers:
        raise ConfigError(f"window weights name {len(strangers)} unknown tasks: {strangers[0]}")
    return [_rounded(task, multipliers.get(task, {}), names) for task in tasks]


def stratum_edges(
    hundredths: Sequence[Sequence[int]],
    sizes: Int64[np.ndarray, "tasks strata"],
    tasks: Sequence[TaskId],
) -> Float64[np.ndarray, "tasks strata"]:
    """Return where the share of each stratum in its task's draws ends; -1 where all are alike.

    Raises:
        ConfigError: All frames of a task have the multiplier 0.
    """
    edges = np.full(sizes.shape, -1.0)
    for place, row in enumerate(hundredths):
        if not row or not sizes[place].any():
            continue
        sums = np.cumsum(sizes[place] * np.array([*row, HUNDREDTHS], dtype=np.float64))
        if sums[-1] == 0:
            raise ConfigError(f"window weights of task {tasks[place]} leave none of its frames")
        edges[place] = sums / sums[-1]
    return edges


def stratum_of(
    numbers: Int64[np.ndarray, " draws"],
    keys: UInt64[np.ndarray, " draws"],
    edges: Float64[np.ndarray, "draws strata"],
) -> Int64[np.ndarray, " draws"]:
    """Return the stratum of each draw of a task, from its number.

    Args:
        numbers: Draws of the task that came before.
        keys: One for each task.
        edges: Of the draw's task.
    """
    turns = numbers.astype(np.uint64) * _GOLDEN + keys
    points = (turns >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.sum(edges <= points[:, None], axis=1)


def _rounded(task: TaskId, multipliers: Mapping[str, float], names: Sequence[str]) -> list[int]:
    if not multipliers:
        return []
    unknown = sorted(set(multipliers) - set(names))
    if unknown:
        raise ConfigError(
            f"window weights of task {task} name the unknown stratum {unknown[0]!r}",
            hint=f"Choose among {', '.join(names)}.",
        )
    values = [multipliers.get(name, 1.0) for name in names]
    for name, value in zip(names, values, strict=True):
        if not np.isfinite(value) or value < 0:
            raise ConfigError(
                f"window weight of {name!r} in task {task} is {value}, not at least 0"
            )
    return [round(value * HUNDREDTHS) for value in values]
