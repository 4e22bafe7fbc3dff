import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from etude.core.errors import DataError, PolicyError
from etude.core.types import TaskId, WindowChoice
from etude.scan.metric import dimension_errors


def choice(frame: int = 0) -> WindowChoice:
    return WindowChoice(
        task=TaskId("toy/3"), episode=7, frame=frame, stratum="slow", weight=1.0, seed=0
    )


def errors_of(predicted: object, actions: object, valid: object = None):
    recorded = np.array(actions, np.float32)
    return dimension_errors(
        [choice(frame) for frame in range(len(recorded))],
        predicted=np.array(predicted, np.float32),
        actions=recorded,
        valid=np.ones(recorded.shape[:2], np.bool_) if valid is None else np.array(valid),
    )


def test_errors_are_means_over_the_steps_that_are_judged():
    # Differences 1, 3 in the first dimension and -2, 0 in the second.
    errors = errors_of([[[1, 0], [3, 5]]], [[[0, 2], [0, 5]]])

    assert errors.squared.tolist() == [[5.0, 2.0]]
    assert errors.absolute.tolist() == [[2.0, 1.0]]


def test_padding_carries_no_error():
    errors = errors_of([[[1], [9], [9]]], [[[0], [0], [0]]], [[True, False, False]])

    assert errors.squared.tolist() == [[1.0]]


def test_a_three_frame_episode_under_a_horizon_of_fifty_counts_six_real_steps():
    # The action is the frame's number and the prediction 0, so the means are
    # (0 + 1 + 4) / 3, (1 + 4) / 2 and 4 / 1 over 3, 2 and 1 real steps.
    rows = np.minimum(np.arange(3)[:, None] + np.arange(50), 2)
    valid = np.arange(3)[:, None] + np.arange(50) < 3
    actions = rows[:, :, None].astype(np.float32)

    errors = errors_of(np.zeros((3, 50, 1)), actions, valid)

    assert valid.sum(axis=1).tolist() == [3, 2, 1]
    assert errors.squared.tolist() == [[5 / 3], [2.5], [4.0]]


def test_actions_that_are_not_played_are_not_judged():
    errors = errors_of([[[1], [7], [np.nan]]], [[[0]]])

    assert errors.squared.tolist() == [[1.0]]


@pytest.mark.parametrize("at_once", [1, 2, 3, 4])
def test_every_window_of_every_batch_counts(at_once: int):
    # Actions 0, 1, 2, 3 against 0: the mean absolute error is 1.5, from 4 windows.
    actions = np.arange(4, dtype=np.float32).reshape(4, 1, 1)
    found = [
        errors_of(np.zeros_like(actions[i : i + at_once]), actions[i : i + at_once])
        for i in range(0, 4, at_once)
    ]

    absolute = np.concatenate([each.absolute for each in found])

    assert absolute.ravel().tolist() == [0.0, 1.0, 2.0, 3.0]
    assert absolute.mean() == 1.5


@given(st.data())
def test_a_window_does_not_depend_on_what_shares_its_batch(data: st.DataObject):
    numbers = st.floats(-100, 100, width=32)
    predicted = data.draw(arrays(np.float32, (5, 6, 3), elements=numbers))
    actions = data.draw(arrays(np.float32, (5, 4, 3), elements=numbers))
    valid = np.arange(4) < data.draw(st.integers(1, 4))
    valid = np.broadcast_to(valid, (5, 4))

    whole = errors_of(predicted, actions, valid)
    parts = [errors_of(predicted[i : i + 1], actions[i : i + 1], valid[:1]) for i in range(5)]

    assert np.array_equal(whole.squared, np.concatenate([part.squared for part in parts]))
    assert np.array_equal(whole.absolute, np.concatenate([part.absolute for part in parts]))


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf"])
def test_a_prediction_that_is_no_number_is_told_with_its_place(bad: str):
    predicted = np.zeros((3, 2, 2))
    predicted[2, 1, 1] = float(bad)

    with pytest.raises(
        PolicyError,
        match=f"^toy/3 episode 7 frame 2: the policy returned {bad} for action 1 of step 1$",
    ):
        errors_of(predicted, np.zeros((3, 2, 2)))


def test_a_recorded_action_that_is_no_number_is_told_with_its_place():
    actions = np.zeros((1, 2, 2))
    actions[0, 1, 0] = np.nan

    with pytest.raises(DataError, match=r"^toy/3 episode 7 frame 1: action 0 is recorded as nan$"):
        errors_of(np.zeros((1, 2, 2)), actions)


def test_a_number_that_is_none_does_not_matter_in_padding():
    errors = errors_of([[[1], [np.nan]]], [[[0], [np.nan]]], [[True, False]])

    assert errors.squared.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((2, 4, 3), "the policy returned actions of 3 numbers for toy/3, whose dataset has 2"),
        ((2, 3, 2), "the policy returned 3 actions for toy/3, fewer than the 4 to be judged"),
        ((1, 4, 2), "the policy returned 1 chunks for 2 observations"),
    ],
)
def test_a_prediction_of_the_wrong_size_is_refused(shape: tuple[int, ...], message: str):
    with pytest.raises(PolicyError, match=f"^{re.escape(message)}$"):
        errors_of(np.zeros(shape), np.zeros((2, 4, 2)))


def test_a_window_of_nothing_but_padding_is_refused():
    with pytest.raises(DataError, match=r"^toy/3 episode 7 frame 0 has no recorded action"):
        errors_of([[[1]]], [[[0]]], [[False]])
