"""The windows that a scan of one task looks at, and what each of them stands for."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from etude.core.types import TaskId, WindowChoice

Cell = tuple[str, int]
"""A stratum of one episode, by the episode's number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlan:
    """The windows of one task in the order in which they are to be scored.

    The order is such that any beginning of it is a fair sample, so a scan can stop anywhere.
    """

    task: TaskId
    of: int
    """Windows that the strategy could have chosen."""
    choices: tuple[WindowChoice, ...]
    cells: Mapping[Cell, int]
    """Windows of each cell from which the choices were drawn."""

    def weights(self, choices: Iterable[WindowChoice]) -> list[float]:
        """Return how many windows of the task each of `choices` stands for; they sum to `of`."""
        return cell_weights(choices, self.cells, of=self.of)


def cell_weights(
    choices: Iterable[WindowChoice], cells: Mapping[Cell, int], *, of: int
) -> list[float]:
    """Return how many of `of` windows each choice stands for.

    A choice stands for its cell, and the cells that have one for the whole of their stratum.
    """
    kept = [(choice.stratum, choice.episode) for choice in choices]
    drawn = Counter(kept)
    sizes: Counter[str] = Counter()
    for (stratum, _), size in cells.items():
        sizes[stratum] += size
    seen: Counter[str] = Counter()
    for cell in drawn:
        seen[cell[0]] += cells[cell]
    total = sum(sizes[stratum] for stratum in seen)
    return [
        of * cells[cell] / drawn[cell] * sizes[cell[0]] / seen[cell[0]] / total for cell in kept
    ]
