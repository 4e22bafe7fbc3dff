"""Settings of how ranks share a model and its batches."""

from dataclasses import dataclass
from typing import Literal

from etude.core.limits import require_at_least, require_over


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelConfig:
    """Who holds which weights, and what is traded for memory or speed."""

    strategy: Literal["auto", "single", "ddp", "fsdp2"] = "auto"
    """`ddp` copies the model to every rank, `fsdp2` shares it out among them; `auto` is `ddp`. On
    one rank all are the same."""
    reshard_after_forward: bool = True
    """fsdp2: let go of other ranks' weights between the forward and the backward pass, which saves
    memory and gathers them twice."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of products in training, unless the policy asks for bfloat16 itself; with fsdp2 also of the
    weights that travel. Weights, averages and sums of gradients are always kept in float32."""
    accumulate: int = 1
    """Parts in which a rank works through its share of a batch; more take less memory."""
    checkpoint_activations: bool = False
    """Compute a block's inner values again in the backward pass instead of keeping them."""
    compile: bool = False
    """Let torch.compile make each block faster; if that fails, training goes on without."""
    compile_limit_s: float = 300.0
    """How long a trial of compiling may take at the start."""

    def __post_init__(self) -> None:
        require_at_least("accumulate", self.accumulate, 1)
        require_over("compile_limit_s", self.compile_limit_s, 0)
