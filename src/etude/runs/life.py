"""The whole life of a run: demonstrations, training, evaluation, report."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etude.compute.world import join
from etude.core.protocols import Progress
from etude.core.ranks import together
from etude.evaluate.summary import EvaluationSummary
from etude.events.recorder import Recorder
from etude.observe.report import write_report
from etude.runs.adaptive_build import require_start
from etude.runs.adaptive_config import StartConfig
from etude.runs.build import dataset_folder
from etude.runs.demo_provenance import PROVENANCE_FILE
from etude.runs.demonstrations import record
from etude.runs.evaluation import evaluate
from etude.runs.run_config import RunConfig
from etude.runs.run_files import claimed
from etude.runs.training import train_claimed
from etude.store.layout import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """What a whole run achieved."""

    rank: int
    """Which of the processes tells it; all tell the same."""
    summary: EvaluationSummary
    report: Path
    seconds: float
    """What this call took, from nothing or from where it went on."""

    def to_json(self) -> dict[str, Any]:
        """Return what `etude run --json` prints."""
        return {
            **self.summary.to_json(),
            "report": str(self.report),
            "seconds": self.seconds,
        }


def run(
    config: RunConfig,
    *,
    command: list[str],
    resume: bool,
    progress: Progress,
    start: StartConfig | None = None,
) -> RunOutcome:
    """Do everything that is not done yet, from demonstrations to the report.

    Every process that a launcher started calls this. All of them train; the rest is done by the
    first one, while the others wait.

    Args:
        config: Of the run.
        command: What was typed, for the run's record.
        resume: Whether the folder may hold a run, which goes on.
        progress: Told how far it is.
        start: Which task states it begins with; those beside the weights if left out.

    Raises:
        StateError: The output folder cannot be used as asked; nothing has been touched.
        EtudeError: A part failed; what was finished stays, and `resume` goes on behind it.
    """
    begun = time.perf_counter()
    start = start or StartConfig()
    require_start(config, start)
    folder = RunFolder(Path(config.output_dir))
    with join(config.world) as ranks, claimed(folder, config, ranks, resume=resume):
        first = ranks.rank == 0
        recorded_s = together(ranks, lambda: _demonstrations(config, progress) if first else None)
        train_claimed(
            config,
            folder,
            ranks,
            command=command,
            progress=progress,
            start=start,
            recorded_s=recorded_s[0],
        )

        def conclude() -> tuple[EvaluationSummary, Path] | None:
            if not first:
                return None
            summary = _evaluation(config, folder, command=command, progress=progress)
            return summary, write_report(folder)

        concluded = together(ranks, conclude)[0]
    assert concluded is not None
    summary, report = concluded
    seconds = round(time.perf_counter() - begun, 2)
    return RunOutcome(rank=ranks.rank, summary=summary, report=report, seconds=seconds)


def _demonstrations(config: RunConfig, progress: Progress) -> float | None:
    """Record what is missing, and return the seconds it took, or None if it was all there."""
    folder = dataset_folder(config)
    if folder.exists() and not (folder / PROVENANCE_FILE).is_file():
        return None
    outcome = record(config, progress=progress)
    return None if outcome.reused else outcome.seconds


def _evaluation(
    config: RunConfig, folder: RunFolder, *, command: list[str], progress: Progress
) -> EvaluationSummary:
    recorder = Recorder(folder.events)
    try:
        with recorder.phase("evaluate"):
            return evaluate(config, command=command, progress=progress)
    finally:
        recorder.close()
