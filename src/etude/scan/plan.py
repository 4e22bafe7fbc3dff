"""The windows that a scan of one task looks at, and what each of them stands for."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from etude.core.statistics import weighted_mean
from etude.core.types import TaskId, WindowChoice, WindowScore
from etude.scan.strata import importance

Cell = tuple[str, int]
"""A stratum of one episode, by the episode's number."""
Place = tuple[int, int]
"""A frame of an episode, by the episode's number."""

MOST_CALIBRATED = 2.0
"""Calibration makes no window stand for more than so many times as much, or as little."""
LEAST_SPREAD = 1e-12
"""Variance of expected errors under which all of them are the same but for rounding."""


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
    expected: Mapping[Place, float] = field(default_factory=dict[Place, float])
    """Error that was expected of each choice; 1 if not named. Within a cell, windows were drawn in
    proportion to it."""
    means: Mapping[Cell, float] = field(default_factory=dict[Cell, float])
    """Mean error that was expected of all windows of each cell; 1 if not named."""

    def weights(self, choices: Iterable[WindowChoice]) -> list[float]:
        """Return how many windows of the task each of `choices` stands for; they sum to `of`.

        The windows of an episode stand for all of it, each in inverse proportion to how densely it
        was drawn, and the episodes that have one stand for all episodes. Then they are calibrated.

        Source: Horvitz and Thompson, "A generalization of sampling without replacement from a
        finite universe", 1952; the sum is set as by Hajek, comment on Basu, "Foundations of
        statistical inference", 1971.
        """
        chosen = list(choices)
        if not chosen:
            return []
        counts = Counter(choice.episode for choice in chosen)
        drawn: dict[int, float] = {}
        for cell, size in self.cells.items():
            drawn[cell[1]] = drawn.get(cell[1], 0.0) + size * self.densities.get(cell, 1.0)
        stands_for = [
            drawn[choice.episode] / counts[choice.episode] / self._density(choice)
            for choice in chosen
        ]
        stands_for = self._calibrated(chosen, stands_for)
        total = math.fsum(stands_for)
        return [self.of * each / total for each in stands_for]

    def _density(self, choice: WindowChoice) -> float:
        cell = choice.stratum, choice.episode
        return self.densities.get(cell, 1.0) * self._expected(choice) / self.means.get(cell, 1.0)

    def _expected(self, choice: WindowChoice) -> float:
        return self.expected.get(choice.place, 1.0)

    def _calibrated(
        self, chosen: Sequence[WindowChoice], stands_for: Sequence[float]
    ) -> Sequence[float]:
        """Shift what windows stand for so that they are expected to err as all windows are.

        Their mean expected error, weighted by importance, becomes that of the whole task, which is
        known without asking a policy. Errors follow what was expected of them, so their mean comes
        closer to that of the whole task too.

        Source: Deville and Sarndal, "Calibration estimators in survey sampling", 1992, their
        linear case with bounds.
        """
        expected = [self._expected(choice) for choice in chosen]
        counted = [
            importance(choice.stratum) * each
            for choice, each in zip(chosen, stands_for, strict=True)
        ]
        found = weighted_mean(expected, counted)
        spread = weighted_mean([(each - found) ** 2 for each in expected], counted)
        if spread <= LEAST_SPREAD:
            return stands_for
        known = weighted_mean(
            [self.means.get(cell, 1.0) for cell in self.cells],
            [size * importance(cell[0]) for cell, size in self.cells.items()],
        )
        slope = (known - found) / spread
        return [
            each * min(max(1 + slope * (ours - found), 1 / MOST_CALIBRATED), MOST_CALIBRATED)
            for each, ours in zip(stands_for, expected, strict=True)
        ]


def weighted(plan: TaskPlan, scores: Iterable[WindowScore]) -> list[WindowScore]:
    """Return scores by episode and frame, each with what it stands for among them."""
    ordered = sorted(scores, key=lambda score: score.choice.place)
    weights = plan.weights(score.choice for score in ordered)
    return [
        replace(score, choice=replace(score.choice, weight=weight))
        for score, weight in zip(ordered, weights, strict=True)
    ]
