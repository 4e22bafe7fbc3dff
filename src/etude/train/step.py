"""One optimiser step, without waiting for the device."""

import copy
import math
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Bool, Float, Float32
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim.swa_utils import get_ema_multi_avg_fn

from etude.compute.batch import TensorBatch
from etude.train.train_config import TrainConfig
from etude.train.trainable import Trainable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepOutcome:
    """What one step did, still on the device so that nothing waits for it."""

    losses: Float32[Tensor, " batch"]
    grad_norm: Float[Tensor, ""]
    """Before clipping."""


class Optimisation:
    """A module, its averaged twin, and the optimiser between them.

    A step whose loss or gradient is not finite changes nothing: the optimiser itself is told on the
    device, so that the host need not look. With `on_nonfinite = "stop"` every later step changes
    nothing either, until the host does look and stops the run.
    """

    def __init__(self, module: Trainable, config: TrainConfig, *, steps: int) -> None:
        self.module = module
        self.average: Trainable = module if config.ema_decay == 0 else copy.deepcopy(module)
        for parameter in self.average.parameters() if self.average is not module else ():
            parameter.requires_grad = False
        self.optimizer = torch.optim.AdamW(
            module.parameters(), lr=config.lr, weight_decay=config.weight_decay, fused=True
        )
        self._config = config
        self._steps = steps
        self._parameters = list(module.parameters())
        self._averages = [parameter.data for parameter in self.average.parameters()]
        self._bad: Bool[Tensor, ""] = torch.zeros(
            (), dtype=torch.bool, device=self._parameters[0].device
        )

    def step(self, batch: TensorBatch, number: int) -> StepOutcome:
        """Update the weights from one batch.

        Args:
            batch: The windows.
            number: How many steps came before; it alone sets the learning rate.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(number, steps=self._steps, config=self._config)
        self.optimizer.zero_grad(set_to_none=True)
        losses = self.module(batch)
        loss = losses.mean()
        loss.backward()
        grad_norm = clip_grad_norm_(self._parameters, self._config.clip_norm, foreach=True)
        bad = ~(torch.isfinite(loss.detach()) & torch.isfinite(grad_norm))
        if self._config.on_nonfinite == "stop":
            bad = self._bad = self._bad | bad
        # The fused kernel leaves weights and moments alone where this is 1.
        self.optimizer.found_inf = bad.float()  # pyright: ignore[reportAttributeAccessIssue]
        self.optimizer.step()
        self._follow(number)
        return StepOutcome(losses=losses.detach(), grad_norm=grad_norm.detach())

    def _follow(self, number: int) -> None:
        """Move the average towards the weights, faster while there is little to average over."""
        if self.average is self.module:
            return
        decay = min(self._config.ema_decay, (1 + number) / (10 + number))
        live = [parameter.detach() for parameter in self._parameters]
        get_ema_multi_avg_fn(decay)(self._averages, live, number)


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
