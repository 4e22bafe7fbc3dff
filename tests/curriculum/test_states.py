import json
from dataclasses import asdict, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.types import TaskId
from etude.curriculum.states import (
    TaskEvidence,
    TaskState,
    count_statuses,
    deciding,
    discounted,
    remember,
    untried_states,
)
from task_looks import look


def test_a_task_begins_untried_with_its_budget_and_nothing_spent():
    states = untried_states([TaskId("d/0"), TaskId("d/10")], budget=640.0, step=100)

    assert list(states) == ["d/0", "d/10"]
    state = states[TaskId("d/10")]
    assert (state.status, state.budget, state.spent, state.since_step) == ("untried", 640, 0, 100)
    assert state.label == "untried"


def test_a_proxy_reads_so():
    state = TaskState(task=TaskId("d/0"), status="passed", proxy=True)

    assert state.label == "passed (proxy)"


def test_keys_are_still_the_same_two_after_two_journeys_through_json():
    states = untried_states([TaskId("d/0"), TaskId("d/10")])
    for spent in (1.0, 5.0):
        text = json.dumps({task: asdict(state) for task, state in states.items()}, allow_nan=False)
        states = {
            TaskId(task): TaskState(**{**fields, "history": ()})
            for task, fields in json.loads(text).items()
        }
        ten = TaskId("d/10")
        states[ten] = replace(states[ten], spent=spent)

    assert {task: state.spent for task, state in states.items()} == {"d/0": 0.0, "d/10": 5.0}


@pytest.mark.parametrize(
    ("passed", "trials", "score"),
    [(0, 0, 0.1), (3, 2, 0.1), (-1, 2, 0.1), (float("nan"), 4, 0.1), (1, 4, float("inf"))],
)
def test_a_look_without_a_trial_or_with_a_number_that_is_none_is_not_usable(
    passed: float, trials: float, score: float
):
    assert not look(passed, trials, score=score).usable
    assert look(2, 4).usable


def test_a_look_of_which_all_passed_may_be_over_its_count_by_rounding():
    assert look(19.999999999999996, 19.999999999999993).usable


def test_looks_count_less_the_older_they_are():
    # 4 + 0.6 * 2 = 5.2 of 5 + 0.6 * 5 = 8 after 50 steps, 0.36 of it after 100.
    looks = [look(2, 5, step=0), look(4, 5, step=50)]

    counts = discounted(looks, discount=0.6, look_steps=50)
    later = discounted([looks[0], look(4, 5, step=100)], discount=0.6, look_steps=50)

    assert (counts.passed, counts.trials, counts.episodes) == (pytest.approx(5.2), 8.0, 6)
    assert counts.rate == pytest.approx(6.2 / 10)
    assert later.trials == pytest.approx(5 + 0.36 * 5)
    assert discounted([], discount=0.6, look_steps=50).rate == 0.5


def test_stale_looks_other_kinds_and_the_future_decide_nothing():
    right = look(1, 2, step=50)
    history = (
        look(1, 2, step=0, kind="open_loop"),
        replace(look(1, 2, step=10), stale=True),
        right,
        look(1, 2, step=1000),
    )

    assert deciding(history, "rollout", step=900) == (right,)


def test_a_long_history_keeps_its_first_look_its_newest_ones_and_spans_what_lies_between():
    history: tuple[TaskEvidence, ...] = ()
    for step in range(0, 2000, 10):
        history = remember(history, look(1, 2, step=step), most=8)

    steps = [each.step for each in history]
    assert len(steps) == 8
    assert steps[0] == 0
    assert steps[-4:] == [1960, 1970, 1980, 1990]
    assert max(b - a for a, b in pairwise(steps)) <= 1600


@given(gaps=st.lists(st.integers(1, 1000), min_size=1, max_size=60), most=st.integers(4, 24))
def test_a_history_is_ordered_and_never_over_its_length(gaps: list[int], most: int):
    history: tuple[TaskEvidence, ...] = ()
    step = 0
    for gap in gaps:
        step += gap
        history = remember(history, look(1, 2, step=step), most=most)

    steps = [each.step for each in history]
    assert len(steps) == min(most, len(gaps))
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1]) == (gaps[0], step)


def test_statuses_are_counted_also_those_that_nobody_has():
    states = {TaskId("d/0"): TaskState(task=TaskId("d/0"), status="passed")}

    assert count_statuses(states) == {"untried": 0, "training": 0, "passed": 1, "exhausted": 0}
