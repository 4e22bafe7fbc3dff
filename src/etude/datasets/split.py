"""Holding whole episodes back from training."""

from collections.abc import Sequence
from dataclasses import dataclass

from etude.core.types import EpisodeSpan, TaskId
from etude.store.content import content_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Every episode in exactly one of two parts, each in recorded order."""

    train: tuple[EpisodeSpan, ...]
    held_out: tuple[EpisodeSpan, ...]


def hold_out(episodes: Sequence[EpisodeSpan], *, per_task: int, seed: int) -> Split:
    """Hold `per_task` episodes of each task back; a task always keeps one for training.

    The draw depends on the seed, the task and the episode's number alone, so another task or a
    longer dataset changes as little as it can.
    """
    by_task: dict[TaskId, list[EpisodeSpan]] = {}
    for episode in episodes:
        by_task.setdefault(episode.task, []).append(episode)
    held: set[int] = set()
    for task, members in by_task.items():
        drawn = sorted(members, key=lambda e: content_key("hold-out/1", seed, task, e.index))
        held.update(episode.index for episode in drawn[: min(per_task, len(members) - 1)])
    return Split(
        train=tuple(episode for episode in episodes if episode.index not in held),
        held_out=tuple(episode for episode in episodes if episode.index in held),
    )
