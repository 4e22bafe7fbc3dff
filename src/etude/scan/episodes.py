"""Which episodes of a task are looked at, and that their numbers can be used."""

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float32, Float64

from etude.core.errors import DataError
from etude.core.types import EpisodeSpan, TaskId
from etude.curriculum.permutation import combine

EPISODES = 32
"""Most episodes of a task that are measured, or drawn from by a capped scan, so that the cost does
not grow with the data."""


def episodes_to_scan(
    train: Sequence[EpisodeSpan], held_out: Sequence[EpisodeSpan]
) -> tuple[dict[TaskId, list[EpisodeSpan]], frozenset[TaskId]]:
    """Return the episodes of each task that a scan may look at.

    Those are the held-out ones, or for a task without any its training episodes; the second value
    names these tasks, whose errors flatter the policy.
    """
    found: dict[TaskId, list[EpisodeSpan]] = {}
    for episode in held_out:
        found.setdefault(episode.task, []).append(episode)
    seen: dict[TaskId, list[EpisodeSpan]] = {}
    for episode in train:
        if episode.task not in found:
            seen.setdefault(episode.task, []).append(episode)
    return {**found, **seen}, frozenset(seen)


def draw_episodes(episodes: Sequence[EpisodeSpan], most: int) -> list[EpisodeSpan]:
    """Return at most `most` of the episodes, by chance that depends on their numbers alone."""
    order = combine(np.array([episode.index for episode in episodes], np.uint64), 1)
    return [episodes[place] for place in np.argsort(order, kind="stable")[:most].tolist()]


def episodes_to_measure(train: Iterable[EpisodeSpan]) -> list[EpisodeSpan]:
    """Return the training episodes that give the units: at most `EPISODES` of each task."""
    by_task: dict[TaskId, list[EpisodeSpan]] = {}
    for episode in train:
        by_task.setdefault(episode.task, []).append(episode)
    return [each for members in by_task.values() for each in draw_episodes(members, EPISODES)]


def finite(
    episode: EpisodeSpan, column: str, values: Float32[np.ndarray, "frames dim"]
) -> Float64[np.ndarray, "frames dim"]:
    """Return a column of an episode in double precision.

    Raises:
        DataError: One of its numbers is not finite.
    """
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        frame, dim = bad[0].tolist()
        raise DataError(
            f"{episode.task} episode {episode.index} frame {frame}: {column} {dim} is recorded as "
            f"{values[frame, dim]}",
            hint="Repair the episode, or leave it out with --dataset.on_bad skip.",
        )
    return values.astype(np.float64)
