"""How tasks went, in the words of somebody else's evaluation."""

from dataclasses import dataclass

from etude.curriculum.states import EvidenceKind, TaskEvidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How one task went when it was tried."""

    passed: float
    """Episodes that succeeded, or windows that were good enough."""
    trials: float
    episodes: int
    """Episodes that were played, or that the windows lie in."""
    error: float | None = None
    """Lower is better; None for the share that did not pass."""
    kind: EvidenceKind = "rollout"

    def evidence(self, *, step: int, weights: str) -> TaskEvidence:
        """Return what it says about the weights that were scored.

        Args:
            step: Optimiser steps that they had seen.
            weights: Their identity.
        """
        failed = 1.0 - self.passed / self.trials if self.trials else None
        return TaskEvidence(
            step=step,
            weights=weights,
            kind=self.kind,
            passed=self.passed,
            trials=self.trials,
            episodes=self.episodes,
            score=failed if self.error is None else self.error,
        )
