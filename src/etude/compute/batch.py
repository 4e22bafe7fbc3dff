"""Training windows as tensors."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor

from etude.core.types import WindowBatch


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TensorBatch:
    """A `WindowBatch` on a device, still in the dataset's own units."""

    tasks: Int64[Tensor, " batch"]
    states: Float32[Tensor, "batch observations state"]
    states_valid: Bool[Tensor, "batch observations"]
    actions: Float32[Tensor, "batch horizon action"]
    actions_valid: Bool[Tensor, "batch horizon"]
    actions_used: Bool[Tensor, "batch action"] | None = None
    """Which dimensions each example's robot has; None where all have all."""


def to_tensors(windows: WindowBatch, device: torch.device | None = None) -> TensorBatch:
    """Return the windows as tensors; on a CPU they share the arrays' memory."""

    def tensor(array: object) -> Tensor:
        return torch.as_tensor(array, device=device)

    return TensorBatch(
        tasks=tensor(windows.tasks),
        states=tensor(windows.states),
        states_valid=tensor(windows.states_valid),
        actions=tensor(windows.actions),
        actions_valid=tensor(windows.actions_valid),
        actions_used=None if windows.actions_used is None else tensor(windows.actions_used),
    )
