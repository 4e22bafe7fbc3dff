"""What is left of a finished scan: its record, the event that tells of it, and its JSON."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from etude.core.ranks import by_rank_0
from etude.core.types import ScanReport, Task
from etude.events.schema import ScanFinished
from etude.runs.run_config import RunConfig
from etude.runs.scan_records import keep_record
from etude.runs.scanning import Scanning
from etude.scan.measure import measure_of
from etude.scan.record import Kind, Setting, scan_record
from etude.scan.sample_runner import SampleReport

Report = ScanReport | SampleReport


def keep_scan(
    config: RunConfig,
    scanning: Scanning,
    report: Report,
    *,
    kind: Kind,
    errors: Sequence[float],
    settings: Mapping[str, Setting],
) -> str:
    """Record every window, tell the run of it, and return the path of the record.

    All ranks call it together, and rank 0 does it. The path is "" where nothing could be written.

    Args:
        config: Of the scan.
        scanning: The scan.
        report: What it found.
        kind: Of the record.
        errors: Mean error of each task of the report.
        settings: Every setting that decides which windows are looked at and what passes.
    """

    def keep() -> str:
        record = scan_record(
            report.windows,
            kind=kind,
            dataset=scanning.subject.dataset,
            measure=measure_of(scanning.subject, config.scan),
            policy=report.policy,
            step=scanning.policy.step,
            settings=settings,
            of={task: each.of for task, each in report.tasks.items()},
            complete=report.complete,
        )
        path = keep_record(scanning.folder, record, warn=scanning.warn)
        scanning.tell(_finished(scanning, report, errors, path))
        return path

    return by_rank_0(scanning.ranks, keep)


def outcome_json(
    report: Report,
    tasks: Sequence[Task],
    *,
    record: str,
    told: Callable[[Task], Mapping[str, object]],
) -> dict[str, object]:
    """Return what programs read of a scan.

    Args:
        report: What the scan found.
        tasks: Those of the dataset; the ones that were not scanned are left out.
        record: File that holds every window.
        told: Returns what is said of one task.
    """
    return {
        "policy": report.policy,
        "complete": report.complete,
        "tasks": [told(task) for task in tasks if task.id in report.tasks],
        "inferences": report.inferences,
        "recalled": report.recalled,
        "record": record,
    }


def _finished(
    scanning: Scanning, report: Report, errors: Sequence[float], path: str
) -> ScanFinished:
    root = scanning.folder.root
    return ScanFinished(
        scan=scanning.logic.namespace,
        record=Path(path).relative_to(root).as_posix() if path else "",
        step=scanning.policy.step,
        policy=report.policy,
        tasks=list(report.tasks),
        windows=[each.windows for each in report.tasks.values()],
        of=[each.of for each in report.tasks.values()],
        gmse=list(errors),
        inferences=report.inferences,
        recalled=report.recalled,
        complete=report.complete,
    )
