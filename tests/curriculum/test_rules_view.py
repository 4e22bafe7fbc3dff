import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.curriculum.rule_config import ProgressConfig
from etude.curriculum.rules_view import pass_rate, progress_of, scores_of
from etude.curriculum.states import TaskEvidence, TaskState
from task_looks import TASK, look

CONFIG = ProgressConfig()


def state_of(*history: TaskEvidence) -> TaskState:
    return TaskState(task=TASK, status="training", history=history)


def scored(*scores: float) -> TaskState:
    return state_of(
        *(
            look(1, 10, step=50 * place, kind="open_loop", score=score)
            for place, score in enumerate(scores)
        )
    )


def test_the_expected_pass_rate_counts_older_looks_less():
    # S = 0.6 * 2 + 4 = 5.2 and S + F = 0.6 * 5 + 5 = 8: (5.2 + 1) / (8 + 2).
    state = state_of(look(2, 5, step=0), look(4, 5, step=50))

    assert pass_rate(state, discount=0.6, look_steps=50) == pytest.approx(0.62)


def test_episodes_say_more_than_windows():
    state = state_of(look(9, 10, kind="open_loop"), look(0, 8))

    assert pass_rate(state, discount=0.6, look_steps=50) == pytest.approx(0.1)


def test_what_was_never_looked_at_has_no_rate_and_no_scores():
    assert pass_rate(state_of(), discount=0.6, look_steps=50) is None
    assert scores_of(state_of()) == ()


def test_scores_are_those_of_windows_unless_there_are_more_of_episodes():
    window = look(1, 2, kind="open_loop", score=0.7)
    episode = look(1, 2, score=0.5)

    assert scores_of(state_of(window, episode)) == (0.7,)
    assert scores_of(state_of(window, episode, episode)) == (0.5, 0.5)


def test_progress_is_the_difference_of_two_means_over_its_error():
    # Logs 0, -1, -2 (with the floor of 0.01 taken off first). Weights of the fast mean 1/4, 1/4,
    # 1/2; of the slow one 0.7225, 0.1275, 0.15; gaps -0.4725, 0.1225, 0.35; their sum with the
    # logs is -0.8225. Noise sqrt((1 + 1) / 4) = 0.7071; root of the gaps' squares 0.60064.
    state = scored(1 - 0.01, math.exp(-1) - 0.01, math.exp(-2) - 0.01)

    assert progress_of(state, CONFIG) == pytest.approx(0.8225 / (0.70711 * 0.60064), abs=1e-4)


def test_standing_still_noise_and_few_looks_are_no_progress():
    assert progress_of(scored(0.5, 0.5, 0.5, 0.5), CONFIG) == 0.0
    assert progress_of(scored(0.5, 0.8, 0.5, 0.8, 0.5, 0.65), CONFIG) == 0.0
    assert progress_of(scored(0.9, 0.1), CONFIG) == 0.0


def test_a_steady_fall_is_the_most_progress_there_is():
    assert progress_of(scored(*(0.8**place for place in range(12))), CONFIG) == 3.0


@given(st.lists(st.floats(0, 100), max_size=24))
def test_progress_is_0_or_between_its_bounds(scores: list[float]):
    progress = progress_of(scored(*scores), CONFIG)

    assert progress == 0.0 or 1.0 <= progress <= 3.0
