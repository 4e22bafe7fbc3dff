from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from etude.scan.strata import (
    STRATA,
    change_points,
    gripper_events,
    strata_of,
    waypoints,
)


def column(*runs: tuple[float, int]) -> np.ndarray:
    """Return a column that keeps each value for so many frames."""
    return np.concatenate([np.full(frames, float(value)) for value, frames in runs])[:, None]


def events(*runs: tuple[float, int], extent: float = 1.0) -> list[int]:
    return gripper_events(column(*runs), np.array([extent]))


def named(states: np.ndarray, grippers: np.ndarray | None = None) -> list[str]:
    grippers = np.zeros((len(states), 0)) if grippers is None else grippers
    ranges = np.ones(grippers.shape[1])
    [labels] = strata_of([states], [grippers], gripper_ranges=ranges)
    return [STRATA[label] for label in labels]


def test_a_gripper_event_is_the_frame_at_which_it_begins_to_be_closed_or_open():
    assert events((0, 10), (1, 5), (0, 10)) == [10, 15]


def test_a_gripper_that_closes_slowly_has_one_event_where_it_is_nearly_closed():
    # From 0.7 on it is in the upper third of its swing.
    closing = [(0, 10), *((step / 10, 1) for step in range(1, 10)), (1, 10)]

    assert events(*closing) == [16]


@pytest.mark.parametrize("chatter", [1, 2])
def test_chatter_is_no_event(chatter: int):
    assert events((0, 10), (1, chatter), (0, 10)) == []


def test_a_gripper_that_only_trembles_has_no_events():
    assert events((0, 10), (0.1, 10), (0, 10)) == []
    assert events((0, 10), (0.1, 10), (0, 10), extent=0.2) == [10, 20]


def test_a_gripper_that_keeps_still_has_no_events():
    assert events((1, 20)) == []


def test_events_of_both_grippers_are_told():
    both = np.hstack([column((0, 10), (1, 20)), column((1, 20), (0, 10))])

    assert gripper_events(both, np.ones(2)) == [10, 20]


def test_the_corners_of_a_path_are_its_waypoints():
    # 10 steps to the right, then 10 up: straight lines meet at frame 10.
    along = np.array([[x, 0.0] for x in range(11)] + [[10.0, y] for y in range(1, 11)])

    assert waypoints([along], error=0.01) == [[0, 10, 20]]


@pytest.mark.parametrize(("frames", "found"), [(1, [0]), (2, [0, 1]), (50, [0, 49])])
def test_a_straight_path_has_its_ends_alone(frames: int, found: list[int]):
    assert waypoints([np.arange(frames, dtype=np.float64)[:, None]], error=0.01) == [found]


@given(
    arrays(np.float64, st.tuples(st.integers(1, 40), st.just(2)), elements=st.floats(-1, 1)),
    st.floats(0.01, 1.0),
)
def test_straight_lines_between_waypoints_stay_close_to_every_frame(path: np.ndarray, error: float):
    [found] = waypoints([path], error=error)

    assert found[0] == 0
    assert found[-1] == len(path) - 1
    assert found == sorted(set(found))
    for start, stop in pairwise(found):
        line = path[start] + np.linspace(0, 1, 2001)[:, None] * (path[stop] - path[start])
        for point in path[start : stop + 1]:
            assert np.linalg.norm(line - point, axis=1).min() <= error + 0.002


@given(
    st.lists(
        arrays(np.float64, st.tuples(st.integers(1, 30), st.just(2)), elements=st.floats(-9, 9)),
        min_size=1,
        max_size=5,
    )
)
def test_episodes_that_are_looked_at_together_do_not_touch_each_other(paths: list[np.ndarray]):
    alone = [waypoints([path], error=0.1)[0] for path in paths]
    ranges = np.ones(1)

    assert waypoints(paths, error=0.1) == alone
    for path, labels in zip(
        paths,
        strata_of(paths, [path[:, :1] for path in paths], gripper_ranges=ranges),
        strict=True,
    ):
        [expected] = strata_of([path], [path[:, :1]], gripper_ranges=ranges)
        np.testing.assert_array_equal(labels, expected)


def test_a_motion_that_turns_changes_where_it_turns():
    velocity = np.array([[1.0, 0.0]] * 20 + [[0.0, 1.0]] * 20)

    assert np.flatnonzero(change_points(velocity)).tolist() == [20]


@pytest.mark.parametrize("frames", [1, 2, 6, 30])
def test_a_motion_that_never_changes_has_no_change_points(frames: int):
    assert not change_points(np.ones((frames, 2))).any()


def test_each_frame_belongs_to_what_happens_there():
    # 60 frames fast, 40 standing, 60 slow in the other direction; the gripper closes at 130.
    x = np.concatenate([np.arange(60) * 1.0, np.full(40, 59.0), 59.0 - 0.2 * np.arange(1, 61)])

    found = named(x[:, None], column((0, 130), (1, 30)))

    assert found[20] == "transit"
    assert found[80] == "idle"
    assert found[122:139] == ["gripper"] * 17
    assert found[58:61] == ["waypoint"] * 3
    assert found.index("change") == 100


def test_the_slowest_quarter_of_the_moving_frames_is_slow():
    # Speeds grow from frame to frame on a straight line.
    x = np.cumsum(np.linspace(1.0, 2.0, 100))

    found = named(x[:, None])

    assert set(found[2:22]) == {"slow"}
    assert set(found[30:]) <= {"transit"}


@given(
    arrays(
        np.float64, st.tuples(st.integers(1, 60), st.integers(0, 3)), elements=st.floats(-1e6, 1e6)
    )
)
def test_every_frame_has_one_stratum_whatever_was_recorded(states: np.ndarray):
    ranges = np.ones(min(1, states.shape[1]))
    [labels] = strata_of([states], [states[:, :1]], gripper_ranges=ranges)

    assert labels.shape == (len(states),)
    assert ((labels >= 0) & (labels < len(STRATA))).all()


@given(
    arrays(np.float64, (30, 2), elements=st.integers(-64, 64).map(float)),
    st.sampled_from([0.5, 4.0]),
)
def test_the_unit_of_the_states_does_not_matter(states: np.ndarray, unit: float):
    assert named(states) == named(unit * states)
