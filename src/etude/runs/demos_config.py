"""Settings of the recording of demonstrations."""

from dataclasses import dataclass

from etude.core.limits import require_at_least, require_between


@dataclass(frozen=True, slots=True, kw_only=True)
class DemosConfig:
    """How the scripted experts are recorded."""

    episodes: int = 50
    """Successful episodes wanted of each task."""
    noise: float = 0.3
    """Largest standard deviation of the noise on executed actions; each episode draws its own
    between 0 and this. What is recorded is the expert's clean action."""
    tries: int = 5
    """A task gives up after tries x episodes attempts."""
    steps_after_success: int = 5
    """Frames recorded after the first successful step."""
    max_steps: int = 300
    """Longest attempt, in environment steps; an expert that needs more is seldom worth copying."""
    seed: int = 0
    """First seed; attempt i of every task uses seed + i."""
    processes: int = 0
    """Recording processes; 0 means one for each core."""

    def __post_init__(self) -> None:
        require_at_least("episodes", self.episodes, 1)
        require_between("noise", self.noise, 0, 1)
        require_at_least("tries", self.tries, 1)
        require_at_least("steps_after_success", self.steps_after_success, 0)
        require_at_least("max_steps", self.max_steps, 1)
        require_at_least("seed", self.seed, 0)
        require_at_least("processes", self.processes, 0)
