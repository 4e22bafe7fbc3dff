"""The windows that a scan of one task looks at, and what each of them stands for."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from etude.core.types import TaskId, WindowChoice, WindowScore

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
    """Windows of each cell of the episodes from which the choices were drawn."""
    densities: Mapping[Cell, float] = field(default_factory=dict[Cell, float])
    """How densely each cell was drawn, against the others of its episode; 1 if not named."""

    def weights(self, choices: Iterable[WindowChoice]) -> list[float]:
        """Return how many windows of the task each of `choices` stands for; they sum to `of`.

        The windows of an episode stand for all of it, each in inverse proportion to how densely it
        was drawn, and the episodes that have one stand for all episodes.

        Source: Hajek, comment on Basu, "Foundations of statistical inference", 1971.
        """
        chosen = list(choices)
        sizes: Counter[int] = Counter()
        for (_, episode), size in self.cells.items():
            sizes[episode] += size
        inverse = [
            1 / self.densities.get((choice.stratum, choice.episode), 1.0) for choice in chosen
        ]
        sums: dict[int, float] = {}
        for choice, share in zip(chosen, inverse, strict=True):
            sums[choice.episode] = sums.get(choice.episode, 0.0) + share
        total = sum(sizes[episode] for episode in sums)
        return [
            self.of * sizes[choice.episode] / total * share / sums[choice.episode]
            for choice, share in zip(chosen, inverse, strict=True)
        ]


def weighted(plan: TaskPlan, scores: Iterable[WindowScore]) -> list[WindowScore]:
    """Return scores by episode and frame, each with what it stands for among them."""
    ordered = sorted(scores, key=lambda score: score.choice.place)
    weights = plan.weights(score.choice for score in ordered)
    return [
        replace(score, choice=replace(score.choice, weight=weight))
        for score, weight in zip(ordered, weights, strict=True)
    ]
