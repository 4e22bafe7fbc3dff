import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import ScanError
from etude.core.types import TaskId, WindowChoice, WindowScore
from etude.scan.sample_weights import (
    LARGEST,
    TaskWeights,
    scans_since,
    stratum_sizes,
    task_weights,
)


def scored(gmse: float, *, frame: int, stratum: str, weight: float = 1.0) -> WindowScore:
    choice = WindowChoice(
        task=TaskId("toy/0"), episode=0, frame=frame, stratum=stratum, weight=weight, seed=0
    )
    return WindowScore(choice=choice, groups={"arm": gmse}, mse=0.0, mae=0.0)


def multipliers(found: TaskWeights) -> dict[str, float]:
    return {row.stratum: row.multiplier for row in found.strata}


FOUR = [
    scored(3.0, frame=0, stratum="gripper"),
    scored(2.0, frame=1, stratum="gripper"),
    scored(1.0, frame=2, stratum="transit"),
    scored(0.5, frame=3, stratum="transit"),
]


def test_windows_with_larger_errors_are_drawn_more_often():
    found = task_weights(FOUR, sizes={"gripper": 20, "transit": 20})

    # Ranks of the four are 7/4, 5/4, 3/4 and 1/4; the mean of the gripper's is 3/2, of transit 1/2.
    assert multipliers(found) == {
        "gripper": pytest.approx(0.5 + 0.35 * 1.5 + 0.15),
        "transit": pytest.approx(0.5 + 0.35 * 0.5 + 0.15),
    }


def test_a_table_says_what_was_looked_at_of_what():
    found = task_weights(FOUR, sizes={"transit": 20, "idle": 10, "gripper": 20})

    assert [(row.stratum, row.windows, row.of, row.difficulty) for row in found.strata] == [
        ("gripper", 2, 20, 2.5),
        # Nothing of it was looked at, so it is taken to be as the task is.
        ("idle", 0, 10, 1.625),
        ("transit", 2, 20, 0.75),
    ]
    assert multipliers(found)["idle"] == pytest.approx(1.0)


def test_the_irreducible_error_is_that_of_the_easiest_twentieth():
    scores = [scored(float(n), frame=n, stratum="transit", weight=10.0) for n in range(1, 41)]

    # 5 % of 40 equal windows are two, so it lies between the second and the third.
    found = task_weights(scores, sizes={"transit": 400})

    assert found.irreducible == 2.5


def test_errors_that_no_training_removes_count_alike():
    below = [scored(0.1, frame=0, stratum="slow", weight=0.5)]
    rest = [
        scored(0.2, frame=1, stratum="transit", weight=9.5),
        scored(0.2, frame=2, stratum="gripper", weight=10.0),
    ]

    found = task_weights([*below, *rest], sizes={"slow": 1, "transit": 19, "gripper": 20})

    assert found.irreducible == 0.2
    assert list(multipliers(found).values()) == pytest.approx([1.0, 1.0, 1.0])


def test_errors_over_the_95th_percentile_count_alike():
    usual = [scored(1.0 + n, frame=n, stratum="transit") for n in range(38)]
    wild = [scored(100.0, frame=50, stratum="slow"), scored(1e9, frame=51, stratum="gripper")]

    found = multipliers(
        task_weights([*usual, *wild], sizes={"transit": 38, "slow": 1, "gripper": 1})
    )

    assert found["slow"] == found["gripper"] > found["transit"]


def test_equal_errors_leave_every_window_uniform():
    scores = [scored(0.5, frame=n, stratum=("gripper", "transit")[n % 2]) for n in range(8)]

    found = task_weights(scores, sizes={"gripper": 5, "transit": 500})

    assert multipliers(found) == {"gripper": pytest.approx(1.0), "transit": pytest.approx(1.0)}


def test_a_suspect_goes_back_to_uniform_and_no_longer_counts_as_difficulty():
    suspect = scored(99.0, frame=9, stratum="transit")
    # Of three transit windows two keep their ranks, and the suspect is uniform.
    sizes = {"gripper": 20, "transit": 30}
    even = [
        scored(error.gmse, frame=n, stratum=error.choice.stratum) for n, error in enumerate(FOUR)
    ]

    found = task_weights([*even, suspect], sizes=sizes, suspects={(0, 9)})

    assert multipliers(found) == {
        "gripper": pytest.approx(0.65 + 0.35 * 3 / 2),
        "transit": pytest.approx(0.65 + 0.35 * (3 / 4 + 1 / 4 + 1) / 3),
    }
    transit = found.strata[1]
    assert (transit.windows, transit.difficulty) == (3, 0.75)


def test_nothing_but_suspects_is_refused():
    with pytest.raises(ScanError, match=r"^no window was scored"):
        task_weights(FOUR[:1], sizes={"gripper": 20}, suspects={(0, 0)})


def test_a_stratum_that_was_not_looked_at_for_long_is_drawn_more_often():
    sizes = {"gripper": 20, "transit": 20, "idle": 40}

    found = task_weights(FOUR, sizes=sizes, staleness={"idle": 3})

    # Its staleness is twice the mean, and the others have none.
    assert multipliers(found) == {
        "gripper": pytest.approx(0.5 + 0.35 * 1.5),
        "transit": pytest.approx(0.5 + 0.35 * 0.5),
        "idle": pytest.approx(0.5 + 0.35 + 0.15 * 2),
    }


def test_nothing_is_drawn_more_than_8_times_uniformly_and_what_is_cut_goes_to_the_others():
    sizes = {"gripper": 495, "transit": 495, "idle": 10}

    found = multipliers(task_weights(FOUR, sizes=sizes, staleness={"idle": 5}))

    # Idle would be drawn 0.85 + 0.15 * 100 = 15.85 times.
    assert found["idle"] == LARGEST == 8.0
    left = (1 - 0.01 * 8) / (0.495 * (0.5 + 0.525) + 0.495 * (0.5 + 0.175))
    assert found["gripper"] == pytest.approx(left * 1.025)
    assert found["transit"] == pytest.approx(left * 0.675)


def test_sizes_of_strata_are_scaled_up_and_sum():
    cells = {("gripper", 0): 3, ("transit", 0): 10, ("gripper", 4): 4, ("transit", 4): 3}

    assert stratum_sizes(cells, of=20) == {"gripper": 7, "transit": 13}
    # 7/20 and 13/20 of 51 are 17.85 and 33.15.
    assert stratum_sizes(cells, of=51) == {"gripper": 18, "transit": 33}


def test_scans_are_counted_since_a_stratum_was_looked_at():
    looked_at = [{"gripper", "idle"}, {"gripper"}, {"transit"}]

    found = scans_since(["gripper", "idle", "slow", "transit"], looked_at)

    assert found == {"gripper": 1, "idle": 2, "slow": 2, "transit": 0}


def test_in_a_first_scan_nothing_is_stale():
    assert scans_since(["gripper", "idle"], [{"gripper"}]) == {"gripper": 0, "idle": 0}


STRATA = ("gripper", "waypoint", "slow", "transit")
windows = st.lists(
    st.builds(
        scored,
        st.one_of(st.floats(0, 1e9), st.sampled_from([0.0, 0.5])),
        frame=st.integers(0, 50),
        stratum=st.sampled_from(STRATA),
        weight=st.floats(0.1, 100),
    ),
    min_size=1,
    max_size=30,
    unique_by=lambda score: score.choice.frame,
)


@given(
    windows,
    st.lists(st.integers(1, 10**6), min_size=4, max_size=4),
    st.dictionaries(st.sampled_from(STRATA), st.integers(0, 1000)),
    st.integers(0, 30),
    st.randoms(use_true_random=False),
)
def test_multipliers_average_1_none_is_over_8_and_the_order_of_scores_is_nothing(
    scores: list[WindowScore],
    sizes: list[int],
    staleness: dict[str, int],
    doubted: int,
    order: random.Random,
):
    of = dict(zip(STRATA, sizes, strict=True))
    suspects = {(0, score.choice.frame) for score in scores[: min(doubted, len(scores) - 1)]}
    shuffled = list(scores)
    order.shuffle(shuffled)

    found, other = (
        task_weights(each, sizes=of, suspects=suspects, staleness=staleness)
        for each in (scores, shuffled)
    )

    total = math.fsum(row.multiplier * row.of for row in found.strata)
    assert total / sum(sizes) == pytest.approx(1.0)
    assert all(0 < row.multiplier <= LARGEST for row in found.strata)
    assert other == found


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(STRATA), st.integers(0, 3)), st.integers(1, 1000), min_size=1
    ),
    st.integers(0, 10**6),
)
def test_sizes_always_sum_and_are_off_by_less_than_one(
    cells: dict[tuple[str, int], int], more: int
):
    total = sum(cells.values())

    sizes = stratum_sizes(cells, of=total + more)

    assert sum(sizes.values()) == total + more
    for name, size in sizes.items():
        counted = sum(count for (stratum, _), count in cells.items() if stratum == name)
        assert abs(size - counted * (total + more) / total) < 1
