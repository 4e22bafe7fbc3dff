"""How difficult each moment of a task is for a policy, whether it was scanned or not.

    d(t) = (sum over k of K(t - t_k) * e_k + c * m) / (sum over k of K(t - t_k) + c)
    K(x) = max(0, 1 - |x| / horizon)

k runs over the scanned windows of t's episode, e_k is the error of one, m the mean error of the
stratum that t lies in, and c is `PSEUDO_COUNT`. Two windows that are x frames apart have the share
1 - |x| / horizon of their judged actions in common, so that is how much one says about the other.
Where no scanned window is near, what is left is the stratum's mean; where a stratum has none at
all, it is the task's.

An error compares predicted with recorded actions: it is a proxy of how hard a moment is.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from etude.core.errors import ScanError
from etude.core.types import WindowScore

PSEUDO_COUNT = 1.0
"""How many scanned windows at t itself the mean of its stratum counts as."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskDifficulty:
    """What the scanned windows of one task say about any of its windows."""

    mean: float
    """Of the errors, each weighted by how many windows it stands for."""
    strata: Mapping[str, float]
    """The same within each stratum that has a scanned window."""
    horizon: int
    """Actions of a chunk that were judged."""
    frames: Mapping[int, Int64[np.ndarray, " scanned"]]
    """Which frames of an episode were scanned, ascending, by the episode's number."""
    errors: Mapping[int, Float64[np.ndarray, " scanned"]]
    """Their errors."""

    def of_stratum(self, stratum: str) -> float:
        """Return the mean error of a stratum, or of the task where none of it was scanned."""
        return self.strata.get(stratum, self.mean)

    def of_windows(
        self, episode: int, frames: Int64[np.ndarray, " windows"], strata: Sequence[str]
    ) -> Float64[np.ndarray, " windows"]:
        """Return the difficulty of some windows of one episode.

        Args:
            episode: The dataset's number of the episode.
            frames: Places of the windows' anchors within the episode.
            strata: The stratum of each of them.
        """
        means = np.array([self.of_stratum(stratum) for stratum in strata], np.float64)
        if episode not in self.frames:
            return means
        apart = np.abs(frames[:, None] - self.frames[episode][None, :])
        shares = np.maximum(0.0, 1.0 - apart / self.horizon)
        near = shares @ self.errors[episode]
        return (near + PSEUDO_COUNT * means) / (shares.sum(axis=1) + PSEUDO_COUNT)


def task_difficulty(scores: Sequence[WindowScore], *, horizon: int) -> TaskDifficulty:
    """Return what the scanned windows of one task say, in whatever order they come.

    Args:
        scores: The windows, each with how many of the task's it stands for.
        horizon: Actions of a chunk that were judged, at least 1.

    Raises:
        ScanError: There is no window.
    """
    if not scores:
        raise ScanError(
            "no window was scored to judge difficulty by",
            hint="Raise scan.time_limit_s, so that every task gets one.",
        )
    strata: dict[str, list[WindowScore]] = {}
    episodes: dict[int, list[WindowScore]] = {}
    for score in sorted(scores, key=_place):
        strata.setdefault(score.choice.stratum, []).append(score)
        episodes.setdefault(score.choice.episode, []).append(score)
    return TaskDifficulty(
        mean=mean_error(scores),
        strata={name: mean_error(members) for name, members in strata.items()},
        horizon=horizon,
        frames={
            episode: np.array([score.choice.frame for score in members], np.int64)
            for episode, members in episodes.items()
        },
        errors={
            episode: np.array([score.gmse for score in members], np.float64)
            for episode, members in episodes.items()
        },
    )


def mean_error(scores: Sequence[WindowScore]) -> float:
    """Return the mean error of windows, each weighted by how many it stands for."""
    total = math.fsum(score.choice.weight for score in scores)
    return math.fsum(score.gmse * score.choice.weight for score in scores) / total


def _place(score: WindowScore) -> tuple[int, int]:
    return score.choice.episode, score.choice.frame
