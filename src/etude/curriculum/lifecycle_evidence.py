"""What the looks at one task prove: that it passes, fails, gets better, or got better."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from etude.core.statistics import beta_share, student_t95
from etude.curriculum.lifecycle_config import LifecycleConfig
from etude.curriculum.states import (
    Counts,
    EvidenceKind,
    TaskEvidence,
    TaskState,
    deciding,
    discounted,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How likely a task passes or fails, after a look at it."""

    kind: EvidenceKind
    counts: Counts
    passing: float
    """Chance that the pass rate is at least `LifecycleConfig.passing`."""
    failing: float
    """Chance that it is under `LifecycleConfig.failing`."""
    failing_now: float
    """The same by the newest look alone."""
    enough: bool
    """Whether the evidence comes from enough episodes to pass a task."""


def judge(
    state: TaskState, *, step: int, kind: EvidenceKind, config: LifecycleConfig
) -> Judgement | None:
    """Judge a task by its looks of one kind, or return None where it has none.

    Episodes of different looks are different ones, so they add up. Windows are mostly the same
    ones again, so only the share that was drawn anew does.
    """
    looks = deciding(state.history, kind, step=step)
    if not looks:
        return None
    discount = config.discount if kind == "rollout" else config.panel_discount
    counts = discounted(looks, discount=discount, look_steps=config.look_steps)
    newest = looks[-1]
    episodes = counts.episodes if kind == "rollout" else newest.episodes
    return Judgement(
        kind=kind,
        counts=counts,
        passing=1.0 - chance_under(config.passing, counts.passed, counts.trials),
        failing=chance_under(config.failing, counts.passed, counts.trials),
        failing_now=chance_under(config.failing, newest.passed, newest.trials),
        enough=episodes >= config.episodes,
    )


def chance_under(rate: float, passed: float, trials: float) -> float:
    """Return how likely the true pass rate is under `rate`, if every rate was as likely before.

    Args:
        rate: In [0, 1].
        passed: Effective number that passed.
        trials: Effective number that was tried.
    """
    return beta_share(rate, passed + 1.0, trials - passed + 1.0)


def most_gain(state: TaskState, *, step: int, config: LifecycleConfig) -> float:
    """Return the most by which one more budget could improve the score, infinite if unknown.

    It is the upper end of the 95 % interval of the line through the scores since the last
    transition, and within the last budget, by the draws that had been spent.
    """
    looks = [
        each
        for each in _scored(state.history, step=step, least=config.trend_looks)
        if each.step >= state.since_step and each.spent >= state.spent - state.budget
    ]
    if len(looks) < config.trend_looks:
        return math.inf
    mean_spent = math.fsum(each.spent for each in looks) / len(looks)
    mean_score = math.fsum(_score(each) for each in looks) / len(looks)
    across = [each.spent - mean_spent for each in looks]
    down = [mean_score - _score(each) for each in looks]
    spread = math.fsum(x * x for x in across)
    if spread == 0.0:
        return math.inf
    slope = math.fsum(x * y for x, y in zip(across, down, strict=True)) / spread
    rest = math.fsum((y - slope * x) ** 2 for x, y in zip(across, down, strict=True))
    degrees = len(looks) - 2
    error = math.sqrt(rest / degrees / spread)
    return (slope + _t95(degrees) * error) * state.budget


def probe_gain(state: TaskState, *, step: int) -> tuple[float, float]:
    """Return by how much the score has improved since the last transition, and its error.

    Without a look from before or after there is no gain, and its error is infinite.
    """
    looks = _scored(state.history, step=step, least=2)
    before = [_score(each) for each in looks if each.step <= state.since_step]
    if not before or looks[-1].step <= state.since_step:
        return 0.0, math.inf
    level = math.fsum(before) / len(before)
    squares = math.fsum((score - level) ** 2 for score in before)
    scatter = squares / (len(before) - 1) if len(before) > 1 else 0.0
    noise = max(scatter, _rollout_variance(looks[-1]))
    return level - _score(looks[-1]), math.sqrt(noise * (1.0 + 1.0 / len(before)))


@cache
def _t95(degrees: int) -> float:
    return student_t95(degrees)


def _rollout_variance(look: TaskEvidence) -> float:
    """Return the variance of a success rate; of a window error only the scatter is known."""
    if look.kind == "open_loop":
        return 0.0
    rate = (look.passed + 1.0) / (look.trials + 2.0)
    return rate * (1.0 - rate) / look.trials


def _scored(history: Sequence[TaskEvidence], *, step: int, least: int) -> tuple[TaskEvidence, ...]:
    """Return the looks that have a score: of windows, which are less noisy, if there are enough."""
    windows, episodes = (
        tuple(each for each in deciding(history, kind, step=step) if each.score is not None)
        for kind in ("open_loop", "rollout")
    )
    return windows if len(windows) >= least else episodes


def _score(look: TaskEvidence) -> float:
    return 0.0 if look.score is None else look.score
