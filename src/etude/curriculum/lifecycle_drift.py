"""Noticing from a task's own training loss that it may have been forgotten."""

import math
from dataclasses import dataclass, replace

from etude.curriculum.lifecycle_config import DriftConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class LossDrift:
    """A running test of whether one task's loss has risen. Costs nothing but the losses.

    Source: Page, "Continuous inspection schemes", 1954 (one-sided CUSUM), with mean and deviation
    taken from the losses themselves, as Hawkins, "Self-starting CUSUM charts", 1987, does.
    """

    seen: int = 0
    """Losses since the test began."""
    mean: float = 0.0
    squares: float = 0.0
    """Sum of squared distances from the mean."""
    excess: float = 0.0
    """Standard deviations that losses were over what is let pass, added up."""

    def observe(self, loss: float, config: DriftConfig) -> "LossDrift":
        """Return the test after one more loss; one that is not finite tells nothing.

        Args:
            loss: Mean of the task's losses since the last one.
            config: What counts as drift.
        """
        if not math.isfinite(loss):
            return self
        excess = self.excess
        if self.seen >= config.warm_up:
            deviation = math.sqrt(self.squares / (self.seen - 1))
            scale = max(deviation, config.least_deviation * abs(self.mean))
            rise = (loss - self.mean) / scale if scale > 0.0 else 0.0
            excess = max(0.0, excess + rise - config.slack)
        mean = self.mean + (loss - self.mean) / (self.seen + 1)
        squares = self.squares + (loss - self.mean) * (loss - mean)
        return replace(self, seen=self.seen + 1, mean=mean, squares=squares, excess=excess)

    def drifted(self, config: DriftConfig) -> bool:
        """Return whether the loss has risen by more than chance; begin a new test then."""
        return self.excess > config.limit
