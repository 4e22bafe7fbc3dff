"""Where the frames of each task lie: one range of numbers for a task, whatever the order."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64, Int64

from etude.core.errors import ConfigError, DataError
from etude.core.types import EpisodeSpan, SamplingPlan, TaskId
from etude.curriculum.plan import check_plan


class FrameLayout:
    """The frames of all tasks lined up, task by task and episode by episode.

    It grows with the episodes, not with the frames.
    """

    def __init__(self, tasks: Sequence[TaskId], episodes: Sequence[EpisodeSpan]) -> None:
        self.tasks = tuple(tasks)
        place = {task: number for number, task in enumerate(self.tasks)}
        mine = [span for span in episodes if span.task in place and span.length > 0]
        mine.sort(key=lambda span: (place[span.task], span.index))
        self.owners = np.array([place[span.task] for span in mine], dtype=np.int64)
        """Place of each episode's task in `tasks`; never falling."""
        self.starts = np.array([span.start for span in mine], dtype=np.int64)
        """First row of each episode."""
        self.lengths = np.array([span.length for span in mine], dtype=np.int64)
        self._ends = np.cumsum(self.lengths)
        self.sizes = np.zeros(len(self.tasks), dtype=np.int64)
        """Frames of each task."""
        np.add.at(self.sizes, self.owners, self.lengths)
        self._bases = np.cumsum(self.sizes) - self.sizes

    def rows(
        self, tasks: Int64[np.ndarray, " draws"], frames: Int64[np.ndarray, " draws"]
    ) -> Int64[np.ndarray, " draws"]:
        """Return the dataset's rows of frames that are counted within their tasks."""
        numbers = self._bases[tasks] + frames
        episode = np.searchsorted(self._ends, numbers, side="right")
        return self.starts[episode] + numbers - (self._ends[episode] - self.lengths[episode])


def plan_weights(plan: SamplingPlan, layout: FrameLayout) -> Float64[np.ndarray, " tasks"]:
    """Return the weights of a plan in the order of the layout's tasks.

    Raises:
        ConfigError: The plan is no distribution, or is for other tasks.
        DataError: A task that it draws has no frames.
    """
    check_plan(plan)
    known = set(layout.tasks)
    missing = [task for task in layout.tasks if task not in plan.weights]
    strangers = [task for task in plan.weights if task not in known]
    for fault, tasks in (("leaves out", missing), ("names unknown", strangers)):
        if tasks:
            raise ConfigError(
                f"the plan {fault} {len(tasks)} tasks: {', '.join(tasks[:5])}",
                hint="Give every task of the sampler a weight; 0 pauses it.",
            )
    empty = [
        task
        for task, size in zip(layout.tasks, layout.sizes, strict=True)
        if size == 0 and plan.weights[task] > 0
    ]
    if empty:
        raise DataError(
            f"{len(empty)} tasks to train on have no frames: {', '.join(empty[:5])}",
            hint="Record demonstrations of them or leave them out.",
        )
    return np.array([plan.weights[task] for task in layout.tasks], dtype=np.float64)
