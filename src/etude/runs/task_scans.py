"""Scanning the tasks of a dataset with a policy, on one rank or on several."""

from collections.abc import Callable
from dataclasses import dataclass

from etude.core.protocols import Progress
from etude.core.types import ScanReport, Task, TaskScan
from etude.runs.run_config import RunConfig
from etude.runs.scanning import open_scan
from etude.scan.logic import TASK_SCAN
from etude.scan.panel import episodes_to_scan
from etude.scan.runner import ScanSubject, scan_tasks
from etude.scan.scoring import Scorer


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScanOutcome:
    """What a scan of all tasks found. The same on every rank, but for `rank`."""

    rank: int
    report: ScanReport
    tasks: tuple[Task, ...]
    trained_on: frozenset[str]
    """Tasks without a held-out episode, scanned on training episodes, which flatters them."""

    def to_json(self) -> dict[str, object]:
        """Return what programs read."""
        return {
            "policy": self.report.policy,
            "complete": self.report.complete,
            "tasks": [
                self._task(task, self.report.tasks[task.id])
                for task in self.tasks
                if task.id in self.report.tasks
            ],
            "inferences": self.report.inferences,
            "recalled": self.report.recalled,
        }

    def _task(self, task: Task, scan: TaskScan) -> dict[str, object]:
        return {
            "task": task.id,
            "name": task.name,
            "windows": scan.windows,
            "of": scan.of,
            "gmse": scan.gmse,
            "gmse_p90": scan.gmse_p90,
            "groups": dict(scan.groups),
            "pass_rate": scan.pass_rate.rate,
            "interval": [scan.pass_rate.low, scan.pass_rate.high],
            "verdict": scan.verdict,
            "mse": scan.mse,
            "mae": scan.mae,
            "trained_on": task.id in self.trained_on,
        }


def scan(config: RunConfig, *, progress: Progress, warn: Callable[[str], None]) -> TaskScanOutcome:
    """Scan every task of the dataset; the policy is loaded only if a result is missing.

    Every process that a launcher started calls this, and all of them share the work.

    Raises:
        PolicyError: There is no such checkpoint, or it holds no such policy.
        DataError: The dataset or the checkpoint is missing or faulty.
        ScanError: Work was done twice or not at all.
    """
    with open_scan(config, TASK_SCAN, progress=progress, warn=warn) as scanning:
        subject = ScanSubject(
            dataset=scanning.dataset,
            train=scanning.split.train,
            held_out=scanning.split.held_out,
            weights=scanning.policy.weights,
            horizon=scanning.horizon,
        )
        report = scan_tasks(subject, config.scan, Scorer(scanning.parts, config.scan))
    _, trained_on = episodes_to_scan(subject.train, subject.held_out)
    return TaskScanOutcome(
        rank=scanning.ranks.rank,
        report=report,
        tasks=subject.dataset.spec.tasks,
        trained_on=trained_on,
    )
