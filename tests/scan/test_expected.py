import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.scan.expected import expected_errors
from etude.scan.units import Units


def expected(
    *episodes: list[list[float]],
    ranges: tuple[float, ...] = (1.0,),
    moves: bool | tuple[bool, ...] = True,
    grippers: tuple[int, ...] = (),
    horizon: int = 2,
) -> list[list[float]]:
    units = Units(ranges=np.array(ranges), moves=np.array(moves) & np.ones(len(ranges), np.bool_))
    actions = [np.array(episode, np.float64) for episode in episodes]
    found = expected_errors(actions, units=units, grippers=grippers, horizon=horizon)
    return [each.tolist() for each in found]


def test_even_motion_is_expected_to_err_by_the_floor_alone():
    # 0.4 of a range of 2 is 0.2; 0.05 / (0.2 + 0.05), and 0.2 that is expected everywhere.
    assert expected([[0.4]] * 5, ranges=(2.0,)) == [pytest.approx([0.4] * 5)]


def test_at_rest_the_error_of_holding_still_is_expected():
    assert expected([[0.0]] * 3) == [pytest.approx([1.2] * 3)]


def test_what_changes_from_frame_to_frame_is_not_foreseen():
    # Of 0.6, 0, 0.6, 0, 0.6 the mean is 0.36 in the middle, from which 0.24 are lacking, and 0.6
    # is the motion of that one action.
    [found] = expected([[0.6], [0.0], [0.6], [0.0], [0.6]], horizon=1)

    assert found[2] == pytest.approx(math.hypot(0.24, 0.05) / (0.6 + 0.05) + 0.2)


def test_where_actions_say_where_to_be_the_motion_is_what_leads_there():
    # Each place is 0.1 further, so two actions go 0.1 and 0.2 further than the one before them.
    [found] = expected([[0.1 * frame] for frame in range(9)], moves=False)

    motion = math.sqrt((0.1**2 + 0.2**2) / 2)
    assert found[3:6] == pytest.approx([0.05 / (motion + 0.05) + 0.2] * 3)


def test_both_kinds_of_actions_count_alike():
    # One moves by 0.3 and one is 0.1 further each time.
    actions = [[0.3, 0.5 + 0.1 * frame] for frame in range(7)]
    [found] = expected(actions, ranges=(1.0, 1.0), moves=(True, False), horizon=1)

    motion = math.sqrt((0.3**2 + 0.1**2) / 2)
    assert found[2:5] == pytest.approx([0.05 / (motion + 0.05) + 0.2] * 3)


def test_a_gripper_errs_where_it_opens_or_closes():
    # The means around the last open and the first closed frame are 0.4 and 0.6.
    actions = [[0.0]] * 5 + [[1.0]] * 5
    [found] = expected(actions, grippers=(0,), horizon=1)

    assert found == pytest.approx([0.2, 0.2, 0.2, 0.6, 1.0, 1.0, 0.6, 0.2, 0.2, 0.2])


def test_arm_and_gripper_count_alike():
    actions = [[0.2, 0.0]] * 5 + [[0.2, 1.0]] * 5
    [found] = expected(actions, ranges=(1.0, 1.0), grippers=(1,), horizon=1)

    # 0.05 / 0.25 of the arm, and 0.8 of the gripper just before it closes.
    assert found[4] == pytest.approx((0.2 + 0.8) / 2 + 0.2)


def test_nothing_is_expected_of_dimensions_that_never_change():
    assert expected([[3.0, 7.0]] * 2, ranges=(0.0, 0.0)) == [[0.2, 0.2]]
    assert expected([[0.2, 7.0]] * 2, ranges=(1.0, 0.0)) == [pytest.approx([0.4, 0.4])]


def test_what_lies_beyond_the_end_of_an_episode_does_not_count():
    [found] = expected([[0.0], [0.2]], horizon=8)

    # Of the mean, 0.1, both frames lack 0.1; the first window has both actions, the last has one.
    rough = math.hypot(0.1, 0.05)
    assert found[0] == pytest.approx(rough / (math.sqrt(0.2**2 / 2) + 0.05) + 0.2)
    assert found[1] == pytest.approx(rough / (0.2 + 0.05) + 0.2)


numbers = st.floats(-1, 1).map(lambda number: round(number, 3))
episodes = st.lists(st.tuples(numbers, numbers, numbers).map(list), min_size=1, max_size=12)


@pytest.mark.parametrize("moves", [True, False])
@given(recorded=st.lists(episodes, min_size=1, max_size=4), horizon=st.integers(1, 6))
def test_an_episode_is_judged_by_itself(
    recorded: list[list[list[float]]], horizon: int, *, moves: bool
):
    def found(*some: list[list[float]]) -> list[list[float]]:
        return expected(*some, ranges=(2.0, 2.0, 2.0), moves=moves, grippers=(2,), horizon=horizon)

    together = found(*recorded)

    assert [len(each) for each in together] == [len(each) for each in recorded]
    for episode, each in zip(recorded, together, strict=True):
        assert each == pytest.approx(found(episode)[0], abs=1e-6)
        assert all(0.2 <= error <= 1.2 for error in each)
