import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import DataError
from etude.core.types import TaskId
from etude.scan.units import Units, measure_units
from etude.testing.fakes import MemoryDataset, MemoryEpisode, toy_tasks


def episode(actions: np.ndarray, states: np.ndarray, *, task: str = "toy/0") -> MemoryEpisode:
    return MemoryEpisode(
        task=TaskId(task), states=states.astype(np.float32), actions=actions.astype(np.float32)
    )


def measured(*episodes: MemoryEpisode, actions: str = "auto") -> Units:
    dataset = MemoryDataset(list(episodes), tasks=toy_tasks(3))
    return measure_units(dataset, dataset.episodes, actions=actions)


def drifting(seed: int, *, frames: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Return where a joint is at each frame, starting anywhere, and how far it goes from there."""
    random = np.random.default_rng(seed)
    moves = random.normal(size=(frames, 1))
    places = random.uniform(-50, 50) + np.cumsum(moves, axis=0) - moves
    return places, moves


def test_the_range_of_a_dimension_is_that_over_all_tasks():
    one = episode(np.array([[1.0, 5.0], [3.0, 5.0]]), np.zeros((2, 1)))
    two = episode(np.array([[-2.0, 5.0], [0.0, 5.0]]), np.zeros((2, 1)), task="toy/1")

    assert measured(one, two).ranges.tolist() == [5.0, 0.0]


@pytest.mark.parametrize("frames", [60, 257, 1_000])
def test_an_action_that_goes_along_with_changes_of_a_state_says_how_to_move(frames: int):
    drifts = [drifting(seed, frames=frames) for seed in range(5)]
    episodes = [episode(moves, places) for places, moves in drifts]

    assert measured(*episodes).moves.tolist() == [True]


def test_an_action_that_goes_along_with_a_state_says_where_to_be():
    episodes = [episode(places + moves, places) for places, moves in map(drifting, range(5))]

    assert measured(*episodes).moves.tolist() == [False]


def test_dimensions_are_told_apart_one_by_one():
    episodes = [
        episode(np.hstack([moves, places]), places) for places, moves in map(drifting, range(5))
    ]

    assert measured(*episodes).moves.tolist() == [True, False]


@pytest.mark.parametrize("states", [0, 1])
def test_without_a_state_that_tells_holding_still_is_to_repeat_the_action(states: int):
    moves = drifting(0)[1]

    assert measured(episode(moves, np.ones((60, states)))).moves.tolist() == [False]


@pytest.mark.parametrize(("actions", "moves"), [("absolute", False), ("relative", True)])
def test_the_configuration_may_say_it(actions: str, *, moves: bool):
    places, steps = drifting(0)

    assert measured(episode(places, steps), actions=actions).moves.tolist() == [moves]


@given(st.integers(1, 80))
def test_however_many_episodes_there_are_a_part_of_them_tells(extra: int):
    episodes = [episode(moves, places) for places, moves in map(drifting, range(3))]

    found = measured(*episodes, *[episodes[0]] * extra)

    assert 0 < found.ranges[0] <= measured(*episodes).ranges[0]
    assert found.moves.tolist() == [True]


def test_one_frame_is_enough():
    found = measured(episode(np.array([[2.0]]), np.array([[1.0]])))

    assert (found.ranges.tolist(), found.moves.tolist()) == ([0.0], [False])


@pytest.mark.parametrize("column", ["action", "state"])
def test_a_number_that_is_not_finite_is_told_with_its_address(column: str):
    good, bad = np.zeros((5, 2)), np.zeros((5, 2))
    bad[3, 1] = np.inf
    broken = episode(bad, good) if column == "action" else episode(good, bad)

    with pytest.raises(DataError) as told:
        measured(episode(good, good), broken)

    assert str(told.value) == f"toy/0 episode 1 frame 3: {column} 1 is recorded as inf"


def test_jumps_between_recordings_that_were_joined_hide_no_motion():
    pieces = [drifting(seed) for seed in range(12)]
    places = np.concatenate([where for where, _ in pieces])
    moves = np.concatenate([step for _, step in pieces])

    assert measured(episode(moves, places)).moves.tolist() == [True]
