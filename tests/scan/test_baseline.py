import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from etude.core.errors import DataError
from etude.scan.baseline import draw_episodes, hold_errors, task_baselines
from etude.scan.groups import ActionGroup
from etude.testing.fakes import MemoryDataset, MemoryEpisode, toy_tasks

TASKS = toy_tasks(2)


def recorded(*episodes: tuple[int, object]) -> MemoryDataset:
    """Return a dataset of episodes, each given by its task's place and its actions."""
    made: list[MemoryEpisode] = []
    for task, actions in episodes:
        rows = np.array(actions, np.float32)
        states = np.zeros((len(rows), 1), np.float32)
        made.append(MemoryEpisode(task=TASKS[task].id, states=states, actions=rows))
    return MemoryDataset(made, tasks=TASKS)


def baselines(dataset: MemoryDataset, *, horizon: int = 2, groups: int = 1):
    dims = range(dataset.spec.action_dim)
    named = [ActionGroup(name=f"g{dim}", dims=(dim,)) for dim in dims]
    return task_baselines(
        dataset,
        dataset.episodes,
        groups=named if groups > 1 else [ActionGroup(name="arm", dims=tuple(dims))],
        horizon=horizon,
    )


def test_holding_repeats_the_action_before_and_is_cut_at_the_end():
    # Held 0 against 1, 3: (1 + 9) / 2. Held 1 against 3, 3: (4 + 4) / 2. Held 3 against 3: 0.
    errors = hold_errors(np.array([[0.0], [1.0], [3.0], [3.0]]), horizon=2)

    assert errors.tolist() == [[5.0], [4.0], [0.0]]


@given(arrays(np.float64, st.tuples(st.integers(1, 9), st.just(2)), elements=st.floats(-9, 9)))
def test_a_longer_horizon_than_the_episode_is_as_good_as_its_length(actions: np.ndarray):
    assert np.array_equal(hold_errors(actions, horizon=9), hold_errors(actions, horizon=500))


def test_the_scale_is_the_deviation_over_all_frames_of_all_episodes():
    # Of 0, 1, 2, 3, 100: mean 21.2, population deviation 39.4127...
    dataset = recorded((0, [[0], [1]]), (0, [[2], [3]]), (0, [[100]]))

    scale = baselines(dataset).of(TASKS[0].id).scale

    assert scale == pytest.approx([39.41269], abs=1e-4)


def test_hold_errors_are_in_units_of_the_scale():
    # 0, 1, 3, 3 has mean 1.75 and variance (3.0625 + 0.5625 + 1.5625 + 1.5625) / 4 = 1.6875;
    # the mean hold error of its three windows is 3.
    baseline = baselines(recorded((0, [[0], [1], [3], [3]]))).of(TASKS[0].id)

    assert baseline.hold == {"arm": pytest.approx(3 / 1.6875)}
    assert baseline.floored == ()


def test_each_task_has_its_own_units_and_all_share_the_range():
    found = baselines(recorded((0, [[0], [4]]), (1, [[10], [30]])))

    assert found.ranges.tolist() == [30.0]
    assert found.of(TASKS[0].id).scale.tolist() == [2.0]
    assert found.of(TASKS[1].id).scale.tolist() == [10.0]


def test_a_dimension_that_stands_still_in_a_task_is_judged_by_its_range_elsewhere():
    # Task 0 keeps at 0; the range is 2, so the scale is floored at 0.002, and being off by 5 % of
    # the range (0.1) counts as much as holding still does elsewhere: (0.1 / 0.002)^2.
    found = baselines(recorded((0, [[0], [0], [0]]), (1, [[-1], [1]])))

    still = found.of(TASKS[0].id)

    assert still.scale == pytest.approx([0.002])
    assert still.hold == {"arm": pytest.approx(2500.0)}
    assert still.floored == (0,)


def test_a_dimension_that_never_changes_has_the_smallest_scale():
    still = baselines(recorded((0, [[5], [5]]))).of(TASKS[0].id)

    assert still.scale.tolist() == [1e-6]
    assert still.hold == {"arm": pytest.approx(1.0)}


@pytest.mark.parametrize("episodes", [[[[1]], [[2]]], [[[1], [1]], [[2], [2]]]])
def test_episodes_that_only_differ_from_each_other_still_have_a_baseline(episodes: object):
    # The range is 1 and the deviation 0.5; nothing moves within an episode: (0.05 / 0.5)^2.
    still = baselines(recorded(*((0, each) for each in episodes))).of(TASKS[0].id)

    assert still.hold == {"arm": pytest.approx(0.01)}


@given(
    st.lists(
        arrays(
            np.float32,
            st.tuples(st.integers(1, 6), st.just(2)),
            elements=st.floats(-9, 9, width=32),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_whatever_was_recorded_the_units_are_finite_and_over_zero(episodes: list[np.ndarray]):
    found = baselines(recorded(*((0, each) for each in episodes)), groups=2).of(TASKS[0].id)

    numbers = [*found.scale.tolist(), *found.hold.values()]
    assert all(0 < number < np.inf for number in numbers)


def test_a_task_without_training_episodes_is_told():
    found = baselines(recorded((0, [[0], [1]])))

    with pytest.raises(DataError, match=r"^toy/1 has no training episode"):
        found.of(TASKS[1].id)


def test_a_recorded_action_that_is_no_number_is_told_with_its_place():
    dataset = recorded((0, [[0], [1]]), (1, [[0], [np.nan]]))

    with pytest.raises(DataError, match=r"^toy/1 episode 1 frame 1: action 0 is recorded as nan$"):
        baselines(dataset)


def test_of_very_many_episodes_the_same_few_are_measured_when_more_are_added():
    episodes = recorded(*((0, [[i]]) for i in range(100))).episodes

    few, more = draw_episodes(episodes[:99], 8), draw_episodes(episodes, 8)

    assert len({each.index for each in few}) == 8
    assert len(set(few) & set(more)) >= 7
