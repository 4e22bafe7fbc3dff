"""What other runs and scans have found out, as far as a run is to draw by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etude.core.protocols import Dataset, Ranks
from etude.core.types import EpisodeSpan, TaskId
from etude.runs.reference_losses import read_references
from etude.runs.run_config import RunConfig
from etude.runs.window_scans import WindowWeights, read_window_weights


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Guidance:
    """The same on every rank."""

    windows: WindowWeights | None
    """How often frames inside tasks are drawn; None for all alike."""
    references: Mapping[TaskId, float]
    """Loss of each task that a rule may compare with."""
    doubts: tuple[str, ...]
    """What the user should know of it."""


def read_guidance(
    config: RunConfig, dataset: Dataset, train: Sequence[EpisodeSpan], ranks: Ranks
) -> Guidance:
    """Read what the section `curriculum` names; all ranks call this together.

    Raises:
        ConfigError: Something named is not there, or of other data.
        DataError: Something named is damaged.
    """
    windows, doubts = read_window_weights(config.curriculum.windows, dataset, train, ranks)
    references = read_references(config.curriculum.reference, dataset.spec.tasks, ranks)
    return Guidance(windows=windows, references=references, doubts=tuple(doubts))
