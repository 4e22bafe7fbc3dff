import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.types import TaskId
from etude.curriculum.rule_config import (
    ErrorConfig,
    ExcessLossConfig,
    LearnabilityConfig,
    ProgressConfig,
    ProportionalConfig,
    TemperatureConfig,
    UniformConfig,
)
from etude.curriculum.rules import (
    ErrorRule,
    ExcessLossRule,
    LearnabilityRule,
    ProgressRule,
    ProportionalRule,
    TemperatureRule,
    UniformRule,
    built_in_rules,
)
from etude.curriculum.rules_view import RuleView
from etude.curriculum.states import TaskState
from task_looks import fresh, look, states_of

NEW = TaskState(task=TaskId("d/?"))
A, B, C, D = (TaskId(f"d/{name}") for name in "abcd")


def training(*shares: float, boost: float = 1.0) -> TaskState:
    """A task in work that was looked at once for each share of 8 windows that passed."""
    history = tuple(
        look(8 * share, 8, step=50 * place, kind="open_loop") for place, share in enumerate(shares)
    )
    return replace(NEW, status="training", history=history, boost=boost)


def view(**tasks: TaskState) -> RuleView:
    states = states_of(**tasks)
    return RuleView(states=states, frames=dict.fromkeys(states, 100))


def test_learnability_is_worked_out_by_hand():
    # p = (4 + 1) / (8 + 2) = 0.5: (0.5 + 0.02) * 0.5 = 0.26; p = 0.1: (0.9 + 0.02) * 0.5.
    rule = LearnabilityRule(LearnabilityConfig())

    weights = rule.weights(
        view(a=training(0.5), b=training(0.0), c=NEW, d=replace(NEW, status="passed"))
    )

    assert weights == pytest.approx({A: 0.26, B: 0.46, C: 0.46, D: 0.0})


def test_what_was_hardly_practised_is_favoured():
    # The median task has taken 100 draws, so that c lags by 1 and d by half.
    # All fail at 0.9: a weighs (0.9 + 0.02) * 0.5 = 0.46, c twice and d 1.5 times as much.
    old = replace(training(0.0), spent=100.0)
    rule = LearnabilityRule(LearnabilityConfig())

    weights = rule.weights(
        view(
            a=old,
            b=replace(old, status="passed"),
            c=training(0.0),
            d=replace(old, spent=50.0),
            e=old,
        )
    )

    assert [weights[task] for task in (A, B, C, D)] == pytest.approx([0.46, 0.0, 0.92, 0.69])


def test_learnability_doubles_and_more_while_a_task_gets_better():
    # A steady fall of the score is worth 3 standard errors: 0.5 + 3 / 2 = 2 instead of 0.5.
    history = tuple(
        look(4, 8, step=50 * place, kind="open_loop", score=0.8**place) for place in range(12)
    )
    better = replace(NEW, status="training", history=history)
    still = replace(better, history=tuple(replace(each, score=0.5) for each in history))

    weights = LearnabilityRule(LearnabilityConfig()).weights(view(a=better, b=still))

    assert weights[A] == pytest.approx(4 * weights[B])


def test_a_forgotten_task_weighs_more():
    weights = LearnabilityRule(LearnabilityConfig()).weights(
        view(a=training(0.5, boost=1.6), b=training(0.5))
    )

    assert weights[A] == pytest.approx(1.6 * weights[B])


def test_tasks_that_nobody_knows_weigh_alike():
    rule = LearnabilityRule(LearnabilityConfig())

    assert rule.weights(view(a=NEW, b=NEW)) == {A: 1.0, B: 1.0}


def test_progress_gives_what_is_unknown_the_most_and_what_is_settled_nothing():
    weights = ProgressRule(ProgressConfig()).weights(
        view(a=NEW, b=training(0.5, 0.5, 0.5), c=replace(NEW, status="exhausted"))
    )

    assert weights == pytest.approx({A: 3.1, B: 0.1, C: 0.0})


def test_error_is_a_softmax_in_which_the_unknown_counts_as_the_worst():
    # Scores 0.5 and 1.0, apart by two temperatures of 0.25.
    weights = ErrorRule(ErrorConfig()).weights(view(a=training(0.5), b=training(0.0), c=NEW))

    assert weights == pytest.approx({A: math.exp(-2), B: 1.0, C: 1.0})


def test_excess_loss_multiplies_the_shares_in_force():
    seen = view(a=training(0.5), b=training(0.5))
    seen = replace(
        seen,
        plan={A: 0.5, B: 0.5},
        losses={A: 0.3, B: 0.1},
        references={A: 0.3 - math.log(3), B: 0.2},
    )

    weights = ExcessLossRule(ExcessLossConfig(mix=0.0)).weights(seen)

    assert weights == pytest.approx({A: 0.75, B: 0.25})


def test_excess_loss_without_a_reference_is_what_was_lost_again():
    # The score of a went from 0.25 to 0.75, that of b fell.
    seen = view(a=training(0.75, 0.25), b=training(0.25, 0.75))

    weights = ExcessLossRule(ExcessLossConfig(mix=0.0)).weights(seen)

    assert weights[A] / weights[B] == pytest.approx(math.exp(0.5))


def test_fixed_mixtures_look_at_frames_only():
    seen = replace(view(a=training(0.9), b=NEW), frames={A: 100, B: 900})

    assert UniformRule(UniformConfig()).weights(seen) == {A: 1.0, B: 1.0}
    assert ProportionalRule(ProportionalConfig()).weights(seen) == {A: 100.0, B: 900.0}
    assert TemperatureRule(TemperatureConfig()).weights(seen) == {A: 10.0, B: 30.0}


@pytest.mark.parametrize("name", sorted(built_in_rules()))
@given(
    shares=st.lists(st.lists(st.floats(0, 1), max_size=6), min_size=1, max_size=8),
    data=st.data(),
)
def test_weights_are_finite_and_go_with_their_tasks(
    name: str, shares: list[list[float]], data: st.DataObject
):
    rule = built_in_rules()[name]
    states = {
        task: replace(training(*each) if each else NEW, task=task)
        for task, each in zip(fresh(len(shares)), shares, strict=True)
    }
    frames = {task: 10 + place for place, task in enumerate(states)}
    order = data.draw(st.permutations(list(states)))

    weights = rule.weights(RuleView(states=states, frames=frames))
    shuffled = rule.weights(RuleView(states={task: states[task] for task in order}, frames=frames))

    assert all(math.isfinite(each) and each >= 0.0 for each in weights.values())
    assert list(shuffled) == list(order)
    assert shuffled == pytest.approx(dict(weights), rel=1e-12)


@pytest.mark.parametrize("name", sorted(built_in_rules()))
def test_equal_tasks_weigh_alike(name: str):
    weights = built_in_rules()[name].weights(
        view(a=training(0.3, 0.4), b=training(0.3, 0.4), c=training(0.3, 0.4))
    )

    assert len(set(weights.values())) == 1
