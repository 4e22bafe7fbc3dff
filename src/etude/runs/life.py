"""The whole life of a run: demonstrations, training, evaluation, report."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etude.core.protocols import Progress
from etude.evaluate.summary import EvaluationSummary
from etude.events.recorder import Recorder
from etude.observe.report import write_report
from etude.runs.build import dataset_folder
from etude.runs.demo_provenance import PROVENANCE_FILE
from etude.runs.demonstrations import record
from etude.runs.evaluation import evaluate
from etude.runs.run_config import RunConfig
from etude.runs.run_files import require_usable
from etude.runs.training import train_claimed
from etude.store.layout import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """What a whole run achieved."""

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


def run(config: RunConfig, *, command: list[str], resume: bool, progress: Progress) -> RunOutcome:
    """Do everything that is not done yet, from demonstrations to the report.

    Raises:
        StateError: The output folder cannot be used as asked; nothing has been touched.
        EtudeError: A part failed; what was finished stays, and `resume` goes on behind it.
    """
    begun = time.perf_counter()
    folder = RunFolder(Path(config.output_dir))
    with folder.claim():
        require_usable(folder, config, resume=resume)
        recorded_s = _demonstrations(config, progress)
        train_claimed(config, folder, command=command, progress=progress, recorded_s=recorded_s)
        summary = _evaluation(config, folder, command=command, progress=progress)
        report = write_report(folder)
    return RunOutcome(summary=summary, report=report, seconds=round(time.perf_counter() - begun, 2))


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
