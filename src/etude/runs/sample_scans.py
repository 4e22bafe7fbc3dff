"""Scanning the moments of the training episodes with a policy, on one rank or on several."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from etude.core.errors import DataError
from etude.core.protocols import Dataset, Progress, Ranks
from etude.core.ranks import together
from etude.core.types import ContentKey, Task, WindowChoice, WindowScore
from etude.events.schema import ScanFinished
from etude.runs.run_config import RunConfig
from etude.runs.scan_records import choice_settings, in_run, keep_record, read_record
from etude.runs.scanning import open_scan
from etude.scan.groups import ActionGroup, action_groups
from etude.scan.logic import SAMPLE_SCAN
from etude.scan.record import RecordedWindow, RecordHead, ScanRecord, Setting, scan_record, units_of
from etude.scan.sample_runner import SampleReport, TaskSamples, scan_samples
from etude.scan.scan_config import ActionKind, parse_groups
from etude.scan.scoring import Scorer
from etude.scan.subject import ScanSubject
from etude.scan.suspects import PastScan
from etude.store.layout import RECORD_SUFFIX, RunFolder

KIND = "samples"
EARLIER = 32
"""Most records of earlier scans that are read, so that a long run's next scan starts at once."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleScanOutcome:
    """What a scan of the training episodes found. The same on every rank, but for `rank`."""

    rank: int
    report: SampleReport
    tasks: tuple[Task, ...]
    record: str
    """File that holds every window; empty where it could not be written."""

    def to_json(self) -> dict[str, object]:
        """Return what programs read."""
        return {
            "policy": self.report.policy,
            "complete": self.report.complete,
            "tasks": [
                _task(task, self.report.tasks[task.id])
                for task in self.tasks
                if task.id in self.report.tasks
            ],
            "inferences": self.report.inferences,
            "recalled": self.report.recalled,
            "record": self.record,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measure:
    """What errors are measured by: those of two scans mean the same where it is equal."""

    dataset: Dataset
    horizon: int
    """Actions of a chunk that are judged."""
    groups: tuple[ActionGroup, ...]
    key: ContentKey
    """Of the training episodes, as `units_of` returns it."""
    actions: ActionKind
    """What actions were said to be."""

    def is_that_of(self, head: RecordHead) -> bool:
        """Return whether errors in a record of a sample scan are measured by the same."""
        return (
            head.kind == KIND
            and head.dataset == self.dataset.spec.repo_id
            and head.horizon == self.horizon
            and head.units == self.key
            and head.settings.get("actions") == self.actions
            and dict(head.groups) == {group.name: group.dims for group in self.groups}
        )


def scan(
    config: RunConfig, *, progress: Progress, warn: Callable[[str], None]
) -> SampleScanOutcome:
    """Scan the training episodes; the policy is loaded only if a result is missing.

    Every process that a launcher started calls this, and all of them share the work.

    Raises:
        PolicyError: There is no such checkpoint, or it holds no such policy.
        DataError: The dataset or the checkpoint is missing or faulty.
        ScanError: Work was done twice or not at all.
    """
    folder = RunFolder(Path(config.output_dir))
    with open_scan(config, SAMPLE_SCAN, progress=progress, warn=warn) as scanning:
        subject = ScanSubject(
            dataset=scanning.dataset,
            train=scanning.split.train,
            held_out=scanning.split.held_out,
            weights=scanning.policy.weights,
            horizon=scanning.horizon,
        )
        measure = Measure(
            dataset=scanning.dataset,
            horizon=scanning.horizon,
            groups=action_groups(scanning.dataset.spec, parse_groups(config.scan.groups)),
            key=units_of(scanning.dataset, scanning.split.train),
            actions=config.scan.actions,
        )
        ranks = scanning.ranks
        step = scanning.policy.step
        earlier = _by_rank_0(
            ranks, lambda: earlier_scans(folder, measure, until=step, warn=warn), ()
        )
        scorer = Scorer(scanning.parts, config.scan)
        report = scan_samples(subject, config.scan, scorer, earlier, step=step)
        record = _record(config, report, measure, step=step)
        path = _by_rank_0(ranks, lambda: keep_record(folder, record, warn=warn), "")
        if ranks.rank == 0:
            scanning.tell(_finished(report, record=in_run(folder, path), step=step))
    return SampleScanOutcome(
        rank=ranks.rank, report=report, tasks=subject.dataset.spec.tasks, record=path
    )


def earlier_scans(
    folder: RunFolder, measure: Measure, *, until: int, warn: Callable[[str], None]
) -> tuple[PastScan, ...]:
    """Return the latest sample scans recorded in a folder whose errors mean the same.

    A record that is damaged is said and passed over, and so is, in silence, each window of an
    episode whose content is no longer the same.

    Args:
        folder: Where records lie.
        measure: What errors are measured by.
        until: Training steps behind the present policy; later ones are passed over.
        warn: Told of each record that is damaged.
    """
    found: list[PastScan] = []
    # The names of records begin with their steps, so only those that matter are read.
    last = f"{KIND}-step-{until:08d}~"
    paths = sorted(folder.scans.glob(f"{KIND}-*{RECORD_SUFFIX}"))
    for path in [path for path in paths if path.name <= last][-EARLIER:]:
        try:
            record = read_record(path)
        except DataError as error:
            warn(f"{error}; suspects are looked for without it")
            continue
        if measure.is_that_of(record.head):
            found.append(_past(record, measure.dataset))
    return tuple(found)


def _past(record: ScanRecord, dataset: Dataset) -> PastScan:
    spans = {span.index: span for span in dataset.episodes}
    return PastScan(
        step=record.head.step,
        round=int(record.head.settings.get("round", 0)),
        windows=tuple(
            _score(window)
            for window in record.windows
            if window.episode in spans
            and spans[window.episode].task == window.task
            and dataset.identity(spans[window.episode]) == window.content
        ),
    )


def _score(window: RecordedWindow) -> WindowScore:
    return WindowScore(
        choice=WindowChoice(
            task=window.task,
            episode=window.episode,
            frame=window.frame,
            stratum=window.stratum,
            weight=window.weight,
            seed=window.seed,
        ),
        groups=window.groups,
        mse=window.mse,
        mae=window.mae,
    )


def _record(config: RunConfig, report: SampleReport, measure: Measure, *, step: int) -> ScanRecord:
    return scan_record(
        report.windows,
        kind=KIND,
        dataset=measure.dataset,
        policy=report.policy,
        step=step,
        horizon=measure.horizon,
        groups=measure.groups,
        units=measure.key,
        settings=_settings(config),
        of={task: each.of for task, each in report.tasks.items()},
        complete=report.complete,
    )


def _finished(report: SampleReport, *, record: str, step: int) -> ScanFinished:
    tasks = report.tasks.values()
    return ScanFinished(
        scan=SAMPLE_SCAN.namespace,
        record=record,
        step=step,
        policy=report.policy,
        tasks=list(report.tasks),
        windows=[each.windows for each in tasks],
        of=[each.of for each in tasks],
        gmse=[each.difficulty for each in tasks],
        inferences=report.inferences,
        recalled=report.recalled,
        complete=report.complete,
    )


def _settings(config: RunConfig) -> dict[str, Setting]:
    """Return every setting that decides which windows are looked at."""
    idle = ("windows_per_task", "first", "tau")
    kept = {name: value for name, value in choice_settings(config).items() if name not in idle}
    return {**kept, "samples_per_task": config.scan.samples_per_task}


def _by_rank_0(ranks: Ranks, work: Callable[[], T], nothing: T) -> T:
    """Return what rank 0 finds or does; what lies in a folder may differ for the others."""
    return together(ranks, lambda: work() if ranks.rank == 0 else nothing)[0]


def _task(task: Task, found: TaskSamples) -> dict[str, object]:
    return {
        "task": task.id,
        "name": task.name,
        "windows": found.windows,
        "of": found.of,
        "estimated": found.estimated,
        "difficulty": found.difficulty,
        "irreducible": found.irreducible,
        "strata": [
            {
                "stratum": row.stratum,
                "windows": row.windows,
                "of": row.of,
                "difficulty": row.difficulty,
                "weight": row.multiplier,
            }
            for row in found.strata
        ],
        "suspects": [
            {
                "episode": suspect.episode,
                "frame": suspect.frame,
                "stratum": suspect.stratum,
                "visits": suspect.visits,
                "gmse": suspect.gmse,
            }
            for suspect in found.suspects
        ],
    }
