"""How difficult single moments are, whether they were scanned or not, and which are the hardest.

    d(t) = (sum over k of K(t - t_k) * e_k + c * m) / (sum over k of K(t - t_k) + c)
    K(x) = max(0, 1 - |x| / horizon)

k runs over the scanned windows of t's episode, e_k is the error of one, m the mean error of the
stratum that t lies in, and c is `PSEUDO_COUNT`. Two windows that are x frames apart have the share
1 - |x| / horizon of their judged actions in common, so that is how much one says about the other.
Where no scanned window is near, what is left is the stratum's mean.

An error compares predicted with recorded actions: it is a proxy of how hard a moment is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from etude.core.types import WindowScore
from etude.scan.difficulty import task_difficulty

PSEUDO_COUNT = 1.0
"""How many scanned windows at t itself the mean of its stratum counts as."""
MOMENTS = 3
"""Hardest moments of a task that are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A place in an episode where a policy is further off than elsewhere."""

    episode: int
    frame: int
    """Of the scanned window in the middle of it."""
    stratum: str
    difficulty: float
    """Smoothed, so that one wild window makes no hard moment by itself."""


def window_difficulty(
    scores: Sequence[WindowScore],
    *,
    episode: int,
    frames: Int64[np.ndarray, " windows"],
    strata: Sequence[str],
    horizon: int,
) -> Float64[np.ndarray, " windows"]:
    """Return the difficulty of some windows of one episode.

    Args:
        scores: The scanned windows of the task, in any order.
        episode: The dataset's number of the episode.
        frames: Places of the windows' anchors within the episode.
        strata: The stratum of each of them.
        horizon: Actions of a chunk that were judged, at least 1.

    Raises:
        ScanError: No window was scanned.
    """
    task = task_difficulty(scores)
    near = sorted(
        (score for score in scores if score.choice.episode == episode),
        key=lambda score: score.choice.place,
    )
    places = np.array([score.choice.frame for score in near], np.int64)
    errors = np.array([score.gmse for score in near], np.float64)
    shares = np.maximum(0.0, 1.0 - np.abs(frames[:, None] - places[None, :]) / horizon)
    means = np.array([task.of_stratum(name) for name in strata], np.float64)
    return (shares @ errors + PSEUDO_COUNT * means) / (shares.sum(axis=1) + PSEUDO_COUNT)


def hardest_moments(scores: Sequence[WindowScore], *, horizon: int) -> tuple[Moment, ...]:
    """Return the scanned windows of a task around which it is most difficult, hardest first.

    Of windows that share actions only the hardest is told.

    Args:
        scores: The scanned windows, without those that are suspect, in any order.
        horizon: Actions of a chunk that were judged, at least 1.
    """
    found: list[Moment] = []
    for episode in sorted({score.choice.episode for score in scores}):
        choices = [score.choice for score in scores if score.choice.episode == episode]
        difficulties = window_difficulty(
            scores,
            episode=episode,
            frames=np.array([choice.frame for choice in choices], np.int64),
            strata=[choice.stratum for choice in choices],
            horizon=horizon,
        )
        found += [
            Moment(
                episode=episode,
                frame=choice.frame,
                stratum=choice.stratum,
                difficulty=difficulty,
            )
            for choice, difficulty in zip(choices, difficulties.tolist(), strict=True)
        ]
    told: list[Moment] = []
    for moment in sorted(found, key=lambda each: (-each.difficulty, each.episode, each.frame)):
        apart = all(
            moment.episode != other.episode or abs(moment.frame - other.frame) >= horizon
            for other in told
        )
        if apart and len(told) < MOMENTS:
            told.append(moment)
    return tuple(told)
