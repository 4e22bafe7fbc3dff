"""From the weights of a rule to a plan that neither starves nor floods a task.

    q  = floors + (1 - sum of floors) * s / sum of s       the plan that is aimed at
    pi = keep * pi + (1 - keep) * q                        one update towards it

No share is over its cap or grows faster than allowed, and the effective number of tasks,
1 / (sum of squared shares), stays high enough. What one task may not take, the others get.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from etude.core.types import SamplingPlan, TaskId
from etude.curriculum.plan import uniform_plan
from etude.curriculum.rule_config import PlanConfig
from etude.curriculum.rules import built_in_rules
from etude.curriculum.rules_view import CurriculumRule, RuleView
from etude.curriculum.states import TaskState

_HALVINGS = 30
"""Of the interval in which a mixture is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan, and what is to be said about it."""

    plan: SamplingPlan
    warning: str = ""
    """Why the rule's weights could not be used; empty if they were."""


def next_plan(
    rule: CurriculumRule, view: RuleView, config: PlanConfig, *, initial: bool = False
) -> Planned:
    """Return the plan that `rule` leads to from the one in force.

    Args:
        rule: Weighs the tasks.
        view: What the rule sees.
        config: How far a plan may go.
        initial: The plan of the first scan, which has none to stay close to.
    """
    weights = rule.weights(view)
    if not rule.shaped:
        return mixture(weights, view.states)
    previous = None if initial or not view.plan else view.plan
    return plan_from(weights, view.states, previous, config)


def mixture(weights: Mapping[TaskId, float], states: Mapping[TaskId, TaskState]) -> Planned:
    """Return the plan of a fixed mixture, just as the weights say."""
    fault = _fault(weights, states)
    if fault:
        return _drawn_alike(states, fault)
    shares = _normalised([weights[task] for task in states])
    if not any(shares):
        return _drawn_alike(states, "no task has a weight over 0")
    return _plan(states, shares)


def plan_from(
    weights: Mapping[TaskId, float],
    states: Mapping[TaskId, TaskState],
    previous: Mapping[TaskId, float] | None,
    config: PlanConfig,
) -> Planned:
    """Return the plan after one update towards `weights`.

    Args:
        weights: How much each task wants practice; only ratios matter.
        states: Of every task that is planned.
        previous: Shares in force, or None for a plan that goes the whole way at once.
        config: How far a plan may go.
    """
    fault = _fault(weights, states)
    if fault:
        return _drawn_alike(states, fault)
    wishes = _normalised([weights[task] for task in states])
    settled = all(state.status in ("passed", "exhausted") for state in states.values())
    if not any(wishes) and not settled:
        return _drawn_alike(states, "no task has a weight over 0")
    floors = [_floor(state, config) / len(states) for state in states.values()]
    caps = [_cap(state, config) / len(states) for state in states.values()]
    aim = _aim(wishes, floors, caps, config)
    if previous is None:
        return _plan(states, aim)
    even = 1.0 / len(states)
    before = _normalised([previous.get(task, even) for task in states])
    return _plan(states, _update(_fill(before, caps, 1.0), aim, floors, caps, config))


def counterfactuals(
    view: RuleView, config: PlanConfig, rules: Mapping[str, CurriculumRule] | None = None
) -> dict[str, Mapping[TaskId, float]]:
    """Return the shares that every rule would aim at, for the log.

    Args:
        view: What all of them see.
        config: How far a plan may go.
        rules: By name; those that come with Etude if left out.
    """
    asked = built_in_rules() if rules is None else rules
    return {
        name: next_plan(rule, view, config, initial=True).plan.weights
        for name, rule in asked.items()
    }


def effective_tasks(shares: Sequence[float]) -> float:
    """Return how many tasks with equal shares would be as concentrated."""
    return 1.0 / math.fsum(share * share for share in shares)


def _floor(state: TaskState, config: PlanConfig) -> float:
    match state.status:
        case "untried" | "training":
            return config.training_floor * state.boost
        case "passed":
            return config.passed_floor * state.boost
        case "exhausted":
            return config.exhausted_floor


def _cap(state: TaskState, config: PlanConfig) -> float:
    """Return the largest share: less of it for what fails without ever having had a score."""
    unscored = state.failures > 0 and not state.history
    return min(config.cap, config.failing_cap) if unscored else config.cap


def _aim(
    wishes: Sequence[float], floors: Sequence[float], caps: Sequence[float], config: PlanConfig
) -> list[float]:
    """Return the plan to go to; of tasks that all live on their floors, the floors."""
    total = math.fsum(floors)
    if not any(wishes):
        return _fill(floors if total > 0.0 else [1.0] * len(floors), caps, 1.0)
    scale = min(1.0, config.most_floors / total) if total > 0.0 else 1.0
    least = [min(scale * floor, cap) for floor, cap in zip(floors, caps, strict=True)]
    room = [cap - floor for cap, floor in zip(caps, least, strict=True)]
    rest = 1.0 - math.fsum(least)
    even = 1.0 / len(wishes)

    def mixed(share: float) -> list[float]:
        blend = [(1.0 - share) * wish + share * even for wish in wishes]
        filled = _fill(blend, room, rest)
        return [floor + more for floor, more in zip(least, filled, strict=True)]

    return _least_mixture(mixed, config.least_effective * len(wishes))


def _update(
    before: Sequence[float],
    aim: Sequence[float],
    floors: Sequence[float],
    caps: Sequence[float],
    config: PlanConfig,
) -> list[float]:
    """Return the plan that lies on the way from `before` to `aim`."""
    smooth = [config.keep * b + (1.0 - config.keep) * a for b, a in zip(before, aim, strict=True)]
    most = [
        min(cap, max(config.growth * share, floor))
        for cap, share, floor in zip(caps, before, floors, strict=True)
    ]
    limited = _fill(smooth, [max(*each) for each in zip(most, before, strict=True)], 1.0)

    def mixed(share: float) -> list[float]:
        return [(1.0 - share) * a + share * b for a, b in zip(limited, before, strict=True)]

    least = config.least_effective * len(before)
    if effective_tasks(before) < least:
        return limited
    return _least_mixture(mixed, least)


def _least_mixture(mixed: Callable[[float], list[float]], least: float) -> list[float]:
    """Return `mixed(x)` for the least x in [0, 1] that has enough effective tasks, or for 1."""
    first = mixed(0.0)
    if effective_tasks(first) >= least:
        return first
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if effective_tasks(mixed(middle)) >= least:
            high = middle
        else:
            low = middle
    return mixed(high)


def _fill(weights: Sequence[float], most: Sequence[float], total: float) -> list[float]:
    """Share `total` out by weight, nobody getting more than its `most`.

    What is left when everyone with a weight is full goes to the others alike.
    """
    given = [0.0] * len(weights)
    for wanted in (list(weights), [1.0] * len(weights)):
        rest = total - math.fsum(given)
        hungry = [i for i, want in enumerate(wanted) if want > 0.0 and given[i] < most[i]]
        while hungry and rest > 0.0:
            scale = rest / math.fsum(wanted[i] for i in hungry)
            full = [i for i in hungry if given[i] + scale * wanted[i] >= most[i]]
            for i in full or hungry:
                more = most[i] - given[i] if full else scale * wanted[i]
                given[i] += more
                rest -= more
            hungry = [i for i in hungry if given[i] < most[i]] if full else []
    return given


def _normalised(weights: Sequence[float]) -> list[float]:
    """Return shares that sum to 1; all 0 where no weight is over 0."""
    largest = max(weights)
    if largest <= 0.0:
        return [0.0] * len(weights)
    scaled = [weight / largest for weight in weights]
    total = math.fsum(scaled)
    return [each / total for each in scaled]


def _fault(weights: Mapping[TaskId, float], states: Mapping[TaskId, TaskState]) -> str:
    for task in states:
        weight = weights.get(task, math.nan)
        if not math.isfinite(weight) or weight < 0.0:
            return f"the weight of task {task} is {weight}"
    return ""


def _drawn_alike(states: Mapping[TaskId, TaskState], why: str) -> Planned:
    warning = f"{why}: all tasks are drawn alike until the next plan"
    return Planned(plan=uniform_plan(tuple(states)), warning=warning)


def _plan(states: Mapping[TaskId, TaskState], shares: Sequence[float]) -> Planned:
    weights = dict(zip(states, _normalised(shares), strict=True))
    return Planned(plan=SamplingPlan(weights=weights))
