"""What a module must offer to be trained here."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from etude.compute.batch import TensorBatch
from etude.core.types import WindowSpec


@runtime_checkable
class Trainable(Protocol):
    """A torch module that turns windows into losses and can describe itself."""

    @property
    def window(self) -> WindowSpec:
        """What a training window must hold."""
        ...

    def __call__(self, batch: TensorBatch) -> Float[Tensor, " batch"]:
        """Return one loss for each window; padding carries none."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return, ready for JSON, what an export needs beside the tensors."""
        ...

    def parameters(self) -> Iterator[nn.Parameter]: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> Any: ...
