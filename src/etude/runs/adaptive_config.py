"""Settings of how tasks are scored while a run trains, and of how it plans."""

from dataclasses import dataclass
from typing import Literal

from etude.core.limits import require_at_least, require_between, require_over

ScoreKind = Literal["none", "open_loop", "rollout", "both"]

SEED_OFFSET = 500_000
"""From the first seed of evaluation to the first of short rollouts."""
SEEDS = 400_000
"""Seeds of short rollouts, after which they begin again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreConfig:
    """How the weights in training are tried on the tasks."""

    kind: ScoreKind = "none"
    """What tells how a task goes. `open_loop`: windows of held-out episodes, a proxy of success, by
    which tasks can pass if `dataset.hold_out_episodes` is `lifecycle.episodes` or more; `rollout`:
    a few episodes in the simulator; `both`: windows steer, and only episodes pass or fail a task;
    `none`: nothing, and tasks are drawn alike, or as a rule without scores says."""
    every: int = 50
    """Steps between two looks."""
    windows: int = 32
    """Most windows of a task in one look."""
    least_windows: int = 8
    """Windows of a task under which fewer tasks are looked at instead."""
    episodes: int = 8
    """Episodes of a task in one look; with fewer no task can pass by `lifecycle` as it is."""
    max_share: float = 0.10
    """Most time that scoring takes, as a share of that of training; less is looked at where it
    takes longer. 1 sets no limit, so that a run can be repeated to the last number."""
    max_steps: int = 0
    """Longest episode of a look, in environment steps; 0 takes that of `eval`."""
    processes: int = 1
    """Environment processes of looks."""

    def __post_init__(self) -> None:
        require_at_least("every", self.every, 1)
        require_at_least("windows", self.windows, 1)
        require_between("least_windows", self.least_windows, 1, self.windows)
        require_at_least("episodes", self.episodes, 1)
        require_over("max_share", self.max_share, 0)
        require_between("max_share", self.max_share, 0, 1)
        require_at_least("max_steps", self.max_steps, 0)
        require_at_least("processes", self.processes, 1)

    @property
    def panel(self) -> bool:
        """Whether windows of recorded episodes are looked at."""
        return self.kind in ("open_loop", "both")

    @property
    def rollouts(self) -> bool:
        """Whether episodes are played."""
        return self.kind in ("rollout", "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartConfig:
    """What a run begins with, as said on the command line."""

    task_state: str = "auto"
    """`auto`: the document beside the weights; `none`: nothing is known; or a document's path."""
    accept_weights_mismatch: bool = False
    accept_data_change: bool = False
