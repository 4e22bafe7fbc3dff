"""What a rule sees of a run, and the signals that it can read from it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol, runtime_checkable

from etude.core.types import TaskId
from etude.curriculum.rule_config import ProgressConfig
from etude.curriculum.states import EvidenceKind, TaskEvidence, TaskState, deciding, discounted


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleView:
    """Everything that a rule may depend on."""

    states: Mapping[TaskId, TaskState]
    """Of every task of the run, in the order of the plan."""
    frames: Mapping[TaskId, int]
    """Frames that each task can be trained on."""
    plan: Mapping[TaskId, float] = field(default_factory=dict[TaskId, float])
    """Shares in force; empty before the first plan."""
    losses: Mapping[TaskId, float] = field(default_factory=dict[TaskId, float])
    """Mean training loss of each task since the last plan."""
    references: Mapping[TaskId, float] = field(default_factory=dict[TaskId, float])
    """The same of a policy that was trained on all tasks alike."""


@runtime_checkable
class CurriculumRule(Protocol):
    """Decides what to practise. Pure: equal views give equal weights."""

    @property
    def shaped(self) -> bool:
        """Whether floors, caps and smoothing apply; a fixed mixture is taken as it is."""
        ...

    def weights(self, view: RuleView) -> Mapping[TaskId, float]:
        """Return how much each task of the view wants practice; only ratios matter.

        Where no weight is over 0, settled tasks get their floors and others are drawn alike.
        """
        ...


def looks_at(state: TaskState) -> tuple[TaskEvidence, ...]:
    """Return the looks that say most about success: episodes if there are any, else windows."""
    return deciding(state.history, "rollout") or deciding(state.history, "open_loop")


def pass_rate(state: TaskState, *, discount: float, look_steps: int) -> float | None:
    """Return the expected pass rate, or None of a task that nothing is known about.

    Args:
        state: Of the task.
        discount: How much a look counts after `look_steps` more steps.
        look_steps: Steps between two looks.
    """
    looks = looks_at(state)
    if not looks:
        return None
    return discounted(looks, discount=discount, look_steps=look_steps).rate


def scores_of(state: TaskState) -> tuple[float, ...]:
    """Return the scores of a task, oldest first: of windows, or of episodes if there are more."""
    kinds: tuple[EvidenceKind, EvidenceKind] = ("open_loop", "rollout")
    windows, episodes = (
        tuple(each.score for each in deciding(state.history, kind) if each.score is not None)
        for kind in kinds
    )
    return windows if len(windows) >= len(episodes) else episodes


def progress_of(state: TaskState, config: ProgressConfig) -> float:
    """Return by how many standard errors a fast and a slow mean of the log score differ.

    Both means weigh the looks geometrically from the same first one, so their difference is a
    weighted sum of looks whose weights add up to 0: without progress it is 0, up to noise. The
    noise is that of successive differences, which a steady trend hardly touches.

    Source: von Neumann, "Distribution of the ratio of the mean square successive difference to
    the variance", 1941, for the noise.
    """
    logs = [math.log(max(score, 0.0) + config.score_floor) for score in scores_of(state)]
    if len(logs) < config.least_looks:
        return 0.0
    fast, slow = _weights(len(logs), config.fast), _weights(len(logs), config.slow)
    gaps = [a - b for a, b in zip(fast, slow, strict=True)]
    steps = [(after - before) ** 2 for before, after in pairwise(logs)]
    noise = max(math.sqrt(math.fsum(steps) / (2 * len(steps))), config.noise_floor)
    error = noise * math.sqrt(math.fsum(gap * gap for gap in gaps))
    ratio = abs(math.fsum(g * each for g, each in zip(gaps, logs, strict=True))) / error
    return min(ratio, config.most_errors) if ratio >= config.least_errors else 0.0


def _weights(looks: int, share: float) -> list[float]:
    """Return how much each look counts in a running mean, oldest first."""
    kept = [(1.0 - share) ** age for age in range(looks - 1, -1, -1)]
    return [kept[0], *(share * each for each in kept[1:])]
