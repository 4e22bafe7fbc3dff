"""Rank correlations of scores with success, with intervals, and the threshold that tells them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from correlation import spearman

DRAWS = 400
SOLVED = 0.8
"""Success at or over which a task counts as solved when `tau` is fitted."""
TAUS = tuple(round(0.05 * step, 2) for step in range(2, 31))

Table = Float64[np.ndarray, "policies tasks"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskWindows:
    """The windows of one task as one policy answers them."""

    worst: Float64[np.ndarray, " windows"]
    """Ratio of the worst group."""
    weights: Float64[np.ndarray, " windows"]

    def passed(self, tau: float) -> float:
        """Return the share of windows, by weight, in which no group is over `tau`."""
        return float(np.average(self.worst <= tau, weights=self.weights))


def correlations(scores: Table, success: Table) -> dict[str, float]:
    """Return three rank correlations of scores, of which lower is better, with success rates.

    Across policies, of means over tasks; across tasks, the mean over policies; and for one task
    across policies, the mean over tasks.
    """
    return {
        "across_policies": spearman(np.log(scores).mean(axis=1), success.mean(axis=1)),
        "across_tasks": _rowwise(scores, success),
        "for_one_task": _rowwise(scores.T, success.T),
    }


def figures(scores: Table, success: Table) -> dict[str, list[float]]:
    """Return `correlations`, each with a 95 % bootstrap interval over policies, or over tasks."""
    random = np.random.default_rng(0)
    policies, tasks = success.shape
    drawn: dict[str, list[float]] = {}
    for _ in range(DRAWS):
        some, other = random.integers(policies, size=policies), random.integers(tasks, size=tasks)
        among = correlations(scores[some], success[some])
        within = _rowwise(scores[:, other], success[:, other])
        for name, value in {**among, "across_tasks": within}.items():
            drawn.setdefault(name, []).append(value)
    return {
        name: _told(value, drawn[name]) for name, value in correlations(scores, success).items()
    }


def reliability(success: Table, *, episodes: int) -> float:
    """Return the rank correlation across tasks of two halves of the episodes, were they played.

    Two sets of so many binomial draws with the measured rates stand for them; it bounds what any
    score can reach.
    """
    random = np.random.default_rng(1)
    one, other = (random.binomial(episodes, success) / episodes for _ in range(2))
    return _rowwise(one, other)


def fit_tau(
    worst: Sequence[Sequence[TaskWindows]], success: Table, *, passing: float
) -> dict[str, float]:
    """Return the threshold under which the share of windows tells best whether a task is solved.

    Args:
        worst: Of each policy's tasks.
        success: Rates by policy and task.
        passing: Share of windows from which on a task counts as passed.
    """
    solved = success >= SOLVED
    found = {
        tau: _balanced(
            np.array([[task.passed(tau) >= passing for task in row] for row in worst]),
            solved,
        )
        for tau in TAUS
    }
    best = max(found, key=lambda tau: found[tau])
    return {"tau": best, "balanced_accuracy": round(found[best], 4)}


def _balanced(told: np.ndarray, true: np.ndarray) -> float:
    return float(np.mean([np.mean(told[true]), np.mean(~told[~true])]))


def _rowwise(scores: Table, success: Table) -> float:
    return float(np.nanmean([spearman(s, r) for s, r in zip(scores, success, strict=True)]))


def _told(value: float, draws: Sequence[float]) -> list[float]:
    low, high = np.nanquantile(draws, [0.025, 0.975])
    return [round(value, 3), round(float(low), 3), round(float(high), 3)]
