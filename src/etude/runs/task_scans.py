"""Scanning the tasks of a dataset with a policy, on one rank or on several."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from etude.core.protocols import Progress
from etude.core.ranks import together
from etude.core.types import ScanReport, Task, TaskScan
from etude.events.schema import ScanFinished
from etude.runs.run_config import RunConfig
from etude.runs.scan_records import choice_settings, in_run, keep_record
from etude.runs.scanning import Scanning, open_scan
from etude.scan.episodes import episodes_to_scan
from etude.scan.groups import action_groups
from etude.scan.logic import TASK_SCAN
from etude.scan.record import scan_record, units_of
from etude.scan.runner import scan_tasks
from etude.scan.scan_config import parse_groups
from etude.scan.scoring import Scorer
from etude.scan.subject import ScanSubject
from etude.store.layout import RunFolder


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
            "record": self.record,
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
        first = scanning.ranks.rank == 0
        records = together(
            scanning.ranks,
            lambda: _keep(config, scanning, subject, report, warn=warn) if first else "",
        )
    _, trained_on = episodes_to_scan(subject.train, subject.held_out)
    return TaskScanOutcome(
        rank=scanning.ranks.rank,
        report=report,
        tasks=subject.dataset.spec.tasks,
        trained_on=trained_on,
        record=records[0],
    )


def _keep(
    config: RunConfig,
    scanning: Scanning,
    subject: ScanSubject,
    report: ScanReport,
    *,
    warn: Callable[[str], None],
) -> str:
    """Record every window and tell the run of it; return the path of the record."""
    record = scan_record(
        report.windows,
        kind="tasks",
        dataset=subject.dataset,
        policy=report.policy,
        step=scanning.policy.step,
        horizon=subject.horizon,
        groups=action_groups(subject.dataset.spec, parse_groups(config.scan.groups)),
        units=units_of(subject.dataset, subject.train),
        settings=choice_settings(config),
        of={task: each.of for task, each in report.tasks.items()},
        complete=report.complete,
    )
    folder = RunFolder(Path(config.output_dir))
    path = keep_record(folder, record, warn=warn)
    scanning.tell(
        ScanFinished(
            scan=TASK_SCAN.namespace,
            record=in_run(folder, path),
            step=scanning.policy.step,
            policy=report.policy,
            tasks=list(report.tasks),
            windows=[each.windows for each in report.tasks.values()],
            of=[each.of for each in report.tasks.values()],
            gmse=[each.gmse for each in report.tasks.values()],
            inferences=report.inferences,
            recalled=report.recalled,
            complete=report.complete,
        )
    )
    return path
