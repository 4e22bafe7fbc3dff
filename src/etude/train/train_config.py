"""Settings of training."""

from dataclasses import dataclass
from typing import Literal

from etude.core.limits import require_at_least, require_between, require_over


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """The optimiser, its schedule, and what is logged."""

    lr: float = 1e-3
    """Peak learning rate of AdamW."""
    warmup_steps: int = 100
    """Steps over which the learning rate rises linearly from 0."""
    final_lr: float = 0.0
    """Where the cosine ends, as a share of `lr`."""
    weight_decay: float = 0.01
    """Decoupled decay of every weight, as a share of itself for a learning rate of 1."""
    clip_norm: float = 1.0
    """Largest gradient norm that reaches the optimiser."""
    ema_decay: float = 0.999
    """Decay of the averaged weights that inference uses; 0 means the live weights."""
    log_every: int = 50
    """Steps between two rows of events."""
    held_out_every: int = 500
    """Steps between two open-loop checks on held-out episodes; 0 means never."""
    on_nonfinite: Literal["stop", "skip"] = "stop"
    """Whether a loss that is not finite stops the run or skips the step, at most 3 in a row."""
    threads: int = 0
    """Threads of one process; 0 leaves the choice to torch."""

    def __post_init__(self) -> None:
        require_over("lr", self.lr, 0)
        require_at_least("warmup_steps", self.warmup_steps, 0)
        require_between("final_lr", self.final_lr, 0, 1)
        require_at_least("weight_decay", self.weight_decay, 0)
        require_over("clip_norm", self.clip_norm, 0)
        require_between("ema_decay", self.ema_decay, 0, 0.999999)
        require_at_least("log_every", self.log_every, 1)
        require_at_least("held_out_every", self.held_out_every, 0)
        require_at_least("threads", self.threads, 0)
