"""Rates and moments with what is needed to judge them."""

import math
from collections.abc import Mapping, Sequence

from etude.core.types import Interval

Z95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""


def wilson(successes: int, trials: int) -> Interval:
    """Return a success rate with its Wilson score interval at 95 %."""
    if trials == 0:
        return Interval(successes=0, trials=0, rate=None, low=0.0, high=1.0)
    rate = successes / trials
    low, high = wilson_bounds(rate, trials)
    return Interval(
        successes=successes,
        trials=trials,
        rate=rate,
        low=0.0 if successes == 0 else low,
        high=1.0 if successes == trials else high,
    )


def wilson_bounds(rate: float, trials: float) -> tuple[float, float]:
    """Return the Wilson score interval at 95 % of a rate, also of effective, broken counts.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
    """
    denominator = 1 + Z95**2 / trials
    centre = (rate + Z95**2 / (2 * trials)) / denominator
    half = Z95 * math.sqrt(rate * (1 - rate) / trials + Z95**2 / (4 * trials**2)) / denominator
    return max(0.0, centre - half), min(1.0, centre + half)


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, or None of nothing."""
    return math.fsum(values) / len(values) if values else None


def mean_of_lowest(rates: Sequence[float], count: int) -> float | None:
    """Return the mean of the `count` lowest rates (of all, where there are fewer)."""
    return mean(sorted(rates)[:count])


def mean_of_groups(
    rates: Mapping[str, float], groups: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """Return the mean rate of each group that has at least one rated member."""
    means = {
        group: mean([rates[name] for name in names if name in rates])
        for group, names in groups.items()
    }
    return {group: value for group, value in means.items() if value is not None}


def stratified_interval(counts: Sequence[tuple[int, int]]) -> tuple[float, float] | None:
    """Return a 95 % interval of the mean of per-task rates, given (successes, trials) by task.

    The tasks are a fixed set, so only the episodes inside each task vary. Each task's variance
    uses the Agresti-Coull centre, so that a task at 0 or 1 does not count as certain.
    """
    tried = [(k, n) for k, n in counts if n > 0]
    if not tried:
        return None
    centre = math.fsum(k / n for k, n in tried) / len(tried)
    variance = 0.0
    for k, n in tried:
        adjusted = (k + Z95**2 / 2) / (n + Z95**2)
        variance += adjusted * (1 - adjusted) / (n + Z95**2)
    half = Z95 * math.sqrt(variance) / len(tried)
    return max(0.0, centre - half), min(1.0, centre + half)
