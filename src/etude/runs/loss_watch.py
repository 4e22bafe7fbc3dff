"""Watching the training loss of each task, a free sign of how it goes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from etude.core.types import TaskId
from etude.curriculum.lifecycle_config import DriftConfig
from etude.curriculum.lifecycle_drift import LossDrift


class LossWatch:
    """A view of the events that adds up task losses, and tests them at every look."""

    def __init__(self, tasks: Sequence[TaskId], config: DriftConfig) -> None:
        self._tasks = tuple(tasks)
        self._config = config
        self._sums = dict.fromkeys(self._tasks, 0.0)
        self._samples = dict.fromkeys(self._tasks, 0)
        self._drifts = {task: LossDrift() for task in self._tasks}
        self._plan_sums = dict.fromkeys(self._tasks, 0.0)
        self._plan_samples = dict.fromkeys(self._tasks, 0)

    def write(self, record: Mapping[str, object]) -> None:
        """Add a row of task losses; other records are passed over."""
        if record.get("kind") != "task_losses":
            return
        losses = cast("Sequence[Any]", record["losses"])
        samples = cast("Sequence[int]", record["samples"])
        for task, loss, count in zip(self._tasks, losses, samples, strict=True):
            if isinstance(loss, int | float) and count:
                self._sums[task] += loss * count
                self._samples[task] += count
                self._plan_sums[task] += loss * count
                self._plan_samples[task] += count

    def drifted(self) -> list[TaskId]:
        """Return the tasks whose loss has risen, by its mean since the last call."""
        risen: list[TaskId] = []
        for task, count in self._samples.items():
            if not count:
                continue
            after = self._drifts[task].observe(self._sums[task] / count, self._config)
            if after.drifted(self._config):
                risen.append(task)
                after = LossDrift()
            self._drifts[task] = after
        self._sums = dict.fromkeys(self._tasks, 0.0)
        self._samples = dict.fromkeys(self._tasks, 0)
        return risen

    def since_plan(self) -> dict[TaskId, float]:
        """Return the mean loss since the last call of each task that was drawn."""
        means = {
            task: self._plan_sums[task] / count
            for task, count in self._plan_samples.items()
            if count
        }
        self._plan_sums = dict.fromkeys(self._tasks, 0.0)
        self._plan_samples = dict.fromkeys(self._tasks, 0)
        return means

    def to_dict(self) -> dict[str, object]:
        """Return what `restore` needs."""
        return {
            "sums": list(self._sums.values()),
            "samples": list(self._samples.values()),
            "drifts": [asdict(drift) for drift in self._drifts.values()],
            "plan_sums": list(self._plan_sums.values()),
            "plan_samples": list(self._plan_samples.values()),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on where `to_dict` was called, with the same tasks."""
        self._sums = dict(zip(self._tasks, map(float, saved["sums"]), strict=True))
        self._samples = dict(zip(self._tasks, map(int, saved["samples"]), strict=True))
        drifts = (LossDrift(**each) for each in saved["drifts"])
        self._drifts = dict(zip(self._tasks, drifts, strict=True))
        # Earlier versions did not save the last two.
        if "plan_sums" in saved:
            sums, samples = map(float, saved["plan_sums"]), map(int, saved["plan_samples"])
            self._plan_sums = dict(zip(self._tasks, sums, strict=True))
            self._plan_samples = dict(zip(self._tasks, samples, strict=True))
