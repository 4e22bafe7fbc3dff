"""Settings of saving."""

from dataclasses import dataclass
from typing import Literal

from etude.core.limits import require_at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveConfig:
    """When checkpoints are written, what is in them, and how many stay."""

    every: int = 1000
    """Steps between two checkpoints; the last step is always saved."""
    keep_last: int = 2
    """Newest checkpoints that stay; 0 keeps all."""
    mode: Literal["sync", "async"] = "sync"
    """`async` copies everything at one instant and writes it while training goes on, which takes
    the memory of a second copy."""
    optimizer: bool = True
    """Whether checkpoints hold the optimiser's moments; without, a resumed run begins them anew."""
    ema: bool = True
    """Whether training can continue the averaged weights; the export holds them in any case."""
    hf_every: int = 0
    """Steps between checkpoints that also hold the export which evaluations load; 0 means each. The
    last one always does."""

    def __post_init__(self) -> None:
        require_at_least("every", self.every, 1)
        require_at_least("keep_last", self.keep_last, 0)
        require_at_least("hf_every", self.hf_every, 0)
