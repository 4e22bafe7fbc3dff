"""Rates and moments with what is needed to judge them."""

import math
from collections.abc import Mapping, Sequence

from etude.core.types import Interval

Z95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""

_EXACT = 1e-14
_MOST_TERMS = 10_000
"""Of a continued fraction that needs about the root of its parameters."""


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


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return the mean of values that count as much as their weights, which sum to more than 0."""
    total = math.fsum(weights)
    return math.fsum(v * w for v, w in zip(values, weights, strict=True)) / total


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


def student_p(t: float, degrees: float) -> float:
    """Return how likely Student's t is to lie as far from 0 as `t`, to either side.

    Args:
        t: Any number, also an infinite one.
        degrees: Degrees of freedom, over 0 and not necessarily whole.

    Source: NIST Digital Library of Mathematical Functions, 8.17.1 and 8.17.4: the incomplete beta
    function of degrees / (degrees + t^2) with parameters degrees / 2 and 1 / 2.
    """
    return beta_share(degrees / (degrees + t * t), degrees / 2, 0.5)


def student_t95(degrees: float) -> float:
    """Return the two-sided 95 % quantile of Student's t, by bisection of `student_p`.

    Args:
        degrees: Degrees of freedom, at least 1 and not necessarily whole.
    """
    low, high = Z95, 12.71
    while high - low > 1e-9:
        middle = (low + high) / 2
        if student_p(middle, degrees) > 0.05:
            low = middle
        else:
            high = middle
    return high


def beta_share(x: float, a: float, b: float) -> float:
    """Return how likely a number drawn from the beta distribution is to lie under `x`.

    It is the regularised incomplete beta function. With a = passed + 1 and b = failed + 1 it says
    how likely a pass rate is to be under `x`, if every rate was as likely before.

    Args:
        x: In [0, 1].
        a: Over 0 and not necessarily whole.
        b: Over 0 and not necessarily whole.

    Source: NIST Digital Library of Mathematical Functions, 8.17.1 and 8.17.4.
    """
    if x < (a + 1) / (a + b + 2):
        return _lower_beta_share(x, a, b)
    return 1.0 - _lower_beta_share(1.0 - x, b, a)


def holm(chances: Sequence[float]) -> list[float]:
    """Return p values so raised that the least of them can be judged as if it were the only one.

    Where nothing differs, the chance that any of them falls under 0.05 is at most 0.05.

    Source: Holm, "A simple sequentially rejective multiple test procedure", 1979.
    """
    order = sorted(range(len(chances)), key=lambda place: chances[place])
    raised = [0.0] * len(chances)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(chances) - rank) * chances[place]))
        raised[place] = highest
    return raised


def _lower_beta_share(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, for x under (a + 1) / (a + b + 2).

    Source: NIST Digital Library of Mathematical Functions, 8.17.22, a continued fraction, taken
    from its front by the method of Lentz, "Generating Bessel functions in Mie scattering", 1976.
    """
    if x <= 0.0:
        return 0.0
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a
    value, upper, lower = 1.0, 1.0, 0.0
    for turn in range(1, _MOST_TERMS):
        half, odd = divmod(turn, 2)
        if odd:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        lower = 1.0 / (1.0 + term * lower)
        upper = 1.0 + term / upper
        value *= upper * lower
        if abs(upper * lower - 1.0) < _EXACT:
            break
    return front / value
