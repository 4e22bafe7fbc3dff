"""The arithmetic of drawing: weights to whole numbers of draws, draws to visits of frames."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64, UInt64

from etude.curriculum.frame_layout import FrameLayout
from etude.curriculum.permutation import combine, permute
from etude.curriculum.window_weights import StratumIndex, stratum_of

WHOLE = 0
"""The cell of a task that holds all its frames; those behind it hold one stratum each."""

AT_ONCE = 8192
"""Draws that are computed in one go; it changes the speed and nothing else."""
MOST_STEPS = 64
"""Batches that are computed in one go, however small."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Position:
    """A place in the stream: all that the batches behind it depend on, beside seed and plans."""

    step: int
    """Batches before it."""
    residuals: Float64[np.ndarray, " tasks"]
    """Draws that each task is owed, less than one or two either way."""
    cursors: Int64[np.ndarray, "tasks cells"]
    """Visits so far, of all frames of a task alike and of each of its strata."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Material:
    """What is drawn from."""

    seed: int
    layout: FrameLayout
    index: StratumIndex | None = None

    @property
    def cells(self) -> int:
        """Number of orders that the frames of one task are visited in."""
        return 1 if self.index is None else 1 + self.index.sizes.shape[1]


def apportion(
    weights: Float64[np.ndarray, " tasks"], residuals: Float64[np.ndarray, " tasks"], draws: int
) -> tuple[Int64[np.ndarray, " tasks"], Float64[np.ndarray, " tasks"]]:
    """Turn weights into whole numbers that sum to `draws`, and return what is owed from then on.

    Systematic resampling of what every task is still owed; the rest is carried on. A task of weight
    0 gets nothing and keeps what it is owed.
    """
    owed = weights * draws + residuals
    wanted = np.where(weights > 0, np.maximum(owed, 0.0), 0.0)
    edges = np.cumsum(wanted) * (draws / wanted.sum())
    marks = np.floor(edges + 0.5).astype(np.int64)
    marks[-1] = draws
    counts = np.diff(marks, prepend=0)
    return counts, owed - counts


def steps_at_once(batch_size: int, step: int, changes: Iterable[int | None]) -> int:
    """Return how many batches from `step` on to compute in one go, at least one.

    Args:
        batch_size: Rows of each.
        step: Number of the first.
        changes: Later steps from which something else holds.
    """
    most = min(max(1, AT_ONCE // batch_size), MOST_STEPS)
    return min([most, *(change - step for change in changes if change is not None)])


def draw(
    material: Material,
    position: Position,
    weights: Float64[np.ndarray, " tasks"],
    edges: Float64[np.ndarray, "tasks strata"] | None,
    *,
    steps: int,
    batch_size: int,
) -> tuple[Int64[np.ndarray, "steps batch"], list[Position]]:
    """Return the rows of the next batches, and the position behind each of them.

    Args:
        material: What is drawn from.
        position: Where the first of the batches begins.
        weights: Of the tasks, in all of these steps.
        edges: Where the shares of strata end, see `stratum_edges`; None for frames all alike.
        steps: Batches to draw.
        batch_size: Rows in each.
    """
    counts, residuals = _counts(weights, position.residuals, steps, batch_size)
    drawn = np.flatnonzero(counts)
    times = counts.ravel()[drawn]
    tasks = np.repeat(drawn % len(weights), times)
    first = (np.cumsum(counts, axis=0) - counts).ravel()[drawn] - (np.cumsum(times) - times)
    numbers = np.arange(len(tasks)) + np.repeat(first, times)
    cells = _cells(material, position, edges, tasks, numbers)
    used = _used(counts, tasks, cells, material.cells)
    visits = position.cursors[tasks, cells] + _ranks(tasks * material.cells + cells, numbers, cells)
    rows = _rows(material, tasks, cells, visits)
    behind = [
        Position(step=position.step + 1 + step, residuals=residuals[step], cursors=cursors)
        for step, cursors in enumerate(position.cursors + np.cumsum(used, axis=0))
    ]
    return rows.reshape(steps, batch_size), behind


def _counts(
    weights: Float64[np.ndarray, " tasks"],
    residuals: Float64[np.ndarray, " tasks"],
    steps: int,
    batch_size: int,
) -> tuple[Int64[np.ndarray, "steps tasks"], list[Float64[np.ndarray, " tasks"]]]:
    counts = np.empty((steps, len(weights)), dtype=np.int64)
    owed: list[Float64[np.ndarray, " tasks"]] = []
    for step in range(steps):
        counts[step], residuals = apportion(weights, residuals, batch_size)
        owed.append(residuals)
    return counts, owed


def _cells(
    material: Material,
    position: Position,
    edges: Float64[np.ndarray, "tasks strata"] | None,
    tasks: Int64[np.ndarray, " draws"],
    numbers: Int64[np.ndarray, " draws"],
) -> Int64[np.ndarray, " draws"]:
    """Return which order of its task each draw belongs to."""
    cells = np.full(len(tasks), WHOLE, dtype=np.int64)
    if edges is None:
        return cells
    mine = np.flatnonzero(edges[tasks, -1] > 0)
    before = position.cursors.sum(axis=1)[tasks[mine]] + numbers[mine]
    keys = combine(material.seed, tasks[mine].astype(np.uint64), 0, 0)
    cells[mine] = 1 + stratum_of(before, keys, edges[tasks[mine]])
    return cells


def _used(
    counts: Int64[np.ndarray, "steps tasks"],
    tasks: Int64[np.ndarray, " draws"],
    cells: Int64[np.ndarray, " draws"],
    kinds: int,
) -> Int64[np.ndarray, "steps tasks cells"]:
    """Return how many visits each step makes in each order."""
    if kinds == 1:
        return counts[:, :, None]
    steps, of = counts.shape
    step = np.arange(len(tasks)) // (len(tasks) // steps)
    places = (step * of + tasks) * kinds + cells
    return np.bincount(places, minlength=steps * of * kinds).reshape(steps, of, kinds)


def _ranks(
    groups: Int64[np.ndarray, " draws"],
    numbers: Int64[np.ndarray, " draws"],
    cells: Int64[np.ndarray, " draws"],
) -> Int64[np.ndarray, " draws"]:
    """Return how many draws of the same order come before each."""
    if not cells.any():
        return numbers
    order = np.argsort(groups, kind="stable")
    sorted_groups = groups[order]
    first = np.searchsorted(sorted_groups, sorted_groups, side="left")
    ranks = np.empty_like(groups)
    ranks[order] = np.arange(len(groups)) - first
    return ranks


def _rows(
    material: Material,
    tasks: Int64[np.ndarray, " draws"],
    cells: Int64[np.ndarray, " draws"],
    visits: Int64[np.ndarray, " draws"],
) -> Int64[np.ndarray, " draws"]:
    """Return the row that each visit falls on."""
    rows = np.empty_like(visits)
    whole = np.flatnonzero(cells == WHOLE)
    task, visit = tasks[whole], visits[whole]
    sizes = material.layout.sizes[task]
    keys = combine(material.seed, *_unsigned(task, visit // sizes))
    rows[whole] = material.layout.rows(task, permute(visit % sizes, sizes, keys))
    if material.index is None or len(whole) == len(rows):
        return rows
    part = np.flatnonzero(cells != WHOLE)
    task, visit, stratum = tasks[part], visits[part], cells[part] - 1
    sizes = material.index.sizes[task, stratum]
    keys = combine(material.seed, *_unsigned(task, visit // sizes, cells[part]))
    rows[part] = material.index.rows(task, stratum, permute(visit % sizes, sizes, keys))
    return rows


def _unsigned(*values: Int64[np.ndarray, " draws"]) -> tuple[UInt64[np.ndarray, " draws"], ...]:
    return tuple(value.astype(np.uint64) for value in values)
