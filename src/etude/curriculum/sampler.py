"""Which frames are trained on, as a pure function of the seed and the plan.

Every rank computes the rows of the whole global batch and takes its own slots, so that the stream
is the same for any number of ranks and workers, and ranks are disjoint by construction.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from etude.core.errors import DataError, StateError
from etude.core.types import EpisodeSpan, SamplingPlan, TaskId
from etude.curriculum.permutation import combine, permute
from etude.curriculum.plan import check_plan


class CurriculumSampler:
    """Draws the rows of one global batch after another.

    Each task's frames are visited in a keyed random order, all of them once before any of them
    again. Its share of a batch is the plan's weight, rounded so that the error never accumulates.
    """

    def __init__(
        self, episodes: Sequence[EpisodeSpan], plan: SamplingPlan, *, batch_size: int, seed: int
    ) -> None:
        """Prepare to draw from `episodes`.

        Raises:
            ConfigError: The plan is no distribution.
            DataError: A task that the plan draws has no frames.
        """
        check_plan(plan)
        self.tasks: tuple[TaskId, ...] = tuple(plan.weights)
        self._batch_size = batch_size
        self._seed = seed
        self._weights = np.array([plan.weights[task] for task in self.tasks], dtype=np.float64)
        self._lay_out(episodes)
        self._step = 0
        self._residuals = np.zeros(len(self.tasks), dtype=np.float64)
        self._drawn = np.zeros(len(self.tasks), dtype=np.int64)

    @property
    def step(self) -> int:
        """Number of batches drawn so far."""
        return self._step

    def next_rows(self) -> Int64[np.ndarray, " batch"]:
        """Return the anchor rows of the next global batch, grouped by task."""
        counts = self._next_counts()
        task = np.repeat(np.arange(len(self.tasks)), counts)
        within = np.arange(self._batch_size) - np.repeat(np.cumsum(counts) - counts, counts)
        visit = self._drawn[task] + within
        self._drawn += counts
        self._step += 1
        sizes = self._sizes[task]
        keys = combine(self._seed, task.astype(np.uint64), (visit // sizes).astype(np.uint64))
        frame = self._bases[task] + permute(visit % sizes, sizes, keys)
        episode = np.searchsorted(self._ends, frame, side="right")
        return self._starts[episode] + frame - (self._ends[episode] - self._lengths[episode])

    def slots(
        self, rows: Int64[np.ndarray, " batch"], *, rank: int, size: int
    ) -> Int64[np.ndarray, " share"]:
        """Return the part of a global batch that belongs to one of `size` ranks."""
        return rows[rank::size]

    def state_dict(self) -> dict[str, Any]:
        """Return what `load_state_dict` needs to continue; its size grows with the tasks only."""
        return {
            "schema": "sampler/1",
            "step": self._step,
            "seed": self._seed,
            "batch_size": self._batch_size,
            "tasks": list(self.tasks),
            "weights": self._weights.tolist(),
            "frames": self._sizes.tolist(),
            "residuals": self._residuals.tolist(),
            "drawn": self._drawn.tolist(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue behind the last batch that was drawn before `state` was taken.

        Raises:
            StateError: The state belongs to other tasks, frames, seed or batch size.
        """
        mine = self.state_dict()
        fixed = ("schema", "seed", "batch_size", "tasks", "frames")
        differ = [name for name in fixed if state.get(name) != mine[name]]
        if differ:
            raise StateError(
                f"the saved sampler has other {', '.join(differ)} than this run",
                hint="Resume with the data and settings that the run began with.",
            )
        self._step = int(state["step"])
        self._weights = np.array(state["weights"], dtype=np.float64)
        self._residuals = np.array(state["residuals"], dtype=np.float64)
        self._drawn = np.array(state["drawn"], dtype=np.int64)

    def _lay_out(self, episodes: Sequence[EpisodeSpan]) -> None:
        """Line up the episodes of each task, so that a task's frames are one range of numbers."""
        place = {task: number for number, task in enumerate(self.tasks)}
        mine = [span for span in episodes if span.task in place and span.length > 0]
        mine.sort(key=lambda span: (place[span.task], span.index))
        self._starts = np.array([span.start for span in mine], dtype=np.int64)
        self._lengths = np.array([span.length for span in mine], dtype=np.int64)
        self._ends = np.cumsum(self._lengths)
        owner = np.array([place[span.task] for span in mine], dtype=np.int64)
        sizes = np.zeros(len(self.tasks), dtype=np.int64)
        np.add.at(sizes, owner, self._lengths)
        self._sizes = sizes
        self._bases = np.cumsum(sizes) - sizes
        empty = [
            task
            for task, size, weight in zip(self.tasks, sizes, self._weights, strict=True)
            if size == 0 and weight > 0
        ]
        if empty:
            raise DataError(
                f"{len(empty)} tasks to train on have no frames: {', '.join(empty[:5])}",
                hint="Record demonstrations of them or leave them out.",
            )

    def _next_counts(self) -> Int64[np.ndarray, " tasks"]:
        """Turn weights into whole numbers of draws that sum to the batch size.

        Systematic resampling of what every task is still owed; the rest is carried on.
        """
        owed = self._weights * self._batch_size + self._residuals
        wanted: Float64[np.ndarray, " tasks"] = np.where(
            self._weights > 0, np.maximum(owed, 0.0), 0.0
        )
        edges = np.cumsum(wanted) * (self._batch_size / wanted.sum())
        marks = np.floor(edges + 0.5).astype(np.int64)
        marks[-1] = self._batch_size
        counts = np.diff(marks, prepend=0)
        self._residuals = owed - counts
        return counts
