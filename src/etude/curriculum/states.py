"""What is known about each task while a run practises it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from etude.core.types import ContentKey, TaskId

Status = Literal["untried", "training", "passed", "exhausted"]
EvidenceKind = Literal["rollout", "open_loop"]

_ROUNDING = 1e-9
"""By how much weighted counts that should be equal may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvidence:
    """What one scan says about one task, and about which weights it says so."""

    step: int
    """Optimiser steps that the weights had seen."""
    weights: ContentKey | str
    """Identity of the weights; "run_id@step" where they were scored while training."""
    kind: EvidenceKind
    passed: float
    """Effective number of windows or episodes that passed."""
    trials: float
    """Effective number that was tried; correlated windows count less than one each."""
    episodes: int
    """Episodes that the windows lie in, or that were played."""
    score: float | None
    """Error, lower is better: GMSE of windows, 1 - success of episodes."""
    spent: float = 0.0
    """Draws that the task had taken; `lifecycle.advance` fills it in."""
    stale: bool = False
    """The scores are those of other weights than the ones in use, and decide nothing."""

    @property
    def usable(self) -> bool:
        """Whether anything can be concluded: something was tried, and every number is finite."""
        numbers = (self.passed, self.trials, 0.0 if self.score is None else self.score)
        tried = all(map(math.isfinite, numbers)) and self.trials > 0.0
        return tried and 0.0 <= self.passed <= self.trials * (1.0 + _ROUNDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """Where a task stands, and everything its next transition depends on."""

    task: TaskId
    status: Status = "untried"
    proxy: bool = False
    """It passed on open-loop evidence only: reads "passed (proxy)"."""
    since_step: int = 0
    """Step of the last transition."""
    spent: float = 0.0
    """Draws that it has taken."""
    budget: float = 0.0
    """Draws after which it is exhausted, unless it still gets better; 0 is no limit."""
    history: tuple[TaskEvidence, ...] = ()
    """Evidence of bounded length, newest last; what is older is thinned out."""
    streak: int = 0
    """Passing looks in a row."""
    streak_step: int = 0
    """Step of the last look that the streak counts."""
    doubts: int = 0
    """Failing looks in a row at a task that has passed."""
    boost: float = 1.0
    """Factor of its share, over 1 after it was forgotten."""
    recheck_in: int = 1
    """In which scan from now on it is looked at again; 1 is the next one."""
    recheck_every: int = 1
    """Scans between two looks, as long as nothing speaks against it."""
    failures: int = 0
    """Scans in a row that gave no score."""
    reason: str = ""
    """Why the last transition happened."""

    @property
    def label(self) -> str:
        """The status as a person reads it."""
        return f"{self.status} (proxy)" if self.proxy else self.status


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One task's change of status."""

    task: TaskId
    step: int
    before: Status
    after: Status
    reason: str
    evidence: TaskEvidence | None
    """The look that decided it; None where a user did."""


def untried_states(
    tasks: Sequence[TaskId], *, budget: float = 0.0, step: int = 0
) -> dict[TaskId, TaskState]:
    """Return the states of tasks that nothing is known about.

    Args:
        tasks: In the order of the plan.
        budget: Draws that each of them may take before it must get better; 0 is no limit.
        step: When they joined.
    """
    return {task: TaskState(task=task, budget=budget, since_step=step) for task in tasks}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Passes of several looks, each counting as much as it still says."""

    passed: float
    trials: float
    episodes: int

    @property
    def rate(self) -> float:
        """Mean of the posterior from an even prior."""
        return (self.passed + 1.0) / (self.trials + 2.0)


def deciding(
    history: Sequence[TaskEvidence], kind: EvidenceKind, *, step: int | None = None
) -> tuple[TaskEvidence, ...]:
    """Return the evidence of one kind that is about the weights in use, oldest first.

    What was seen after `step` belongs to a future that a resumed run has left behind.
    """
    return tuple(
        each
        for each in history
        if each.kind == kind and not each.stale and (step is None or each.step <= step)
    )


def discounted(looks: Sequence[TaskEvidence], *, discount: float, look_steps: int) -> Counts:
    """Return what looks of one kind say together about the weights of the newest.

    Args:
        looks: Oldest first.
        discount: How much a look counts after `look_steps` more steps.
        look_steps: Steps between two looks.
    """
    if not looks:
        return Counts(passed=0.0, trials=0.0, episodes=0)
    newest = looks[-1].step
    shares = [discount ** ((newest - each.step) / look_steps) for each in looks]
    return Counts(
        passed=math.fsum(s * each.passed for s, each in zip(shares, looks, strict=True)),
        trials=math.fsum(s * each.trials for s, each in zip(shares, looks, strict=True)),
        episodes=sum(each.episodes for each in looks),
    )


def remember(
    history: tuple[TaskEvidence, ...], look: TaskEvidence, *, most: int
) -> tuple[TaskEvidence, ...]:
    """Return the history with `look` at its end, thinned to `most` looks.

    The newer half stays whole. Of the older one, the look goes whose neighbours are closest, so
    that what is left still spans the whole time; the first stays for good.
    """
    longer = (*history, look)
    if len(longer) <= most:
        return longer
    older = range(1, max(2, len(longer) - most // 2))
    drop = min(older, key=lambda place: longer[place + 1].step - longer[place - 1].step)
    return longer[:drop] + longer[drop + 1 :]


def count_statuses(states: Mapping[TaskId, TaskState]) -> dict[Status, int]:
    """Return how many tasks have each status."""
    counts: dict[Status, int] = {"untried": 0, "training": 0, "passed": 0, "exhausted": 0}
    for state in states.values():
        counts[state.status] += 1
    return counts
