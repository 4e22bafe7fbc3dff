"""Settings of a run with several ranks."""

from dataclasses import dataclass

from etude.core.limits import require_over


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldConfig:
    """How long ranks wait for each other."""

    join_timeout_s: float = 300.0
    """How long a rank waits at the start for all others to appear."""
    timeout_s: float = 1800.0
    """How long a rank waits later. It must exceed the longest time by which one rank can be ahead
    of another, for example while that one loads a policy."""

    def __post_init__(self) -> None:
        require_over("join_timeout_s", self.join_timeout_s, 0)
        require_over("timeout_s", self.timeout_s, 0)
