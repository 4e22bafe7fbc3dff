"""One optimiser step, without waiting for the device."""

import copy
import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import torch
from jaxtyping import Bool, Float, Float32
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from etude.checkpoints.copies import own_part
from etude.compute.batch import TensorBatch
from etude.compute.strategy import Strategy
from etude.compute.strategy_agreement import on_any_rank
from etude.compute.strategy_config import ParallelConfig
from etude.core.protocols import Ranks
from etude.core.ranks import Solo
from etude.train.train_config import TrainConfig
from etude.train.trainable import Trainable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepOutcome:
    """What one step did, still on the device so that nothing waits for it."""

    losses: Float32[Tensor, " share"]
    """Of this rank's windows, without those that only fill up."""
    grad_norm: Float[Tensor, ""]
    """Of all ranks, before clipping."""


class Optimisation:
    """A module, its averaged twin, and the optimiser between them, on one rank or several.

    A step whose loss or gradient is not finite, on whatever rank, changes nothing: the optimiser
    itself is told on the device, so that the host need not look. With `on_nonfinite = "stop"` every
    later step changes nothing either, until the host does look and stops the run.
    """

    def __init__(
        self,
        module: Trainable,
        config: TrainConfig,
        *,
        steps: int,
        ranks: Ranks | None = None,
        parallel: ParallelConfig | None = None,
    ) -> None:
        """Prepare to train `module`, whose weights must be the same on every rank.

        Raises:
            ConfigError: The strategy cannot serve so many ranks.
        """
        self.module = module
        self.average: Trainable = module if config.ema_decay == 0 else copy.deepcopy(module)
        self.ranks: Ranks = Solo() if ranks is None else ranks
        self._parallel = ParallelConfig() if parallel is None else parallel
        self.strategy = Strategy(as_module(module), self.ranks, self._parallel)
        if self.average is not module:
            as_module(self.average).requires_grad_(requires_grad=False)
            self.strategy.follow(as_module(self.average))
        self.optimizer = torch.optim.AdamW(
            module.parameters(), lr=config.lr, weight_decay=config.weight_decay, fused=True
        )
        self._config = config
        self._steps = steps
        self._parameters = list(module.parameters())
        self._averages = list(self.average.parameters())
        self._bad: Bool[Tensor, ""] = torch.zeros(
            (), dtype=torch.bool, device=self._parameters[0].device
        )

    def step(
        self, batch: TensorBatch, number: int, *, rows: int | None = None, of: int | None = None
    ) -> StepOutcome:
        """Update the weights from one batch; the loss is its mean over the windows of all ranks.

        Args:
            batch: The windows of this rank.
            number: How many steps came before; it alone sets the learning rate.
            rows: How many windows count, from the first; the others only fill up. None for all.
            of: Windows that count on all ranks together; None for `rows`.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(number, steps=self._steps, config=self._config)
        self.optimizer.zero_grad(set_to_none=True)
        rows = len(batch.tasks) if rows is None else rows
        losses = self._gradients(batch, rows, rows if of is None else of)
        grad_norm = self.strategy.clip(self._parameters, self._config.clip_norm)
        bad = ~(torch.isfinite(losses).all() & torch.isfinite(grad_norm))
        bad = on_any_rank(bad, self.ranks.size)
        if self._config.on_nonfinite == "stop":
            bad = self._bad = self._bad | bad
        # The fused kernel leaves weights and moments alone where this is 1.
        self.optimizer.found_inf = bad.float()  # pyright: ignore[reportAttributeAccessIssue]
        self.optimizer.step()
        self._follow(number)
        return StepOutcome(losses=losses, grad_norm=grad_norm.detach())

    def _gradients(self, batch: TensorBatch, rows: int, of: int) -> Float32[Tensor, " share"]:
        """Fill the gradients, part by part, and return the losses."""
        self.strategy.refresh()
        parts = self._parallel.accumulate
        losses: list[Tensor] = []
        for number, part in enumerate(split(batch, parts)):
            with self.strategy.backward(last=number == parts - 1):
                begin = number * len(part.tasks)
                counted = self.strategy.losses(part)[: max(0, rows - begin)]
                # Gradients are averaged over ranks, so each rank takes its part that much fuller.
                (counted.sum() / (of / self.ranks.size)).backward()
            losses.append(counted.detach())
        return torch.cat(losses)

    def _follow(self, number: int) -> None:
        """Move the average towards the weights, faster while there is little to average over."""
        if self.average is self.module:
            return
        decay = min(self._config.ema_decay, (1 + number) / (10 + number))
        with torch.no_grad():
            averages = [own_part(parameter) for parameter in self._averages]
            live = [own_part(parameter.detach()) for parameter in self._parameters]
            get_ema_multi_avg_fn(decay)(averages, live, number)


def split(batch: TensorBatch, parts: int) -> Iterator[TensorBatch]:
    """Yield a batch in equal parts, which its length must be a multiple of."""
    size = len(batch.tasks) // parts
    held = {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}
    for begin in range(0, size * parts, size):
        part: dict[str, Any] = {
            name: None if rows is None else rows[begin : begin + size]
            for name, rows in held.items()
        }
        yield TensorBatch(**part)


def learning_rate(number: int, *, steps: int, config: TrainConfig) -> float:
    """Return the learning rate of the step that follows `number` steps: linear up, cosine down.

    Source: Loshchilov and Hutter, "SGDR", arXiv:1608.03983, eq. 5, without restarts.
    """
    if number < config.warmup_steps:
        return config.lr * (number + 1) / config.warmup_steps
    share = (number - config.warmup_steps) / max(1, steps - config.warmup_steps)
    cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, share)))
    return config.lr * (config.final_lr + (1 - config.final_lr) * cosine)


def as_module(trainable: Trainable) -> nn.Module:
    """Return the torch module that a trainable is."""
    return cast("nn.Module", trainable)
