"""Small made-up datasets and the samplers over them."""

from typing import Any

import numpy as np

from etude.core.types import EpisodeSpan, SamplingPlan, TaskId
from etude.curriculum.sampler import CurriculumSampler


def spans(*lengths_by_task: tuple[int, ...]) -> list[EpisodeSpan]:
    """Return episodes of the given lengths, task by task, one behind the other."""
    made: list[EpisodeSpan] = []
    start = 0
    for task, lengths in enumerate(lengths_by_task):
        for length in lengths:
            made.append(
                EpisodeSpan(
                    index=len(made), task=TaskId(f"d/{task}"), start=start, stop=start + length
                )
            )
            start += length
    return made


def plan(*weights: float) -> SamplingPlan:
    """Return the plan of tasks d/0, d/1 and so on."""
    return SamplingPlan(weights={TaskId(f"d/{i}"): weight for i, weight in enumerate(weights)})


def sampler(
    episodes: list[EpisodeSpan], *weights: float, batch_size: int = 4, seed: int = 0, **other: Any
) -> CurriculumSampler:
    """Return a sampler that begins with the plan of `weights`."""
    return CurriculumSampler(episodes, plan(*weights), batch_size=batch_size, seed=seed, **other)


def batches(drawn: CurriculumSampler, count: int) -> list[list[int]]:
    """Return the next global batches."""
    return [drawn.next_rows().tolist() for _ in range(count)]


def counts_by_task(rows: list[list[int]], episodes: list[EpisodeSpan]) -> list[int]:
    """Return how many of the rows lie in each task."""
    flat = np.array(rows).ravel()
    names = sorted({span.task for span in episodes})
    return [
        sum(
            int(np.sum((flat >= span.start) & (flat < span.stop)))
            for span in episodes
            if span.task == name
        )
        for name in names
    ]
