"""How a module is trained on all ranks, applied from outside of it.

A strategy changes neither names nor meaning of a module's tensors, so that a checkpoint does not
show which one wrote it.
"""

import warnings
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, distributed, nn
from torch.distributed import ProcessGroup
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import (
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
    register_fsdp_forward_method,
)
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from etude.compute.strategy_blocks import Blocks, blocks_of
from etude.compute.strategy_config import ParallelConfig
from etude.core.errors import ConfigError
from etude.core.protocols import Ranks

FURTHER_METHODS = ("predict",)
"""Methods that compute with weights, beside the call itself."""

_groups: set[ProcessGroup] = set()
"""Every group over which a module was laid out, for as long as the process lives.

Whoever lets go of a group last waits for its threads, and one of these may be waiting for the
interpreter. DDP does not lend the interpreter to others while it lets go, as the group itself does,
so it must never be the last: both would wait for ever.

Source: https://github.com/pytorch/pytorch/pull/154976, which makes the group lend it.
"""


class Strategy:
    """A module that is trained on `size` ranks, and what differs from training it on one."""

    def __init__(self, module: nn.Module, ranks: Ranks, config: ParallelConfig) -> None:
        """Lay `module` out over the ranks; every rank gives equal weights, at the same time.

        Raises:
            ConfigError: The strategy cannot serve so many ranks.
        """
        self.name = strategy_name(config, ranks)
        self.size = ranks.size
        self.module = module
        self._config = config
        self._device = next(module.parameters()).device
        self._mesh: DeviceMesh | None = None
        self._news: list[str] = []
        self._blocks = Blocks(module, ranks, config)
        self._called: nn.Module = module
        if self.name != "single":
            _groups.add(_whole_group())
        if self.name == "ddp":
            self._called = _copied_to_all(module)
        elif self.name == "fsdp2":
            self._mesh = init_device_mesh(self._device.type, (self.size,))
            self._shard(module, reshard=config.reshard_after_forward, policy=_policy(config))

    def follow(self, average: nn.Module) -> None:
        """Lay out, as the module is, a copy that was made before the module was laid out.

        It is gathered in float32 for every call, since nobody says when its weights have changed.
        """
        if self.name == "fsdp2":
            self._shard(average, reshard=True, policy=MixedPrecisionPolicy())

    def losses(self, *batch: Any) -> Float[Tensor, " batch"]:
        """Return the module's losses of this rank's windows."""
        if self._config.precision == "float32":
            return self._called(*batch)
        with torch.autocast(self._device.type, dtype=torch.bfloat16):
            return self._called(*batch)

    @contextmanager
    def backward(self, *, last: bool) -> Generator[None, None, None]:
        """Let a forward and backward pass add to the gradients; the `last` one shares them."""
        if isinstance(self._called, FSDPModule):
            self._called.set_requires_gradient_sync(last)
        if isinstance(self._called, DistributedDataParallel) and not last:
            with self._called.no_sync():
                yield
        else:
            yield

    def refresh(self) -> None:
        """Let the next call see the weights as they are now, compiled once it is known how."""
        if message := self._blocks.settle():
            self._news.append(message)
        for part in self.module.modules():
            if isinstance(part, FSDPModule):
                part.reshard()

    def clip(self, parameters: Sequence[nn.Parameter], most: float) -> Float[Tensor, ""]:
        """Shorten the gradient of all ranks' weights to `most`, and return how long it was."""
        gradients = [p.grad for p in parameters if p.grad is not None]
        norm = get_total_norm(gradients, foreach=True)
        if isinstance(norm, DTensor):
            norm = norm.full_tensor()
        clip_grads_with_norm_(parameters, most, norm, foreach=True)
        return norm

    def news(self) -> list[str]:
        """Return what the user should know and has not been told yet."""
        news, self._news = self._news, []
        return news

    def _shard(self, module: nn.Module, *, reshard: bool, policy: MixedPrecisionPolicy) -> None:
        for part in (*blocks_of(module), module):
            fully_shard(part, mesh=self._mesh, reshard_after_forward=reshard, mp_policy=policy)
        for method in FURTHER_METHODS:
            if hasattr(module, method):
                register_fsdp_forward_method(module, method)


def strategy_name(config: ParallelConfig, ranks: Ranks) -> str:
    """Return which strategy is meant.

    Raises:
        ConfigError: It cannot serve so many ranks.
    """
    if ranks.size == 1:
        return "single"
    if config.strategy == "single":
        raise ConfigError(
            f"parallel.strategy is 'single', but there are {ranks.size} ranks",
            hint="Set --parallel.strategy ddp or fsdp2, or start one process.",
        )
    return "ddp" if config.strategy == "auto" else config.strategy


def _whole_group() -> ProcessGroup:
    group = distributed.group.WORLD
    assert group is not None
    return group


def _copied_to_all(module: nn.Module) -> DistributedDataParallel:
    with warnings.catch_warnings():
        # Newer versions have another word for it, which older ones do not know.
        warnings.simplefilter("ignore", FutureWarning)
        return DistributedDataParallel(
            module, broadcast_buffers=False, gradient_as_bucket_view=True
        )


def _policy(config: ParallelConfig) -> MixedPrecisionPolicy:
    if config.precision == "float32":
        return MixedPrecisionPolicy()
    return MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
