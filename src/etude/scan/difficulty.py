"""How difficult a task and each of its strata are for a policy, by the windows that were scanned.

An error compares predicted with recorded actions: it is a proxy of how hard a moment is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etude.core.errors import ScanError
from etude.core.statistics import weighted_mean
from etude.core.types import WindowScore


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDifficulty:
    """What the scanned windows of one task say about all of its windows."""

    mean: float
    """Of the errors, each weighted by how many windows it stands for."""
    strata: Mapping[str, float]
    """The same within each stratum that has a scanned window."""

    def of_stratum(self, stratum: str) -> float:
        """Return the mean error of a stratum, or of the task where none of it was scanned."""
        return self.strata.get(stratum, self.mean)


def task_difficulty(scores: Sequence[WindowScore]) -> TaskDifficulty:
    """Return what the scanned windows of one task say, in whatever order they come.

    Args:
        scores: The windows, each with how many of the task's it stands for.

    Raises:
        ScanError: There is no window.
    """
    if not scores:
        raise ScanError(
            "no window was scored to judge difficulty by",
            hint="Raise scan.time_limit_s, so that every task gets one.",
        )
    strata: dict[str, list[WindowScore]] = {}
    for score in scores:
        strata.setdefault(score.choice.stratum, []).append(score)
    return TaskDifficulty(
        mean=mean_error(scores),
        strata={name: mean_error(members) for name, members in strata.items()},
    )


def mean_error(scores: Sequence[WindowScore]) -> float:
    """Return the mean error of windows, each weighted by how many it stands for."""
    return weighted_mean(
        [score.gmse for score in scores], [score.choice.weight for score in scores]
    )
