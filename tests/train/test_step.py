import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from etude.compute.batch import TensorBatch
from etude.core.types import WindowSpec
from etude.train.step import Optimisation, learning_rate, split
from etude.train.train_config import TrainConfig


class Line(nn.Module):
    """One weight w with the loss (w * state - action)^2."""

    window = WindowSpec(action_offsets=(0,))

    def __init__(self, start: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(start))

    def forward(self, batch: TensorBatch) -> Tensor:
        return (self.weight * batch.states[:, 0, 0] - batch.actions[:, 0, 0]).square()

    def describe(self) -> dict[str, object]:
        return {}


def batch(state: float, action: float, rows: int = 2) -> TensorBatch:
    return TensorBatch(
        tasks=torch.zeros(rows, dtype=torch.int64),
        states=torch.full((rows, 1, 1), state),
        states_valid=torch.ones(rows, 1, dtype=torch.bool),
        actions=torch.full((rows, 1, 1), action),
        actions_valid=torch.ones(rows, 1, dtype=torch.bool),
    )


def test_the_parts_of_a_batch_hold_all_its_rows_in_order():
    whole = replace(
        batch(1.0, 2.0, rows=4),
        tasks=torch.tensor([3, 2, 1, 0]),
        actions_used=torch.tensor([[True], [False], [True], [False]]),
    )

    first, second = split(whole, 2)

    assert (first.tasks.tolist(), second.tasks.tolist()) == ([3, 2], [1, 0])
    assert first.actions_used is not None
    assert first.actions_used.tolist() == [[True], [False]]
    assert first.states.shape == (2, 1, 1)


def test_what_a_batch_does_not_have_its_parts_do_not_have():
    assert [part.actions_used for part in split(batch(1.0, 2.0), 2)] == [None, None]


def test_the_learning_rate_rises_linearly_and_falls_as_a_cosine():
    config = TrainConfig(lr=1.0, warmup_steps=4, final_lr=0.1)

    rates = [learning_rate(n, steps=12, config=config) for n in (0, 1, 3, 4, 8, 12)]

    assert rates == pytest.approx([0.25, 0.5, 1.0, 1.0, 0.55, 0.1])


def test_without_warm_up_the_first_step_has_the_full_rate():
    config = TrainConfig(lr=0.5, warmup_steps=0)

    assert learning_rate(0, steps=10, config=config) == 0.5


def test_adam_moves_by_the_learning_rate_at_first_whatever_the_gradient():
    config = TrainConfig(lr=0.1, warmup_steps=0, weight_decay=0.0, clip_norm=1e9)
    optimisation = Optimisation(Line(1.0), config, steps=1000)

    outcome = optimisation.step(batch(1.0, 5.0), 0)

    assert outcome.losses.tolist() == [16.0, 16.0]
    assert outcome.grad_norm.item() == pytest.approx(8.0)
    assert optimisation.module.state_dict()["weight"].item() == pytest.approx(1.1, abs=1e-4)


def test_the_average_follows_fast_at_first_and_slowly_later():
    config = TrainConfig(lr=0.1, warmup_steps=0, weight_decay=0.0, ema_decay=0.5)
    optimisation = Optimisation(Line(1.0), config, steps=10**9)

    optimisation.step(batch(1.0, 5.0), 0)
    first = optimisation.average.state_dict()["weight"].item()
    live = optimisation.module.state_dict()["weight"].item()
    optimisation.step(batch(1.0, 5.0), 100)
    second = optimisation.average.state_dict()["weight"].item()
    live_later = optimisation.module.state_dict()["weight"].item()

    assert first == pytest.approx(0.1 * 1.0 + 0.9 * live)
    assert second == pytest.approx(0.5 * first + 0.5 * live_later)


def test_without_averaging_inference_uses_the_live_weights():
    optimisation = Optimisation(Line(1.0), TrainConfig(ema_decay=0.0), steps=10)

    assert optimisation.average is optimisation.module


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_bad_step_changes_nothing_and_in_stop_mode_neither_do_later_ones(bad: float):
    config = TrainConfig(lr=0.1, warmup_steps=0, on_nonfinite="stop")
    optimisation = Optimisation(Line(1.0), config, steps=10)

    optimisation.step(batch(bad, 5.0), 0)
    optimisation.step(batch(1.0, 5.0), 1)

    assert optimisation.module.state_dict()["weight"].item() == 1.0


def test_in_skip_mode_the_next_good_step_counts_again():
    config = TrainConfig(lr=0.1, warmup_steps=0, weight_decay=0.0, on_nonfinite="skip")
    optimisation = Optimisation(Line(1.0), config, steps=1000)

    optimisation.step(batch(math.nan, 5.0), 0)
    optimisation.step(batch(1.0, 5.0), 1)

    assert optimisation.module.state_dict()["weight"].item() == pytest.approx(1.1, abs=1e-4)
