import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import ScanError
from etude.core.types import TaskId, WindowChoice, WindowScore
from etude.scan.moments import hardest_moments, window_difficulty


def score(
    episode: int, frame: int, gmse: float, *, stratum: str = "gripper", weight: float = 1.0
) -> WindowScore:
    choice = WindowChoice(
        task=TaskId("toy/0"),
        episode=episode,
        frame=frame,
        stratum=stratum,
        weight=weight,
        seed=0,
    )
    return WindowScore(choice=choice, groups={"arm": gmse}, mse=0.0, mae=0.0)


SCORES = [
    score(0, 12, 4.0, weight=3),
    score(0, 10, 1.0),
    score(0, 30, 0.5, stratum="transit", weight=4),
]
"""The gripper's mean error is (1 * 1 + 3 * 4) / 4 = 3.25, the task's (13 + 2) / 8 = 1.875."""


def test_windows_near_a_scanned_one_are_like_it_and_others_like_their_stratum():
    found = window_difficulty(
        SCORES,
        episode=0,
        frames=np.array([10, 11, 12, 15, 16, 30, 99]),
        strata=["gripper"] * 5 + ["transit", "idle"],
        horizon=4,
    )

    assert found.tolist() == pytest.approx(
        [
            # Frame 10 shares all its actions with itself and two of four with frame 12.
            (1 * 1.0 + 0.5 * 4.0 + 3.25) / 2.5,
            (0.75 * 1.0 + 0.75 * 4.0 + 3.25) / 2.5,
            (0.5 * 1.0 + 1 * 4.0 + 3.25) / 2.5,
            (0.25 * 4.0 + 3.25) / 1.25,
            3.25,
            (0.5 + 0.5) / 2,
            1.875,
        ]
    )


def test_an_episode_without_a_scanned_window_has_the_means_of_its_strata():
    frames, strata = np.array([10, 11]), ["gripper", "transit"]

    found = window_difficulty(SCORES, episode=7, frames=frames, strata=strata, horizon=4)

    assert found.tolist() == [3.25, 0.5]


def test_windows_of_one_action_share_none_with_their_neighbours():
    frames, strata = np.array([11, 12]), ["gripper"] * 2

    found = window_difficulty(SCORES, episode=0, frames=frames, strata=strata, horizon=1)

    assert found.tolist() == [3.25, 3.625]


def test_without_scanned_windows_nothing_can_be_said():
    with pytest.raises(ScanError, match=r"^no window was scored to judge difficulty by$"):
        window_difficulty([], episode=0, frames=np.array([0]), strata=["idle"], horizon=4)


def test_the_hardest_moments_share_no_action_and_come_hardest_first():
    # Frames 40 and 42 are one moment; of equal ones the earlier episode comes first.
    scores = [
        *(score(0, 40, 8.0), score(0, 42, 9.0), score(0, 60, 0.0)),
        *(score(1, 5, 3.0), score(2, 5, 3.0), score(2, 20, 1.0)),
    ]

    found = hardest_moments(scores, horizon=4)

    assert [(moment.episode, moment.frame) for moment in found] == [(0, 42), (1, 5), (2, 5)]
    # (1 * 9 + 0.5 * 8 + the mean of 4) / 2.5, and (3 + 4) / 2.
    assert [moment.difficulty for moment in found] == pytest.approx([6.8, 3.5, 3.5])


def test_a_single_wild_window_is_no_harder_than_two_that_agree():
    alone, together = score(0, 10, 10.0), [score(1, 10, 9.0), score(1, 11, 9.0)]
    calm = [score(2, frame, 1.0) for frame in range(0, 100, 10)]

    [first, *_] = hardest_moments([alone, *together, *calm], horizon=4)

    assert first.episode == 1


@given(
    st.lists(
        st.builds(score, st.integers(0, 2), st.integers(0, 30), st.floats(0, 100)),
        min_size=1,
        max_size=20,
        unique_by=lambda each: each.choice.place,
    ),
    st.integers(1, 9),
    st.randoms(use_true_random=False),
)
def test_moments_lie_between_the_errors_and_do_not_depend_on_their_order(
    scores: list[WindowScore], horizon: int, order: random.Random
):
    shuffled = list(scores)
    order.shuffle(shuffled)
    errors = [each.gmse for each in scores]

    found = hardest_moments(scores, horizon=horizon)

    assert found == hardest_moments(shuffled, horizon=horizon)
    slack = 1e-9 * max(errors) + 1e-12
    assert all(min(errors) - slack <= each.difficulty <= max(errors) + slack for each in found)
