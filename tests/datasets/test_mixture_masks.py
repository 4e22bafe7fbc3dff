"""Dimensions that a robot does not have carry no loss, no statistics and no error."""

import numpy as np
import pytest
import torch

from etude.compute.batch import to_tensors
from etude.core.types import WindowChoice, WindowSpec
from etude.datasets.mixture import MixedDataset, open_dataset
from etude.datasets.mixture_config import MixtureConfig
from etude.policies.chunk_config import ChunkConfig
from etude.policies.chunk_module import build_chunk_module, chunk_losses
from etude.policies.normalise import fit_moments
from etude.scan.groups import action_groups
from etude.scan.score import Judge
from etude.scan.units import measure_units
from robots import write_robot


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> MixedDataset:
    """7 dimensions that count 1 to 5, and 14 that count 1 to 3."""
    folder = tmp_path_factory.mktemp("mixed")
    write_robot(folder / "one", size=7, lengths=[5])
    write_robot(folder / "two", size=14, lengths=[3])
    return open_dataset(MixtureConfig(roots=(str(folder / "one"), str(folder / "two"))))


def test_a_loss_is_the_mean_over_the_dimensions_that_a_robot_has():
    predicted = torch.tensor([[[3.0, 9.0]], [[3.0, 9.0]]])
    used = torch.tensor([[True, False], [True, True]])
    valid = torch.ones(2, 1, dtype=torch.bool)

    losses = chunk_losses(predicted, torch.zeros(2, 1, 2), valid, used)

    # 9 of one dimension; (9 + 81) / 2 of two.
    assert losses.tolist() == [9.0, 45.0]


def test_no_gradient_comes_from_a_dimension_that_a_robot_does_not_have(mixed: MixedDataset):
    torch.manual_seed(0)
    module, _ = build_chunk_module(
        ChunkConfig(width=8, blocks=1, task_dim=2, horizon=2, execute=2),
        dataset=mixed,
        episodes=mixed.episodes,
    )
    batch = to_tensors(mixed.windows(np.array([0, 1]), module.window))

    module(batch).sum().backward()

    gradient = module.network.leave.bias.grad
    assert gradient is not None
    by_dimension = gradient.reshape(2, 14).abs().sum(dim=0)
    assert (by_dimension[:7] > 0).all()
    assert (by_dimension[7:] == 0).all()


def test_statistics_are_those_of_the_robots_that_have_a_dimension(mixed: MixedDataset):
    moments = fit_moments(mixed, mixed.episodes, features=lambda states: states)

    # 1, 2, 3, 4, 5, 1, 2, 3 of both robots: mean 21 / 8; 1, 2, 3 of one: mean 2, variance 2 / 3.
    np.testing.assert_allclose(moments.actions.mean[:7], 21 / 8)
    np.testing.assert_allclose(moments.actions.mean[7:], 2)
    np.testing.assert_allclose(moments.actions.std[7:], 0.81649658)
    np.testing.assert_allclose(moments.inputs.mean[7:], 1)


def test_an_error_is_judged_over_the_dimensions_that_a_robot_has(mixed: MixedDataset):
    units = measure_units(mixed, mixed.episodes, actions="absolute")
    judge = Judge(mixed, groups=action_groups(mixed.spec), units=units, horizon=1)
    one, two = (
        WindowChoice(task=span.task, episode=span.index, frame=1, stratum="all", weight=1, seed=0)
        for span in mixed.episodes
    )
    # Right where a robot moves, and wrong by 3 in all other dimensions.
    squared = [[0.0] * 7 + [9.0] * 7] * 2

    scores = judge.scores([two, one], squared, [[0.0] * 7 + [3.0] * 7] * 2)

    assert [score.mse for score in scores] == [4.5, 0.0]
    assert [score.mae for score in scores] == [1.5, 0.0]
    assert scores[0].gmse > 1
    assert scores[1].gmse == 0
    assert units.ranges.tolist() == [4.0] * 7 + [2.0] * 7


def test_windows_say_nothing_of_a_mask_where_there_is_one_robot(mixed: MixedDataset):
    batch = mixed.parts[0].windows(np.array([0]), WindowSpec(action_offsets=(0,)))

    assert batch.actions_used is None
    assert to_tensors(batch).actions_used is None
