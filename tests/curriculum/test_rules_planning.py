import math
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.core.types import TaskId
from etude.curriculum.plan import check_plan
from etude.curriculum.rule_config import (
    LearnabilityConfig,
    PlanConfig,
    ProportionalConfig,
    UniformConfig,
)
from etude.curriculum.rules import LearnabilityRule, ProportionalRule, UniformRule, built_in_rules
from etude.curriculum.rules_planning import (
    counterfactuals,
    effective_tasks,
    mixture,
    next_plan,
    plan_from,
)
from etude.curriculum.rules_view import RuleView
from etude.curriculum.states import Status, TaskState
from task_looks import fresh, look, states_of

CONFIG = PlanConfig()
FREE = PlanConfig(least_effective=0.0)
NEW = TaskState(task=TaskId("d/?"))
FLOORS = {"untried": 0.35, "training": 0.35, "passed": 0.5, "exhausted": 0.2}


def with_status(*statuses: Status) -> dict[TaskId, TaskState]:
    return {
        task: replace(state, status=status)
        for (task, state), status in zip(fresh(len(statuses)).items(), statuses, strict=True)
    }


def floor_of(state: TaskState) -> float:
    """The least share of a task, as a multiple of an even one."""
    return FLOORS[state.status] * (1.0 if state.status == "exhausted" else state.boost)


def shares(weights: Mapping[TaskId, float]) -> list[float]:
    return list(weights.values())


def weigh(states: Mapping[TaskId, TaskState], *weights: float) -> dict[TaskId, float]:
    return dict(zip(states, weights, strict=True))


def test_the_first_plan_is_worked_out_by_hand():
    # Floors 0.35, 0.35, 0.5, 0.2 of a quarter: 0.0875, 0.0875, 0.125, 0.05, together 0.35;
    # the other 0.65 goes 3 : 1 to the two in work: 0.4875 and 0.1625 more.
    states = with_status("training", "training", "passed", "exhausted")

    planned = plan_from(weigh(states, 3, 1, 0, 0), states, None, CONFIG)

    assert planned.warning == ""
    assert shares(planned.plan.weights) == pytest.approx([0.575, 0.25, 0.125, 0.05])


def test_a_later_plan_goes_three_tenths_of_the_way():
    # 0.7 * 0.25 + 0.3 * (0.575, 0.25, 0.125, 0.05).
    states = with_status("training", "training", "passed", "exhausted")
    even = dict.fromkeys(states, 0.25)

    planned = plan_from(weigh(states, 3, 1, 0, 0), states, even, CONFIG)

    assert shares(planned.plan.weights) == pytest.approx([0.3475, 0.25, 0.2125, 0.19])


def test_no_share_grows_by_more_than_half_in_one_update():
    # The aim is 0.35 / 20 + 0.65 = 0.6675 cut to the cap 0.3; 0.7 * 0.05 + 0.3 * 0.3 = 0.125.
    states = with_status(*["training"] * 20)
    even = dict.fromkeys(states, 0.05)

    planned = plan_from(weigh(states, 1, *[0] * 19), states, even, FREE)

    assert shares(planned.plan.weights) == pytest.approx([0.075, *[0.925 / 19] * 19])


def test_one_task_never_gets_more_than_its_cap_and_the_others_get_the_rest_alike():
    states = with_status(*["training"] * 20)

    planned = plan_from(weigh(states, 1, *[0] * 19), states, None, FREE)

    assert shares(planned.plan.weights) == pytest.approx([0.3, *[0.7 / 19] * 19])


def test_a_plan_is_no_more_concentrated_than_a_third_of_its_tasks():
    states = with_status(*["training"] * 30)
    weights = weigh(states, 1, 1, 1, *[0] * 27)

    free = plan_from(weights, states, None, FREE)
    held = plan_from(weights, states, None, CONFIG)

    # 3 * (0.35 / 30 + 0.65 / 3 cut to 0.2), and 27 * 0.4 / 27.
    assert effective_tasks(shares(free.plan.weights)) == pytest.approx(1 / (3 * 0.04 + 0.16 / 27))
    assert effective_tasks(shares(held.plan.weights)) == pytest.approx(10, rel=1e-6)
    assert shares(held.plan.weights)[0] > shares(held.plan.weights)[3]


def test_when_every_task_is_settled_all_live_on_their_floors():
    states = with_status("passed", "passed", "exhausted")

    planned = plan_from(weigh(states, 0, 0, 0), states, None, CONFIG)

    assert planned.warning == ""
    assert shares(planned.plan.weights) == pytest.approx([0.5 / 1.2, 0.5 / 1.2, 0.2 / 1.2])


@pytest.mark.parametrize("passed", [8.0, 0.0])
def test_tasks_that_all_succeed_or_all_fail_are_drawn_alike(passed: float):
    states = {
        task: replace(state, status="training", history=(look(passed, 8),))
        for task, state in fresh(3).items()
    }
    settled = {task: replace(state, status="passed") for task, state in states.items()}
    rule = LearnabilityRule(LearnabilityConfig())

    for tasks in (states, settled):
        seen = RuleView(states=tasks, frames=dict.fromkeys(tasks, 10))
        planned = next_plan(rule, seen, CONFIG)
        assert shares(planned.plan.weights) == pytest.approx([1 / 3] * 3)
        assert planned.warning == ""


@pytest.mark.parametrize(
    ("weights", "warning"),
    [
        ((1.0, math.nan, 1.0), "the weight of task d/1 is nan"),
        ((1.0, math.inf, 1.0), "the weight of task d/1 is inf"),
        ((1.0, -0.5, 1.0), "the weight of task d/1 is -0.5"),
        ((0.0, 0.0, 0.0), "no task has a weight over 0"),
    ],
)
def test_weights_that_are_none_fall_back_to_uniform_with_a_warning(
    weights: tuple[float, ...], warning: str
):
    states = with_status("training", "passed", "training")
    skewed = weigh(states, 0.8, 0.1, 0.1)

    for planned in (
        plan_from(weigh(states, *weights), states, skewed, CONFIG),
        mixture(weigh(states, *weights), states),
    ):
        assert shares(planned.plan.weights) == [1 / 3] * 3
        assert planned.warning == f"{warning}: all tasks are drawn alike until the next plan"


def test_a_task_that_a_rule_leaves_out_is_a_fault_of_the_rule():
    states = with_status("training", "training")

    planned = plan_from({TaskId("d/0"): 1.0}, states, None, CONFIG)

    assert planned.warning.startswith("the weight of task d/1 is nan")


def test_a_task_that_no_scan_can_score_takes_over_nothing():
    # Three tasks have passed, the scan of the fourth always fails: 1.6 / 4 is the most it gets.
    passed = replace(NEW, status="passed", history=(look(8, 8),))
    states = states_of(a=passed, b=passed, c=passed, d=replace(NEW, failures=1))
    seen = RuleView(states=states, frames=dict.fromkeys(states, 10))

    planned = next_plan(LearnabilityRule(LearnabilityConfig()), seen, CONFIG)

    assert shares(planned.plan.weights) == pytest.approx([0.2, 0.2, 0.2, 0.4])


def test_a_share_that_a_failed_scan_makes_too_large_is_cut_at_once():
    states = with_status("passed", "passed", "passed", "untried")
    states = {task: replace(s, failures=s.status == "untried") for task, s in states.items()}
    before = weigh(states, 0.1, 0.1, 0.1, 0.7)

    planned = plan_from(weigh(states, 0, 0, 0, 1), states, before, FREE)

    assert shares(planned.plan.weights) == pytest.approx([0.2, 0.2, 0.2, 0.4])


def test_six_untried_tasks_among_fifty_get_half_of_the_first_plan():
    # 44 floors of 0.01 are 0.44; the other six share what is left of 1.
    states = with_status(*["passed"] * 44, *["untried"] * 6)
    seen = RuleView(states=states, frames=dict.fromkeys(states, 10))

    planned = next_plan(LearnabilityRule(LearnabilityConfig()), seen, CONFIG)

    assert sum(shares(planned.plan.weights)[44:]) == pytest.approx(0.56)


def test_a_fixed_mixture_is_taken_as_it_is():
    states = with_status("training", "passed", "exhausted")
    seen = RuleView(
        states=states, frames=weigh(states, 10, 20, 70), plan=dict.fromkeys(states, 1 / 3)
    )

    uniform = next_plan(UniformRule(UniformConfig()), seen, CONFIG)
    by_frames = next_plan(ProportionalRule(ProportionalConfig()), seen, CONFIG)

    assert shares(uniform.plan.weights) == [1 / 3] * 3
    assert shares(by_frames.plan.weights) == pytest.approx([0.1, 0.2, 0.7])


def test_every_rule_says_what_it_would_have_chosen():
    states = with_status("training", "untried", "passed")
    seen = RuleView(states=states, frames=dict.fromkeys(states, 10), plan=weigh(states, 1, 0, 0))

    chosen = counterfactuals(seen, CONFIG)

    assert list(chosen) == list(built_in_rules())
    for weights in chosen.values():
        assert math.fsum(weights.values()) == pytest.approx(1.0)
    assert shares(chosen["uniform"]) == [1 / 3] * 3


tasks = st.lists(
    st.tuples(
        st.sampled_from(["untried", "training", "passed", "exhausted"]),
        st.sampled_from([0.0, 1e-300, 0.3, 1.0, 7.0, 1e300]),
        st.sampled_from([1.0, 1.6, 4.0]),
        st.sampled_from([0, 0, 2]),
    ),
    min_size=1,
    max_size=15,
)


@settings(max_examples=60, deadline=None)
@given(drawn=tasks, updates=st.integers(0, 4))
def test_plans_are_distributions_within_their_bounds(
    drawn: list[tuple[Status, float, float, int]], updates: int
):
    count = len(drawn)
    states = {
        task: replace(state, status=status, boost=boost, failures=failures)
        for (task, state), (status, _, boost, failures) in zip(
            fresh(count).items(), drawn, strict=True
        )
    }
    weights = {task: row[1] for task, row in zip(states, drawn, strict=True)}
    if not any(weights.values()):
        weights[TaskId("d/0")] = 1.0
    turned = dict(zip(weights, reversed(weights.values()), strict=True))

    planned = plan_from(weights, states, None, CONFIG)
    for place in range(updates):
        before = planned.plan.weights
        planned = plan_from(turned if place % 2 else weights, states, before, CONFIG)
        for task, share in planned.plan.weights.items():
            floor = floor_of(states[task]) / count
            assert share <= max(1.5 * before[task], floor) + 1e-9

    check_plan(planned.plan)
    assert planned.warning == ""
    scale = min(1.0, 0.75 * count / sum(map(floor_of, states.values())))
    for task, share in planned.plan.weights.items():
        cap = (1.6 if states[task].failures else 6.0) / count
        floor = floor_of(states[task]) * scale / count
        assert share <= cap + 1e-9
        assert share >= min(floor, cap) - 1e-9
    assert effective_tasks(shares(planned.plan.weights)) >= count / 3 - 1e-6


@given(
    before=st.lists(st.floats(0, 1), min_size=5, max_size=5).filter(any),
    wishes=st.lists(st.floats(0, 1), min_size=5, max_size=5).filter(any),
    order=st.permutations(range(5)),
)
def test_whatever_the_plan_before_the_next_one_is_one_and_goes_with_its_tasks(
    before: list[float], wishes: list[float], order: list[int]
):
    states = with_status("training", "passed", "exhausted", "untried", "training")
    names = list(states)
    mixed = {names[place]: states[names[place]] for place in order}

    planned = plan_from(weigh(states, *wishes), states, weigh(states, *before), CONFIG)
    other = plan_from(weigh(states, *wishes), mixed, weigh(states, *before), CONFIG)

    check_plan(planned.plan)
    assert dict(other.plan.weights) == pytest.approx(dict(planned.plan.weights), abs=1e-9)
