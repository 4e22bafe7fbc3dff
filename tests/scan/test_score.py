import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import DataError
from etude.core.types import TaskId, WindowChoice
from etude.scan.groups import ActionGroup
from etude.scan.score import Judge, passes, still_errors
from etude.scan.units import Units
from etude.testing.fakes import MemoryDataset, MemoryEpisode, toy_tasks

ARM = ActionGroup(name="arm", dims=(0, 1))
GRIPPER = ActionGroup(name="gripper", dims=(2,))
UNITS = Units(ranges=np.array([2.0, 2.0, 2.0]), moves=np.array([True, True, False]))


def choice(frame: int = 0) -> WindowChoice:
    return WindowChoice(
        task=TaskId("toy/0"), episode=0, frame=frame, stratum="slow", weight=1.0, seed=0
    )


def judge(actions: list[list[float]], *, horizon: int = 2, units: Units = UNITS) -> Judge:
    rows = np.array(actions, np.float32)
    dataset = MemoryDataset(
        [MemoryEpisode(task=TaskId("toy/0"), states=rows, actions=rows)], tasks=toy_tasks(1)
    )
    return Judge(dataset, groups=(ARM, GRIPPER), units=units, horizon=horizon)


def test_an_error_counts_by_how_far_the_demonstration_moves_there():
    # Motion in units of the range of 2: root of mean of 0.3^2 and 0.4^2, 0.354; then STILL, 0.05.
    fast = judge([[0.6, 0.8, 0.0]] * 3)
    slow = judge([[0.0, 0.0, 0.0]] * 3)

    # Off by 0.2 in one of two dimensions: root of (0.1^2 + 0) / 2, 0.0707.
    (hasty,) = fast.scores([choice()], [[0.04, 0.0, 0.0]], [[0.2, 0.0, 0.0]])
    (still,) = slow.scores([choice()], [[0.04, 0.0, 0.0]], [[0.2, 0.0, 0.0]])

    assert hasty.groups["arm"] == pytest.approx(0.0707107 / (0.3535534 + 0.05))
    assert still.groups["arm"] == pytest.approx(0.0707107 / 0.05)
    assert (hasty.mse, hasty.mae) == (pytest.approx(0.04 / 3), pytest.approx(0.2 / 3))


def test_a_gripper_in_the_wrong_half_has_a_ratio_of_one():
    (score,) = judge([[0.0, 0.0, 1.0]] * 3).scores([choice()], [[0.0, 0.0, 1.0]], [[0.0, 0.0, 1.0]])

    assert score.groups["gripper"] == pytest.approx(1.0)
    assert score.gmse == pytest.approx(0.5)


def test_holding_still_is_about_one_whatever_actions_mean():
    moving = [[0.5, -0.5, 0.0]] * 4
    (relative,) = judge(moving).scores([choice(1)], [[0.25, 0.25, 0.0]], [[0.5, 0.5, 0.0]])
    # Where to be: 0.1 a frame, so repeating the last place is off by 0.1 and then by 0.2.
    places = [[0.1 * frame, 0.0, 0.0] for frame in range(4)]
    units = Units(ranges=np.array([0.3, 0.0, 0.0]), moves=np.array([False] * 3))
    (absolute,) = judge(places, units=units).scores([choice(1)], [[0.025, 0.0, 0.0]], [[0, 0, 0]])

    assert relative.groups["arm"] == pytest.approx(0.25 / 0.30)
    # The root of (0.1^2 + 0.2^2) / 2 is 0.1581, in units of the range 0.5270.
    assert absolute.groups == {"arm": pytest.approx(0.5270463 / (0.5270463 + 0.05))}


def test_dimensions_that_never_change_are_not_judged():
    units = Units(ranges=np.array([2.0, 0.0, 0.0]), moves=np.array([True] * 3))

    (score,) = judge([[1.0, 7.0, 7.0]] * 3, units=units).scores(
        [choice()], [[0.01, 99.0, 99.0]], [[0.1, 9.0, 9.0]]
    )

    assert score.groups == {"arm": pytest.approx(0.05 / 0.55)}


def test_actions_that_never_change_cannot_be_judged():
    units = Units(ranges=np.zeros(3), moves=np.array([True] * 3))

    with pytest.raises(DataError, match="no action of memory/toy ever changes"):
        judge([[1.0, 1.0, 1.0]] * 3, units=units)


def test_nothing_has_no_scores():
    assert judge([[0.0, 0.0, 0.0]] * 3).scores([], [], []) == []


def test_padding_is_no_motion():
    actions = np.array([[[1.0], [5.0], [99.0]]])
    valid = np.array([[True, True, False]])

    relative = still_errors(actions, np.array([[2.0]]), valid, moves=np.array([True]))
    absolute = still_errors(actions, np.array([[2.0]]), valid, moves=np.array([False]))

    # (1 + 25) / 2, and (1 + 9) / 2.
    assert (relative.tolist(), absolute.tolist()) == ([[13.0]], [[5.0]])


@given(st.floats(0.01, 100.0))
def test_a_dataset_in_other_units_has_the_same_scores(unit: float):
    rows = np.array([[0.3, -0.2, 1.0], [0.1, 0.4, 1.0], [0.2, 0.0, -1.0]])
    scaled = Units(ranges=UNITS.ranges * unit, moves=UNITS.moves)

    (plain,) = judge(rows.tolist()).scores([choice(1)], [[0.01, 0.02, 0.5]], [[0, 0, 0]])
    (other,) = judge((rows * unit).tolist(), units=scaled).scores(
        [choice(1)], [[0.01 * unit**2, 0.02 * unit**2, 0.5 * unit**2]], [[0, 0, 0]]
    )

    assert other.groups == pytest.approx(plain.groups, rel=1e-5)


def test_the_worst_group_decides_whether_a_window_passes():
    assert passes({"arm": 0.1, "gripper": 0.25}, tau=0.25)
    assert not passes({"arm": 0.1, "gripper": 0.26}, tau=0.25)
