import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from etude.compute.batch import TensorBatch, to_tensors
from etude.core.errors import ConfigError, DataError
from etude.policies.chunk_config import ChunkConfig
from etude.policies.chunk_module import ChunkModule, build_chunk_module, chunk_losses
from etude.testing.fakes import MemoryDataset, MemoryEpisode, toy_tasks, walk_dataset

TASKS = toy_tasks(2)


def small(**settings: object) -> ChunkConfig:
    return ChunkConfig(**({"width": 8, "blocks": 1, "task_dim": 2} | settings))


def built(dataset: MemoryDataset, **settings: object) -> ChunkModule:
    """Return a fresh module for `dataset`, the same one every time."""
    torch.manual_seed(0)
    module, _ = build_chunk_module(small(**settings), dataset=dataset, episodes=dataset.episodes)
    return module


def toy() -> MemoryDataset:
    return walk_dataset({TASKS[0].id: (6,), TASKS[1].id: (3, 5)}, tasks=TASKS)


def windows(dataset: MemoryDataset, module: ChunkModule, *rows: int) -> TensorBatch:
    return to_tensors(dataset.windows(np.array(rows, np.int64), module.window))


def test_a_loss_is_the_mean_square_over_valid_entries_only():
    predicted = torch.tensor([[[1.0, 2.0], [5.0, 5.0]], [[0.0, 0.0], [3.0, 0.0]]])
    wanted = torch.zeros(2, 2, 2)
    valid = torch.tensor([[True, False], [True, True]])

    losses = chunk_losses(predicted, wanted, valid)

    # First: (1 + 4) / 2. Second: (0 + 9 / 2) / 2.
    assert losses.tolist() == [2.5, 2.25]


def test_a_window_without_valid_entries_has_no_loss():
    losses = chunk_losses(
        torch.full((1, 2, 1), 7.0), torch.zeros(1, 2, 1), torch.zeros(1, 2, dtype=torch.bool)
    )

    assert losses.tolist() == [0.0]


def test_the_windows_of_a_short_episode_carry_loss_in_their_six_real_slots_alone():
    frames = np.arange(3, dtype=np.float32)[:, None]
    dataset = MemoryDataset(
        [MemoryEpisode(task=TASKS[0].id, states=frames, actions=frames)], tasks=TASKS
    )
    batch = dataset.windows(np.arange(3), ChunkModule(small(horizon=50), dataset.spec).window)
    valid = torch.from_numpy(batch.actions_valid)
    wanted = torch.from_numpy(batch.actions)

    losses = chunk_losses(torch.zeros_like(wanted), wanted, valid)

    assert valid.sum(dim=1).tolist() == [3, 2, 1]
    # Squares of (0, 1, 2), (1, 2) and (2); together the six real slots hold 14.
    assert losses.tolist() == [pytest.approx(5 / 3), 2.5, 4.0]
    assert float((losses * valid.sum(dim=1)).sum() / valid.sum()) == pytest.approx(14 / 6)


@given(st.integers(0, 99), st.floats(-1e3, 1e3))
def test_what_stands_in_padding_never_matters(seed: int, junk: float):
    random = torch.Generator().manual_seed(seed)
    predicted = torch.randn(4, 5, 2, generator=random)
    wanted = torch.randn(4, 5, 2, generator=random)
    valid = torch.rand(4, 5, generator=random) < 0.5
    spoiled = torch.where(valid[..., None], predicted, torch.tensor(junk))

    assert torch.equal(chunk_losses(spoiled, wanted, valid), chunk_losses(predicted, wanted, valid))


def test_every_sample_of_a_batch_has_a_loss_of_its_own():
    dataset = toy()
    module = built(dataset)

    losses = module(windows(dataset, module, 0, 7, 13))
    alone = module(windows(dataset, module, 7, 7, 7))

    assert losses.shape == (3,)
    torch.testing.assert_close(losses[1], alone[1])


def test_training_and_prediction_see_the_same_numbers():
    dataset = toy()
    module = built(dataset, horizon=1, execute=1)
    batch = windows(dataset, module, *range(14))

    predicted = module.predict(batch.states[:, -1], batch.tasks)

    scaled = (predicted - batch.actions) / module.normaliser.action_std
    torch.testing.assert_close(module(batch), scaled.square().mean(dim=(1, 2)))


def test_differences_follow_the_state():
    dataset = MemoryDataset(
        [
            MemoryEpisode(
                task=TASKS[0].id,
                states=np.array([[1, 2, 3, 10, 20, 30]], np.float32),
                actions=np.zeros((1, 1), np.float32),
            )
        ],
        tasks=TASKS,
    )
    module = ChunkModule(small(differences=((3, 0, 3), (0, 5, 1))), dataset.spec)

    features = module.features(torch.tensor([[1.0, 2, 3, 10, 20, 30]]))

    assert features.tolist() == [[1, 2, 3, 10, 20, 30, 9, 18, 27, -29]]


def test_each_scale_shows_every_difference_once_more():
    dataset = MemoryDataset(
        [
            MemoryEpisode(
                task=TASKS[0].id,
                states=np.array([[0.0, 0.1, 3.0]], np.float32),
                actions=np.zeros((1, 1), np.float32),
            )
        ],
        tasks=TASKS,
    )
    module = ChunkModule(small(differences=((1, 0, 1),), scales=(0.1, 0.2)), dataset.spec)

    features = module.features(torch.tensor([[0.0, 0.1, 3.0]]))

    # The last two are the hyperbolic tangents of one and of a half.
    assert features.tolist()[0] == pytest.approx([0.0, 0.1, 3.0, 0.1, 0.761594, 0.462117])


def test_differences_beyond_the_state_are_refused():
    with pytest.raises(
        ConfigError, match=r"policy\.differences has \(1, 0, 3\), beyond a state of 3"
    ):
        ChunkModule(small(differences=((1, 0, 3),)), toy().spec)


def test_a_module_with_differences_trains_and_predicts():
    dataset = toy()
    module = built(dataset, differences=((0, 1, 2),), scales=(0.5,))
    batch = windows(dataset, module, 0, 1)

    module(batch).mean().backward()

    assert module.predict(batch.states[:, -1], batch.tasks).shape == (2, 8, 2)
    assert all(p.grad is not None and p.grad.isfinite().all() for p in module.parameters())


def test_half_precision_in_training_still_gives_full_losses():
    dataset = toy()
    module = built(dataset, precision="bfloat16")

    losses = module(windows(dataset, module, 0, 1))

    assert losses.dtype == torch.float32
    assert losses.isfinite().all()


def test_dimensions_that_hardly_change_are_named_once():
    states = np.zeros((4, 2), np.float32)
    states[:, 0] = range(4)
    dataset = MemoryDataset(
        [MemoryEpisode(task=TASKS[0].id, states=states, actions=states)], tasks=TASKS
    )

    _, warnings = build_chunk_module(small(), dataset=dataset, episodes=dataset.episodes)

    assert warnings == (
        "input dimensions 1 hardly change; their scale was raised to the floor",
        "action dimensions 1 hardly change; their scale was raised to the floor",
    )


def test_no_training_episodes_are_an_error():
    with pytest.raises(DataError, match="no frames"):
        build_chunk_module(small(), dataset=toy(), episodes=[])


def test_equal_seeds_give_equal_weights():
    one, two = built(toy()), built(toy())

    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, two.state_dict()[name])
