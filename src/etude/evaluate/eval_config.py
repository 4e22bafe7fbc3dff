"""Settings of a closed-loop evaluation."""

from dataclasses import dataclass

from etude.core.limits import require_at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalConfig:
    """How many episodes are played, from which seeds, and how long each may last."""

    n_episodes: int = 20
    """Episodes of each task."""
    first_seed: int = 1_000_000
    """Episode i of every task starts from seed first_seed + i; demonstrations use lower seeds."""
    max_steps: int = 500
    """Longest episode, in environment steps."""
    to_the_end: bool = False
    """Play on after the first success, so that success at the last step is known as well. Both
    rules give the same success rate; without this an episode stops when it has succeeded."""
    lanes: int = 64
    """Tasks played at once, each in its own environment; bounds memory (25 MB for each in
    Meta-World) and is the batch size of the policy."""
    processes: int = 0
    """Environment processes; 0 means one for each core."""

    def __post_init__(self) -> None:
        require_at_least("n_episodes", self.n_episodes, 1)
        require_at_least("first_seed", self.first_seed, 0)
        require_at_least("max_steps", self.max_steps, 1)
        require_at_least("lanes", self.lanes, 1)
        require_at_least("processes", self.processes, 0)
