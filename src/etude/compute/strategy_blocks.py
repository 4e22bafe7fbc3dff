"""What is done to the blocks of a module one by one: compiling them, computing them again."""

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint  # pyright: ignore[reportUnknownVariableType]
from torch.utils.hooks import RemovableHandle

from etude.compute.strategy_config import ParallelConfig
from etude.compute.strategy_trial import Specimen, why_not
from etude.core.protocols import Ranks
from etude.core.ranks import together


def blocks_of(module: nn.Module) -> list[nn.Module]:
    """Return the parts that are gathered, compiled and computed again one by one.

    They are what the module keeps in lists, as the layers of a transformer are kept.
    """
    blocks: list[nn.Module] = []
    for child in module.children():
        blocks += child if isinstance(child, nn.ModuleList) else blocks_of(child)
    return blocks


class Blocks:
    """The blocks of a module; only their `forward` is replaced, so that all names stay."""

    def __init__(self, module: nn.Module, ranks: Ranks, config: ParallelConfig) -> None:
        """Prepare the blocks of a module that is not laid out over the ranks yet."""
        self._ranks = ranks
        self._config = config
        self._forwards = [(block, block.forward) for block in blocks_of(module)]
        self._device = next(module.parameters()).device
        self._specimens: dict[type[nn.Module], Specimen] = {}
        self._watches: list[RemovableHandle] = []
        if config.compile:
            self._watch()
        self._install(_as_is)

    def settle(self) -> str:
        """Compile, once the blocks have been called; return why not, for the user, if they cannot.

        All ranks call it alike; rank 0 tries for all.
        """
        if not self._specimens:
            return ""
        specimens, self._specimens = list(self._specimens.values()), {}
        for watch in self._watches:
            watch.remove()
        reason = together(self._ranks, lambda: self._tried(specimens))[0]
        if reason:
            return f"torch.compile {reason}; training goes on without"
        self._install(_compiled)
        return ""

    def _tried(self, specimens: Sequence[Specimen]) -> str:
        if self._ranks.rank != 0:
            return ""
        return why_not(specimens, limit_s=self._config.compile_limit_s)

    def _install(self, compiled: Callable[..., Any]) -> None:
        for block, forward in self._forwards:
            made = compiled(forward)
            again = self._config.checkpoint_activations
            block.forward = partial(_recomputed, made) if again else made

    def _watch(self) -> None:
        """Note with what the first block of each kind is called first."""
        firsts = {type(block): block for block, _ in reversed(self._forwards)}
        for kind, block in firsts.items():
            note = partial(self._note, kind, copy.deepcopy(block))
            self._watches.append(block.register_forward_pre_hook(note))

    def _note(
        self, kind: type[nn.Module], twin: nn.Module, block: nn.Module, inputs: tuple[Any, ...]
    ) -> None:
        del block
        if kind not in self._specimens:
            self._specimens[kind] = Specimen(
                block=twin,
                inputs=tuple(_apart(value) for value in inputs),
                device=self._device.type,
                bfloat16=self._config.precision == "bfloat16",
            )


def _as_is(forward: Callable[..., Any]) -> Callable[..., Any]:
    return forward


def _compiled(forward: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(forward)


def _apart(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    return value.detach().clone().requires_grad_(value.requires_grad)


def _recomputed(forward: Callable[..., Any], *inputs: Any) -> Any:
    return cast("Any", checkpoint(forward, *inputs, use_reentrant=False))
