"""Copies of tensors as they are at one instant, so that they can be written while others change."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

Take = Callable[[str, Tensor], Tensor]
"""Returns what shall be written of a tensor with a name."""


class Copies:
    """Memory outside of any accelerator that is used again for every instant.

    A new instant overwrites the copies of the one before.
    """

    def __init__(self) -> None:
        self._memory: dict[str, Tensor] = {}
        self._taken: set[str] = set()

    def new_instant(self) -> None:
        """Forget what was copied; the caller has no use for it any more."""
        self._taken.clear()

    @torch.no_grad()
    def take(self, name: str, tensor: Tensor) -> Tensor:
        """Return a copy of `tensor`, made by the first call of this instant for `name`."""
        memory = self._memory.get(name)
        if memory is None or (memory.shape, memory.dtype) != (tensor.shape, tensor.dtype):
            memory = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
            self._memory[name] = memory
            self._taken.discard(name)
        if name not in self._taken:
            memory.copy_(tensor.detach())
            self._taken.add(name)
        return memory


def themselves(name: str, tensor: Tensor) -> Tensor:
    """Return the tensor, for whoever waits until it is written."""
    del name
    return tensor.detach()


def own_part(tensor: Tensor) -> Tensor:
    """Return the part of a tensor that this rank holds; all of it unless it is sharded."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor
