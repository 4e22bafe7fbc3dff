"""Settings of when a task counts as passed, forgotten or exhausted."""

import math
from dataclasses import dataclass

from etude.core.errors import ConfigError
from etude.core.limits import require_at_least, require_between, require_over


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleConfig:
    """What it takes for a task to change its status."""

    passing: float = 0.85
    """Pass rate that a passed task has at least."""
    pass_chance: float = 0.95
    """How likely that must be on a look that counts as passing."""
    pass_looks: int = 2
    """Passing looks in a row after which a task has passed."""
    look_steps: int = 50
    """Least steps between two looks that both count; also those of `discount`."""
    episodes: int = 3
    """Episodes that the evidence must come from."""
    failing: float = 0.80
    """Pass rate under which a passed task is forgotten. The gap to `passing` keeps it from going
    back and forth."""
    fail_chance: float = 0.90
    """How likely that must be on a look that counts as failing."""
    fail_looks: int = 2
    """Failing looks in a row after which a passed task is trained again."""
    collapse_chance: float = 0.99
    """How likely it must be by the episodes of one look alone to train it again at once."""
    doubt_chance: float = 0.50
    """How likely it must be for the task to be looked at again in the next scan."""
    boost: float = 1.6
    """By how much the share of a forgotten task grows."""
    most_boost: float = 4.0
    """Most that it grows by, however often it is forgotten."""
    discount: float = 0.6
    """How much episodes count after `look_steps` more steps."""
    panel_discount: float = 0.2
    """How much windows count then: about the share of them that the newer look does not repeat."""
    budget_share: float = 0.5
    """Budget of a task, as a share of what it would be given if all tasks were drawn alike."""
    gain: float = 0.03
    """Least improvement of the score that is worth a budget."""
    trend_looks: int = 4
    """Looks that a trend of the score is judged by at least."""
    gain_errors: float = 3.0
    """Standard errors by which an exhausted task must have improved to be revived."""
    budget_growth: float = 1.5
    """Factor of the budget of a task that is revived."""
    recheck_most: int = 16
    """Most scans between two looks at a passed or exhausted task."""
    history: int = 24
    """Looks that are kept for each task."""

    def __post_init__(self) -> None:
        for name in ("passing", "pass_chance"):
            require_between(name, getattr(self, name), 0.01, 0.9999)
        for name in ("failing", "fail_chance", "collapse_chance", "doubt_chance"):
            require_between(name, getattr(self, name), 0, 1)
        for name in ("discount", "panel_discount"):
            require_between(name, getattr(self, name), 0, 1)
        for name in ("pass_looks", "look_steps", "episodes", "fail_looks", "recheck_most"):
            require_at_least(name, getattr(self, name), 1)
        for name in ("boost", "most_boost", "budget_growth"):
            require_at_least(name, getattr(self, name), 1)
        require_over("budget_share", self.budget_share, 0)
        require_at_least("gain", self.gain, 0)
        require_at_least("gain_errors", self.gain_errors, 0)
        require_at_least("trend_looks", self.trend_looks, 3)
        require_at_least("history", self.history, 2 * self.trend_looks)
        if self.failing >= self.passing:
            raise ConfigError(
                f"failing is {self.failing}, not under passing ({self.passing})",
                hint="Leave a gap between the two, so that tasks do not go back and forth.",
            )

    @property
    def trials_to_pass(self) -> int:
        """Effective trials that prove a task if all of them pass: 1 - passing^(n + 1) suffices."""
        return math.ceil(math.log1p(-self.pass_chance) / math.log(self.passing) - 1.0)

    @property
    def episodes_per_look(self) -> int:
        """Fewest episodes of every look with which a task that never fails passes in the end.

        What was seen before counts less and less, so that with fewer there are never enough.
        """
        return math.floor(self.trials_to_pass * (1.0 - self.discount)) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftConfig:
    """When a task's own training loss says that it should be looked at."""

    slack: float = 0.5
    """Rise, in standard deviations, that is let pass."""
    limit: float = 4.0
    """Sum of what is over the slack, in standard deviations, that counts as drift."""
    warm_up: int = 8
    """Losses that tell what is normal before any can be drift."""
    least_deviation: float = 0.01
    """Least standard deviation, as a share of the mean loss."""

    def __post_init__(self) -> None:
        require_at_least("slack", self.slack, 0)
        require_over("limit", self.limit, 0)
        require_at_least("warm_up", self.warm_up, 2)
        require_at_least("least_deviation", self.least_deviation, 0)
