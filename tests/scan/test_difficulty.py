import random

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
    found = task_difficulty(SCORES)

    assert found.mean == mean_error(SCORES) == 15 / 8
    assert found.strata == {"gripper": 13 / 4, "transit": 0.5}


def test_a_stratum_without_a_scanned_window_has_the_mean_of_the_task():
    found = task_difficulty(SCORES)

    assert found.of_stratum("idle") == 15 / 8


def test_no_windows_at_all_are_refused():
    with pytest.raises(ScanError, match=r"^no window was scored to judge difficulty by$"):
        task_difficulty([])


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
    unique_by=lambda score: score.choice.place,
)


@given(windows, st.randoms(use_true_random=False))
def test_difficulty_lies_between_the_errors_and_does_not_depend_on_their_order(
    scores: list[WindowScore], order: random.Random
):
    shuffled = list(scores)
    order.shuffle(shuffled)
    errors = [score.gmse for score in scores]

    found = task_difficulty(scores)

    assert found == task_difficulty(shuffled)
    slack = 1e-9 * max(errors) + 1e-12
    for mean in (found.mean, *found.strata.values()):
        assert min(errors) - slack <= mean <= max(errors) + slack
