import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.curriculum.lifecycle_evidence import chance_under, judge, most_gain, probe_gain
from etude.curriculum.states import EvidenceKind, TaskEvidence, TaskState
from task_looks import CONFIG, TASK, look


def scored(*scores: float, kind: EvidenceKind = "open_loop") -> tuple[TaskEvidence, ...]:
    """Looks 50 steps and 100 draws apart."""
    return tuple(
        look(1, 10, step=50 * place, kind=kind, score=score, spent=100.0 * place)
        for place, score in enumerate(scores)
    )


def state_of(
    *history: TaskEvidence, budget: float = 400.0, spent: float = 400.0, since_step: int = 0
) -> TaskState:
    return TaskState(
        task=TASK,
        status="training",
        budget=budget,
        spent=spent,
        since_step=since_step,
        history=history,
    )


@pytest.mark.parametrize(
    ("rate", "passed", "trials", "chance"),
    [(0.85, 19, 19, 0.85**20), (0.5, 0, 0, 0.5), (0.5, 1, 4, 13 / 16), (0.8, 0, 4, 1 - 0.2**5)],
)
def test_chances_are_those_of_heads_in_throws(
    rate: float, passed: float, trials: float, chance: float
):
    assert chance_under(rate, passed, trials) == pytest.approx(chance)


@given(passed=st.floats(0, 50), failed=st.floats(0, 50))
def test_one_more_pass_makes_a_low_rate_less_likely(passed: float, failed: float):
    before = chance_under(0.8, passed, passed + failed)

    assert chance_under(0.8, passed + 1, passed + failed + 1) <= before + 1e-9
    assert chance_under(0.8, passed, passed + failed + 1) >= before - 1e-9


def test_a_task_without_a_look_of_the_kind_is_not_judged():
    assert judge(state_of(), step=0, kind="rollout", config=CONFIG) is None
    assert judge(state_of(*scored(0.5)), step=0, kind="rollout", config=CONFIG) is None


def test_episodes_add_up_and_windows_hardly_do():
    played = state_of(look(9, 10, step=0), look(9, 10, step=50))
    predicted = state_of(
        look(9, 10, step=0, kind="open_loop"), look(9, 10, step=50, kind="open_loop")
    )

    by_episodes = judge(played, step=50, kind="rollout", config=CONFIG)
    by_windows = judge(predicted, step=50, kind="open_loop", config=CONFIG)

    assert by_episodes is not None
    assert by_windows is not None
    assert (by_episodes.counts.trials, by_episodes.counts.episodes) == (16.0, 6)
    assert by_windows.counts.trials == 12.0


def test_the_most_that_a_straight_line_gains_is_its_slope_times_the_budget():
    # 0.02 every 100 draws, without any scatter.
    gain = most_gain(state_of(*scored(0.5, 0.48, 0.46, 0.44, 0.42)), step=200, config=CONFIG)

    assert gain == pytest.approx(0.08)


def test_scatter_widens_what_may_still_be_gained():
    # Around 0.5 by (+, -, -, +) 0.01: slope 0, its error sqrt(0.0004 / 2 / 50000) = 6.3246e-5,
    # Student's t with 2 degrees 4.3027: 400 * 4.3027 * 6.3246e-5 = 0.10885.
    gain = most_gain(state_of(*scored(0.51, 0.49, 0.49, 0.51)), step=150, config=CONFIG)

    assert gain == pytest.approx(0.10885, abs=1e-5)


def test_what_gets_worse_gains_less_than_nothing():
    gain = most_gain(state_of(*scored(0.4, 0.5, 0.6, 0.7)), step=150, config=CONFIG)

    assert gain == pytest.approx(-0.4)


def test_few_looks_or_none_since_the_last_transition_leave_everything_open():
    history = scored(0.5, 0.5, 0.5, 0.5)

    assert most_gain(state_of(*history[:3]), step=150, config=CONFIG) == math.inf
    assert most_gain(state_of(*history, since_step=60), step=150, config=CONFIG) == math.inf
    assert most_gain(state_of(*history, spent=1000.0), step=150, config=CONFIG) == math.inf
    assert most_gain(state_of(*history), step=150, config=CONFIG) == 0.0


def test_looks_without_a_draw_between_them_say_nothing_about_a_trend():
    history = [look(1, 10, step=50 * place, score=0.5, spent=100.0) for place in range(5)]

    assert most_gain(state_of(*history, spent=100.0), step=200, config=CONFIG) == math.inf


def test_a_probe_gains_what_it_is_under_the_mean_from_before():
    # Mean 0.9, variance 0.0001; the error is sqrt(0.0001 * (1 + 1 / 3)) = 0.011547.
    state = state_of(*scored(0.89, 0.90, 0.91, 0.80), since_step=100)

    gain, error = probe_gain(state, step=150)

    assert gain == pytest.approx(0.10)
    assert error == pytest.approx(0.011547, abs=1e-6)


def test_a_probe_of_episodes_is_as_unsure_as_their_number():
    # (1 + 1) / (10 + 2) = 0.1667; 0.1667 * 0.8333 / 10 = 0.013889; sqrt(0.013889 * 1.5) = 0.1443.
    state = state_of(*scored(1.0, 1.0, 0.9, kind="rollout"), since_step=50)

    gain, error = probe_gain(state, step=100)

    assert gain == pytest.approx(0.1)
    assert error == pytest.approx(0.14434, abs=1e-5)


def test_without_a_look_from_after_nothing_is_gained():
    assert probe_gain(state_of(*scored(0.9, 0.9), since_step=50), step=50) == (0.0, math.inf)
    assert probe_gain(state_of(), step=50) == (0.0, math.inf)
