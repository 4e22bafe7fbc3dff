"""Scanning the tasks of a dataset with a policy, on one rank or on several."""

from collections.abc import Callable
from dataclasses import dataclass

from etude.core.protocols import Progress
from etude.core.types import ScanReport, Task
from etude.runs.run_config import RunConfig
from etude.runs.scan_outcomes import keep_scan, outcome_json
from etude.runs.scan_records import choice_settings
from etude.runs.scanning import open_scan
from etude.scan.episodes import episodes_to_scan
from etude.scan.logic import TASK_SCAN
from etude.scan.runner import scan_tasks
from etude.scan.scoring import Scorer


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScanOutcome:
    """What a scan of all tasks found. The same on every rank, but for `rank`."""

    rank: int
    report: ScanReport
    tasks: tuple[Task, ...]
    trained_on: frozenset[str]
    """Tasks without a held-out episode, scanned on training episodes, which flatters them."""
    record: str
    """File that holds every window; empty where it could not be written."""

    def to_json(self) -> dict[str, object]:
        """Return what programs read."""
        return outcome_json(self.report, self.tasks, record=self.record, told=self._task)

    def _task(self, task: Task) -> dict[str, object]:
        scan = self.report.tasks[task.id]
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
        subject = scanning.subject
        report = scan_tasks(subject, config.scan, Scorer(scanning.parts, config.scan))
        record = keep_scan(
            config,
            scanning,
            report,
            kind="tasks",
            errors=[each.gmse for each in report.tasks.values()],
            settings=choice_settings(config),
        )
    _, trained_on = episodes_to_scan(subject.train, subject.held_out)
    return TaskScanOutcome(
        rank=scanning.ranks.rank,
        report=report,
        tasks=subject.dataset.spec.tasks,
        trained_on=trained_on,
        record=record,
    )
