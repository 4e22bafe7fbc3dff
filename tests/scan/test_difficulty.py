import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import ScanError
from etude.core.types import TaskId, WindowChoice, WindowScore
from etude.scan.difficulty import mean_error, task_difficulty


def scored(
    gmse: float, *, frame: int = 0, episode: int = 0, stratum: str = "transit", weight: float = 1.0
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
    scored(1.0, frame=10, stratum="gripper", weight=1.0),
    scored(4.0, frame=12, stratum="gripper", weight=3.0),
    scored(0.5, frame=30, stratum="transit", weight=4.0),
]


def test_a_mean_counts_each_window_for_those_it_stands_for():
    # (1 * 1 + 3 * 4 + 4 * 0.5) / 8, and of the gripper's (1 * 1 + 3 * 4) / 4.
    found = task_difficulty(SCORES, horizon=4)

    assert found.mean == mean_error(SCORES) == 15 / 8
    assert found.strata == {"gripper": 13 / 4, "transit": 0.5}


def test_windows_near_a_scanned_one_are_like_it_and_others_like_their_stratum():
    found = task_difficulty(SCORES, horizon=4)

    frames = np.array([10, 11, 12, 15, 16, 30])
    strata = ["gripper"] * 5 + ["transit"]
    assert found.of_windows(0, frames, strata).tolist() == pytest.approx(
        [
            # Frame 10 shares all its actions with itself and two of four with frame 12.
            (1 * 1.0 + 0.5 * 4.0 + 3.25) / 2.5,
            (0.75 * 1.0 + 0.75 * 4.0 + 3.25) / 2.5,
            (0.5 * 1.0 + 1 * 4.0 + 3.25) / 2.5,
            (0.25 * 4.0 + 3.25) / 1.25,
            3.25,
            (0.5 + 0.5) / 2,
        ]
    )


def test_an_episode_without_a_scanned_window_has_the_means_of_its_strata():
    found = task_difficulty(SCORES, horizon=4)

    assert found.of_windows(7, np.array([10, 11]), ["gripper", "transit"]).tolist() == [3.25, 0.5]


def test_a_stratum_without_a_scanned_window_has_the_mean_of_the_task():
    found = task_difficulty(SCORES, horizon=4)

    assert found.of_stratum("idle") == 15 / 8
    assert found.of_windows(0, np.array([99]), ["idle"]).tolist() == [15 / 8]


def test_windows_of_one_action_share_none_with_their_neighbours():
    found = task_difficulty(SCORES, horizon=1)

    assert found.of_windows(0, np.array([11, 12]), ["gripper"] * 2).tolist() == [3.25, 3.625]


def test_no_windows_at_all_are_refused():
    with pytest.raises(ScanError, match=r"^no window was scored to judge difficulty by$"):
        task_difficulty([], horizon=4)


windows = st.lists(
    st.builds(
        scored,
        st.floats(0, 1e6),
        frame=st.integers(0, 20),
        episode=st.integers(0, 2),
        stratum=st.sampled_from(["gripper", "slow", "transit"]),
        weight=st.floats(0.1, 100),
    ),
    min_size=1,
    max_size=20,
    unique_by=lambda score: (score.choice.episode, score.choice.frame),
)


@given(windows, st.integers(1, 9), st.randoms(use_true_random=False))
def test_difficulty_lies_between_the_errors_and_does_not_depend_on_their_order(
    scores: list[WindowScore], horizon: int, order: random.Random
):
    shuffled = list(scores)
    order.shuffle(shuffled)
    frames = np.arange(25)
    strata = [("gripper", "idle")[place % 2] for place in range(25)]
    errors = [score.gmse for score in scores]

    found = task_difficulty(scores, horizon=horizon).of_windows(1, frames, strata)
    other = task_difficulty(shuffled, horizon=horizon).of_windows(1, frames, strata)

    assert found.tolist() == other.tolist()
    slack = 1e-9 * max(errors) + 1e-12
    assert min(errors) - slack <= found.min() <= found.max() <= max(errors) + slack
