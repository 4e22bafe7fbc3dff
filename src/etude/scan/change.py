"""How errors of the same windows have changed, and how sure that is.

    d[w] = log(error after[w] + FLOOR) - log(error before[w] + FLOOR)

The weighted mean of d is the logarithm of a ratio of geometric means. Its standard error counts
windows as `sequential.effective_count` does, because those of one episode are alike, and its
interval is Student's with one degree of freedom less than that count.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from etude.core.statistics import student_p, student_t95, weighted_mean
from etude.scan.sequential import effective_count

FLOOR = 1e-4
"""Added to every error, so that a window without any has a logarithm. An error is a share of that
of holding still, so what is smaller hardly moves anything."""
SAME = 1e-5
"""Logarithms that differ by less are equal: in their last bits, results of another machine or
another batch size may be others."""
LEAST = 2.0
"""Effective windows under which nothing can be said about their spread."""
_LARGEST = 700.0
"""Logarithm of about the largest number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """How a geometric mean of errors has changed, as a logarithm."""

    mean: float
    error: float
    """Standard error of the mean."""
    degrees: float
    """Of freedom."""

    @property
    def p(self) -> float:
        """How likely the mean is to be so far from 0 by chance."""
        if self.error > 0:
            return student_p(self.mean / self.error, self.degrees)
        return 1.0 if self.mean == 0 else 0.0

    @property
    def ratio(self) -> float:
        """How many times as large the errors have become."""
        return _power(self.mean)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the ratio."""
        half = student_t95(self.degrees) * self.error
        return _power(self.mean - half), _power(self.mean + half)


def paired_change(
    before: Sequence[float],
    after: Sequence[float],
    *,
    weights: Sequence[float],
    episodes: Sequence[int],
) -> Change | None:
    """Return the change of a geometric mean, or None where too few windows show their spread.

    Args:
        before: Errors of some windows.
        after: Errors of the same windows.
        weights: How many windows each stands for.
        episodes: The number of each one's episode.
    """
    trials = effective_count(weights, episodes)
    if trials < LEAST:
        return None
    steps = [_step(one, other) for one, other in zip(before, after, strict=True)]
    centre = weighted_mean(steps, weights)
    spread = weighted_mean([(step - centre) ** 2 for step in steps], weights)
    equal = math.fsum(weights) ** 2 / math.fsum(weight**2 for weight in weights)
    variance = spread * equal / (equal - 1)
    return Change(mean=centre, error=math.sqrt(variance / trials), degrees=trials - 1)


def mean_change(changes: Sequence[Change]) -> Change | None:
    """Return the mean of some changes, each counting alike; None of none.

    Source: Welch, "The generalization of Student's problem when several different population
    variances are involved", 1947, for the degrees of freedom.
    """
    if not changes:
        return None
    squares = math.fsum(each.error**2 for each in changes)
    fourths = math.fsum(each.error**4 / each.degrees for each in changes)
    return Change(
        mean=math.fsum(each.mean for each in changes) / len(changes),
        error=math.sqrt(squares) / len(changes),
        degrees=squares**2 / fourths if fourths else 1.0,
    )


def geometric_mean(errors: Sequence[float], weights: Sequence[float]) -> float:
    """Return the weighted geometric mean of errors, with `FLOOR` added to each."""
    return math.exp(weighted_mean([math.log(error + FLOOR) for error in errors], weights))


def _power(exponent: float) -> float:
    return math.exp(min(exponent, _LARGEST))


def _step(before: float, after: float) -> float:
    step = math.log(after + FLOOR) - math.log(before + FLOOR)
    return 0.0 if abs(step) < SAME else step
