import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import DataError
from etude.core.types import Columns, EpisodeSpan
from etude.policies.normalise import Normaliser, fit_moments
from etude.testing.fakes import MemoryDataset, MemoryEpisode, toy_tasks

TASKS = toy_tasks(2)


def dataset_of(*episodes: tuple[object, object]) -> MemoryDataset:
    """Return episodes given as (states, actions) of alternating tasks."""
    return MemoryDataset(
        [
            MemoryEpisode(
                task=TASKS[place % 2].id,
                states=np.array(states, np.float32),
                actions=np.array(actions, np.float32),
            )
            for place, (states, actions) in enumerate(episodes)
        ],
        tasks=TASKS,
    )


def fitted(dataset: MemoryDataset) -> Normaliser:
    """Return a normaliser that has measured all of `dataset`."""
    normaliser = Normaliser(input_dim=dataset.spec.state_dim, action_dim=dataset.spec.action_dim)
    normaliser.adopt(fit_moments(dataset, dataset.episodes, features=lambda states: states))
    return normaliser


class GuardedDataset(MemoryDataset):
    """Fails when anything of an episode is read that was not allowed."""

    allowed: tuple[int, ...] = ()

    def columns(self, episode: EpisodeSpan) -> Columns:
        assert episode.index in self.allowed
        return super().columns(episode)


def test_mean_and_scale_are_those_of_all_frames_of_all_tasks():
    dataset = dataset_of(
        ([[1, 0], [3, 0]], [[10, -1], [10, 1]]),
        ([[5, 6]], [[40, 0]]),
    )

    moments = fit_moments(dataset, dataset.episodes, features=lambda states: states)

    # States 1, 3, 5: mean 3, variance 8/3. States 0, 0, 6: mean 2, variance 8.
    # Actions 10, 10, 40: mean 20, variance 200. Actions -1, 1, 0: mean 0, variance 2/3.
    np.testing.assert_allclose(moments.inputs.mean, [3, 2])
    np.testing.assert_allclose(moments.inputs.std, [1.6329932, 2.8284271], rtol=1e-6)
    np.testing.assert_allclose(moments.actions.mean, [20, 0], atol=1e-7)
    np.testing.assert_allclose(moments.actions.std, [14.1421356, 0.8164966], rtol=1e-6)
    assert moments.inputs.floored == moments.actions.floored == ()


def test_held_out_episodes_are_never_read():
    dataset = GuardedDataset(
        [
            MemoryEpisode(
                task=TASKS[0].id,
                states=np.full((2, 1), value, np.float32),
                actions=np.full((2, 1), value, np.float32),
            )
            for value in (1, 1000, 3)
        ],
        tasks=TASKS,
    )
    dataset.allowed = (0, 2)

    moments = fit_moments(
        dataset, [dataset.episodes[0], dataset.episodes[2]], features=lambda states: states
    )

    assert moments.inputs.mean.tolist() == [2.0]
    assert moments.actions.std.tolist() == [1.0]


def test_a_constant_action_stays_finite_and_comes_back():
    actions = [[0, 0, 0.5], [1, 2, 0.5], [2, 4, 0.5]]
    dataset = dataset_of(([[0]] * 3, actions), ([[1]] * 3, actions))
    normaliser = fitted(dataset)
    recorded = torch.tensor(actions)

    normalised = normaliser.actions(recorded)

    assert normalised[:, 2].tolist() == [0.0, 0.0, 0.0]
    torch.testing.assert_close(normaliser.to_actions(normalised), recorded, rtol=0, atol=1e-6)


@given(value=st.floats(-100, 100, width=32), frames=st.lists(st.integers(1, 9), min_size=1))
def test_any_constant_dimension_comes_back(value: float, frames: list[int]):
    dataset = dataset_of(*(([[value]] * n, [[value]] * n) for n in frames))
    normaliser = fitted(dataset)
    recorded = torch.tensor([[value]])

    normalised = normaliser.actions(recorded)

    assert normalised.isfinite().all()
    assert normaliser.inputs(recorded).abs().max() <= 10
    torch.testing.assert_close(normaliser.to_actions(normalised), recorded, rtol=1e-6, atol=1e-6)


def test_dimensions_that_hardly_change_are_raised_to_the_floor_and_named():
    rows = np.zeros((2, 3), np.float32)
    rows[:, 0] = (0, 2)
    quiet = np.zeros((4_000, 3), np.float32)
    quiet[:, 0] = np.tile([0, 2], 2_000)
    spike = np.array([[1, 8, 0]], np.float32)
    dataset = dataset_of((rows, rows), (spike, spike), *[(quiet, quiet)] * 300)

    moments = fit_moments(dataset, dataset.episodes, features=lambda states: states)

    # Of 1,200,003 frames one is 8: the deviation is 8 / sqrt(1,200,003) = 0.0073, under 0.008.
    assert moments.inputs.floored == (1, 2)
    np.testing.assert_allclose(moments.inputs.std, [1.0, 0.008, 1e-6], rtol=1e-5)


def test_inputs_are_clipped_and_actions_never_are():
    normaliser = fitted(dataset_of(([[-1], [1]], [[-1], [1]])))

    far = torch.tensor([[-1000.0], [5.0], [1000.0]])

    assert normaliser.inputs(far).flatten().tolist() == [-10.0, 5.0, 10.0]
    assert normaliser.actions(far).flatten().tolist() == [-1000.0, 5.0, 1000.0]
    assert normaliser.to_actions(far).flatten().tolist() == [-1000.0, 5.0, 1000.0]


@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=6),
    st.floats(-1e4, 1e4),
    st.floats(1e-2, 1e3),
    st.integers(0, 99),
)
def test_pieces_merged_one_by_one_equal_the_whole(
    frames: list[int], centre: float, spread: float, seed: int
):
    random = np.random.default_rng(seed)
    parts = [(centre + spread * random.normal(size=(n, 2))).astype(np.float32) for n in frames]
    dataset = dataset_of(*((part, part) for part in parts))
    whole = np.concatenate(parts).astype(np.float64)

    moments = fit_moments(dataset, dataset.episodes, features=lambda states: states)

    floor = np.maximum(1e-3 * np.ptp(whole, axis=0), 1e-6)
    np.testing.assert_allclose(moments.inputs.mean, whole.mean(axis=0), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        moments.inputs.std, np.maximum(whole.std(axis=0), floor), rtol=1e-6, atol=1e-9
    )


def test_inputs_are_measured_after_the_features_are_made():
    dataset = dataset_of(([[1, 4], [2, 8]], [[0], [1]]))

    moments = fit_moments(
        dataset, dataset.episodes, features=lambda s: torch.cat([s, s[:, :1] - s[:, 1:]], dim=-1)
    )

    assert moments.inputs.mean.tolist() == [1.5, 6.0, -4.5]
    assert moments.inputs.std.tolist() == [0.5, 2.0, 1.5]


def test_no_frames_are_an_error():
    dataset = dataset_of(([[1]], [[1]]))

    with pytest.raises(DataError, match="memory/toy has no frames to train on") as caught:
        fit_moments(dataset, [], features=lambda states: states)

    assert caught.value.hint == "Record demonstrations, or hold out fewer episodes."


def test_an_empty_episode_changes_nothing():
    dataset = dataset_of(([[1], [3]], [[1], [3]]))
    empty = EpisodeSpan(index=1, task=TASKS[0].id, start=2, stop=2)

    moments = fit_moments(dataset, [*dataset.episodes, empty], features=lambda states: states)

    assert moments.inputs.mean.tolist() == [2.0]
    assert moments.inputs.std.tolist() == [1.0]


def test_the_scales_travel_with_the_weights():
    normaliser = fitted(dataset_of(([[1], [3]], [[10], [30]])))
    other = Normaliser(input_dim=1, action_dim=1)

    other.load_state_dict(normaliser.state_dict())

    assert other.to_actions(torch.tensor([[0.0], [1.0]])).flatten().tolist() == [20.0, 30.0]
