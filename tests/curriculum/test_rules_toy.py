"""Fifty tasks of which six cannot be learned, as an equation: which rule wastes what on them."""

import math
import random
from dataclasses import dataclass, field
from functools import cache

from etude.core.types import TaskId
from etude.curriculum.lifecycle import advance, due
from etude.curriculum.lifecycle_config import LifecycleConfig
from etude.curriculum.rule_config import PlanConfig
from etude.curriculum.rules import built_in_rules
from etude.curriculum.rules_planning import next_plan
from etude.curriculum.rules_view import CurriculumRule, RuleView
from etude.curriculum.states import TaskEvidence, TaskState, count_statuses, untried_states

TASKS = [TaskId(f"d/{number}") for number in range(50)]
UNLEARNABLE = TASKS[:6]
WINDOWS = 28
PASSED = 40
LIFECYCLE, PLAN = LifecycleConfig(), PlanConfig()


@dataclass
class Toy:
    """Errors that fall with practice, each task at its own pace, and noisy looks at them."""

    rule: CurriculumRule
    chance: random.Random
    states: dict[TaskId, TaskState] = field(
        default_factory=lambda: untried_states(TASKS, budget=8.0)
    )
    practice: dict[TaskId, float] = field(default_factory=lambda: dict.fromkeys(TASKS, 0.0))
    """In shares that a task would be given between two scans if all were drawn alike."""

    def run(self, *, most: int) -> int:
        """Train until enough tasks have passed and return how many scans that took."""
        paces = {task: math.exp(self.chance.uniform(math.log(2), math.log(12))) for task in TASKS}
        plan: dict[TaskId, float] = {}
        draws = dict.fromkeys(TASKS, 0.0)
        for scan in range(most):
            looks = {task: [self._look(task, paces[task], 50 * scan)] for task in due(self.states)}
            self.states, _ = advance(self.states, looks, draws, step=50 * scan, config=LIFECYCLE)
            if count_statuses(self.states)["passed"] >= PASSED:
                return scan
            view = RuleView(states=self.states, frames=dict.fromkeys(TASKS, 100), plan=plan)
            plan = dict(next_plan(self.rule, view, PLAN).plan.weights)
            draws = {task: share * len(TASKS) for task, share in plan.items()}
            self.practice = {task: self.practice[task] + draws[task] for task in TASKS}
        return most

    @property
    def wasted(self) -> float:
        """Share of all draws that went to the tasks that cannot be learned."""
        return sum(self.practice[task] for task in UNLEARNABLE) / sum(self.practice.values())

    def _look(self, task: TaskId, pace: float, step: int) -> TaskEvidence:
        error = 1.0 if task in UNLEARNABLE else math.exp(-self.practice[task] / pace)
        rate = 1.0 / (1.0 + (error / 0.25) ** 3)
        return TaskEvidence(
            step=step,
            weights=f"toy@{step}",
            kind="open_loop",
            passed=float(sum(self.chance.random() < rate for _ in range(WINDOWS))),
            trials=float(WINDOWS),
            episodes=3,
            score=error * math.exp(self.chance.gauss(0.0, 0.05)),
        )


@cache
def toy(name: str) -> tuple[Toy, int]:
    made = Toy(rule=built_in_rules()[name], chance=random.Random(0))
    return made, made.run(most=60)


def test_the_default_wastes_little_and_is_faster_than_drawing_alike():
    default, scans = toy("learnability")
    _, uniform_scans = toy("uniform")

    assert default.wasted <= 0.15
    assert scans < uniform_scans < 60


def test_chasing_errors_spends_most_on_what_cannot_be_learned():
    wasted = {name: toy(name)[0].wasted for name in ("error", "learnability", "uniform")}

    assert max(wasted, key=lambda name: wasted[name]) == "error"
    assert wasted["error"] > 3 * wasted["learnability"]


def test_what_cannot_be_learned_never_passes_and_some_of_it_is_given_up():
    made, _ = toy("uniform")

    statuses = {made.states[task].status for task in UNLEARNABLE}
    assert "exhausted" in statuses
    assert statuses <= {"training", "exhausted"}
