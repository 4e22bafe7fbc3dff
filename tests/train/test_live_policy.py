"""The weights in training play as their export would, and go on training as if nobody had."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from etude.core.errors import PolicyError
from etude.core.protocols import Policy
from etude.core.types import Observation, TaskId
from etude.policies.chunk_config import ChunkConfig
from etude.policies.chunk_module import ChunkModule, build_chunk_module
from etude.policies.chunk_policy import ChunkPolicy
from etude.train.live_policy import LivePolicy, Playable
from training_run import TASKS, dataset


class Mute(nn.Linear):
    """A module that can be trained, but says nothing of how it is played."""

    window = ChunkConfig()

    def describe(self) -> dict[str, object]:
        return {}


@pytest.fixture
def module() -> ChunkModule:
    torch.manual_seed(0)
    data = dataset()
    config = ChunkConfig(width=16, blocks=1, task_dim=4, horizon=4, execute=2)
    return build_chunk_module(config, dataset=data, episodes=data.episodes)[0]


def seen(count: int = 6) -> list[Observation]:
    random = np.random.default_rng(0)
    return [
        Observation(task=TASKS[i % 3].id, state=random.normal(size=3).astype(np.float32))
        for i in range(count)
    ]


def test_it_answers_as_the_policy_of_the_same_weights(module: ChunkModule):
    live = LivePolicy(module, module.spec, key="run@50")

    chunks = live.act(seen(), seed=0)

    assert isinstance(live, Policy)
    assert isinstance(module, Playable)
    assert (live.key, live.horizon, live.execute) == ("run@50", 4, 2)
    for chunk, wanted in zip(chunks, ChunkPolicy(module).act(seen(), seed=0), strict=True):
        assert np.array_equal(chunk.actions, wanted.actions)
        assert chunk.valid.all()


def test_the_module_trains_on_in_the_mode_that_it_was_in(module: ChunkModule):
    module.train()
    random = torch.get_rng_state()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}

    LivePolicy(module, module.spec, key="k").act(seen(), seed=0)

    assert module.training
    assert torch.equal(torch.get_rng_state(), random)
    assert all(torch.equal(before[name], each) for name, each in module.state_dict().items())
    assert all(parameter.grad is None for parameter in module.parameters())


def test_a_module_that_cannot_be_played_is_refused(module: ChunkModule, tmp_path: Path):
    mute = Mute(1, 1)

    with pytest.raises(PolicyError, match="has no predict") as caught:
        LivePolicy(mute, module.spec, key="k")  # pyright: ignore

    assert "score.kind" in caught.value.hint


def test_a_task_that_the_policy_does_not_know_is_no_silent_zero(module: ChunkModule):
    stranger = Observation(task=TaskId("x/1"), state=np.zeros(3, np.float32))

    with pytest.raises(PolicyError, match="x/1 is none of the 3 tasks"):
        LivePolicy(module, module.spec, key="k").act([stranger], seed=0)
