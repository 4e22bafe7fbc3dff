"""Scanning the moments of the training episodes with a policy, on one rank or on several."""

from collections.abc import Callable
from dataclasses import asdict, dataclass

from etude.core.errors import DataError
from etude.core.protocols import Dataset, Progress
from etude.core.ranks import by_rank_0
from etude.core.types import Task, WindowChoice, WindowScore
from etude.runs.run_config import RunConfig
from etude.runs.scan_outcomes import keep_scan, outcome_json
from etude.runs.scan_records import choice_settings, read_record
from etude.runs.scanning import open_scan
from etude.scan.logic import SAMPLE_SCAN
from etude.scan.measure import Measure, measure_of
from etude.scan.record import Kind, RecordedWindow, ScanRecord, Setting
from etude.scan.sample_runner import SampleReport, TaskSamples, scan_samples
from etude.scan.scoring import Scorer
from etude.scan.suspects import PastScan
from etude.store.layout import RECORD_SUFFIX, RunFolder

KIND: Kind = "samples"
EARLIER = 32
"""Most records of earlier scans that are read, so that a long run's next scan starts at once."""


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
        return outcome_json(
            self.report,
            self.tasks,
            record=self.record,
            told=lambda task: _task(task, self.report.tasks[task.id]),
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
    with open_scan(config, SAMPLE_SCAN, progress=progress, warn=warn) as scanning:
        subject, step = scanning.subject, scanning.policy.step
        earlier = by_rank_0(
            scanning.ranks,
            lambda: earlier_scans(
                scanning.folder,
                subject.dataset,
                measure_of(subject, config.scan),
                until=step,
                warn=scanning.warn,
            ),
        )
        scorer = Scorer(scanning.parts, config.scan)
        report = scan_samples(subject, config.scan, scorer, earlier, step=step)
        record = keep_scan(
            config,
            scanning,
            report,
            kind=KIND,
            errors=[each.difficulty for each in report.tasks.values()],
            settings=_settings(config),
        )
    return SampleScanOutcome(
        rank=scanning.ranks.rank,
        report=report,
        tasks=subject.dataset.spec.tasks,
        record=record,
    )


def earlier_scans(
    folder: RunFolder,
    dataset: Dataset,
    measure: Measure,
    *,
    until: int,
    warn: Callable[[str], None],
) -> tuple[PastScan, ...]:
    """Return the latest sample scans recorded in a folder whose errors mean the same.

    A record that is damaged is said and passed over, and so is, in silence, each window of an
    episode whose content is no longer the same.

    Args:
        folder: Where records lie.
        dataset: What is scanned now.
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
        if record.head.kind == KIND and record.head.measure == measure:
            found.append(past_scan(record, dataset))
    return tuple(found)


def past_scan(record: ScanRecord, dataset: Dataset) -> PastScan:
    """Return what a record says of episodes whose content is still the same."""
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


def _settings(config: RunConfig) -> dict[str, Setting]:
    """Return every setting that decides which windows are looked at."""
    idle = ("windows_per_task", "first", "tau")
    kept = {name: value for name, value in choice_settings(config).items() if name not in idle}
    return {**kept, "samples_per_task": config.scan.samples_per_task}


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
        "moments": [asdict(moment) for moment in found.moments],
    }
