"""Settings of saving."""

from dataclasses import dataclass

from etude.core.limits import require_at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveConfig:
    """When checkpoints are written and how many stay."""

    every: int = 1000
    """Steps between two checkpoints; the last step is always saved."""
    keep_last: int = 2
    """Newest checkpoints that stay; 0 keeps all."""

    def __post_init__(self) -> None:
        require_at_least("every", self.every, 1)
        require_at_least("keep_last", self.keep_last, 0)
