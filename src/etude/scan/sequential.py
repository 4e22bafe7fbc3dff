"""Deciding about a task with as few windows as it takes, and where to look next.

A sequential test asks whether windows pass at a rate of at most 0.80 or at least 0.95. What cannot
be told apart with the windows that there are stays undecided.

Windows of one episode are alike, and weighted windows unequal, so all counts are effective ones:
how many independent, equal windows would say as much.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from etude.core.statistics import wilson_bounds
from etude.core.types import Interval, TaskId

Verdict = Literal["pass", "fail", "undecided"]

FAILING = 0.80
"""Pass rate at or under which a task fails."""
PASSING = 0.95
"""Pass rate at or over which a task passes."""
ERROR_RATE = 0.05
"""Chance of either wrong decision that is accepted."""
CORRELATION = 0.05
"""Of passes within one episode (intraclass). Windows are spread over what happens in it, so they
are less alike than neighbours; with 3 episodes, about 27 windows that all pass decide a task."""
BOUND = math.log((1 - ERROR_RATE) / ERROR_RATE)
"""Log-likelihood ratio at which the test decides, to either side."""
STEP = 4
"""Windows that a task in doubt gets at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the windows of one task say about its pass rate, in effective counts."""

    passed: float
    trials: float

    @property
    def rate(self) -> float | None:
        """Pass rate, or None where no window was scored."""
        return self.passed / self.trials if self.trials else None

    @property
    def log_ratio(self) -> float:
        """Log-likelihood ratio of passing to failing.

        Source: Wald, "Sequential tests of statistical hypotheses", 1945.
        """
        failed = self.trials - self.passed
        return self.passed * math.log(PASSING / FAILING) + failed * math.log(
            (1 - PASSING) / (1 - FAILING)
        )

    @property
    def verdict(self) -> Verdict:
        """What the test has decided so far."""
        if self.log_ratio >= BOUND:
            return "pass"
        return "fail" if self.log_ratio <= -BOUND else "undecided"


def effective_count(weights: Sequence[float], episodes: Sequence[int]) -> float:
    """Return how many independent, equal windows say as much as these.

    n / (1 + (m - 1) * rho) for m windows of each of several episodes, with n the effective number
    of unequal weights and m that of an average window's episode.

    Args:
        weights: How many windows of the task each stands for.
        episodes: The number of each one's episode.

    Source: Kish, "Survey sampling", 1965, sections 5.4 and 11.7.
    """
    if not weights:
        return 0.0
    equal = math.fsum(weights) ** 2 / math.fsum(weight**2 for weight in weights)
    sizes = Counter(episodes).values()
    together = sum(size**2 for size in sizes) / len(episodes)
    return equal / (1 + (together - 1) * CORRELATION)


def evidence_of(
    passed: Sequence[bool], *, weights: Sequence[float], episodes: Sequence[int]
) -> Evidence:
    """Return what scored windows say, from whether each passed."""
    trials = effective_count(weights, episodes)
    if not trials:
        return Evidence(passed=0.0, trials=0.0)
    good = math.fsum(weight for weight, ok in zip(weights, passed, strict=True) if ok)
    return Evidence(passed=trials * (good / math.fsum(weights)), trials=trials)


def pass_interval(evidence: Evidence, *, passed: int, windows: int) -> Interval:
    """Return the pass rate with its 95 % interval (Wilson's, for effective counts).

    Args:
        evidence: Gives the rate and how sure it is.
        passed: How many windows passed, to be shown beside them.
        windows: How many windows were scored.
    """
    rate, trials = evidence.rate, evidence.trials
    if rate is None:
        return Interval(successes=0, trials=0, rate=None, low=0.0, high=1.0)
    low, high = wilson_bounds(rate, trials)
    return Interval(
        successes=passed,
        trials=windows,
        rate=rate,
        low=0.0 if passed == 0 else low,
        high=1.0 if passed == windows else high,
    )


def next_windows(
    evidence: Mapping[TaskId, Evidence], *, room: Mapping[TaskId, int], budget: int
) -> dict[TaskId, int]:
    """Share `budget` windows out to the undecided tasks, the most doubtful first.

    Each gets `STEP` at most, so that what they show can change who is in doubt; ask again until
    nothing is given.

    Args:
        evidence: What is known about each task.
        room: How many windows of each task are planned and not scored yet.
        budget: Most windows to give.
    """
    doubtful = sorted(
        (task for task, each in evidence.items() if each.verdict == "undecided" and room[task] > 0),
        key=lambda task: (abs(evidence[task].log_ratio), task),
    )
    given: dict[TaskId, int] = {}
    for task in doubtful:
        count = min(STEP, room[task], budget - sum(given.values()))
        if count > 0:
            given[task] = count
    return given
