"""Looks at tasks, and runs of them, for tests of the curriculum."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from etude.core.types import TaskId
from etude.curriculum.lifecycle import advance
from etude.curriculum.lifecycle_config import LifecycleConfig
from etude.curriculum.states import (
    EvidenceKind,
    TaskEvidence,
    TaskState,
    Transition,
    untried_states,
)

TASK = TaskId("d/0")
CONFIG = LifecycleConfig()


def look(
    passed: float,
    trials: float,
    *,
    step: int = 0,
    kind: EvidenceKind = "rollout",
    episodes: int = 3,
    score: float | None = None,
    spent: float = 0.0,
) -> TaskEvidence:
    """One look; its score is the share that failed unless it is given."""
    return TaskEvidence(
        step=step,
        weights=f"run@{step}",
        kind=kind,
        passed=passed,
        trials=trials,
        episodes=episodes,
        score=1.0 - passed / trials if score is None else score,
        spent=spent,
    )


@dataclass(slots=True)
class OneTask:
    """A run of one task that is looked at every 50 steps."""

    state: TaskState = field(default_factory=lambda: TaskState(task=TASK))
    step: int = 0
    config: LifecycleConfig = CONFIG
    rollouts_decide: bool = False
    draws: float = 10.0

    def scan(self, *looks: TaskEvidence) -> list[Transition]:
        """Scan the task; without a look the scan fails."""
        self.step += 50
        return self._advance({TASK: [replace(each, step=self.step) for each in looks]})

    def skip(self) -> list[Transition]:
        """Let a scan pass the task over."""
        self.step += 50
        return self._advance({})

    def _advance(self, evidence: dict[TaskId, list[TaskEvidence]]) -> list[Transition]:
        states, transitions = advance(
            {TASK: self.state},
            evidence,
            {TASK: self.draws},
            step=self.step,
            config=self.config,
            rollouts_decide=self.rollouts_decide,
        )
        self.state = states[TASK]
        return transitions


def passed_task(kind: EvidenceKind = "rollout") -> OneTask:
    """A run whose task has passed, in 2 looks of 20 of 20 each."""
    run = OneTask()
    run.scan(look(20, 20, kind=kind))
    run.scan(look(20, 20, kind=kind))
    assert run.state.status == "passed"
    return run


def noisy_looks(
    rate: float, *, trials: int, looks: int, seed: int, kind: EvidenceKind
) -> Sequence[TaskEvidence]:
    """Looks at a task whose true pass rate is `rate`."""
    draw = random.Random(seed)
    return [
        look(sum(draw.random() < rate for _ in range(trials)), trials, kind=kind, episodes=trials)
        for _ in range(looks)
    ]


def states_of(**tasks: TaskState) -> dict[TaskId, TaskState]:
    """States by short name, e.g. `a=TaskState(...)` for the task "d/a"."""
    return {
        TaskId(f"d/{name}"): replace(state, task=TaskId(f"d/{name}"))
        for name, state in tasks.items()
    }


def fresh(count: int) -> dict[TaskId, TaskState]:
    """Tasks that nothing is known about."""
    return untried_states([TaskId(f"d/{number}") for number in range(count)])
