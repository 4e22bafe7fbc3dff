"""The fold from events to the numbers that every view shows. A later attempt wins."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, kw_only=True)
class RunSummary:
    """What is known about a run at one moment."""

    step: int = 0
    """Last step that the latest attempt has reported or begun from."""
    attempts: int = 0
    losses: dict[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    """`steps_finished` records by step, ascending."""
    task_losses: dict[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    held_out: dict[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    checkpoints: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])
    phases: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds by phase, summed over attempts."""
    warnings: list[str] = field(default_factory=list[str])
    skipped: dict[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    scores: dict[str, dict[int, Mapping[str, Any]]] = field(
        default_factory=dict[str, dict[int, Mapping[str, Any]]]
    )
    """`task_scores` records by what scored them, then by step."""
    plans: dict[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    counterfactuals: dict[int, Mapping[str, Any]] = field(
        default_factory=dict[int, Mapping[str, Any]]
    )
    transitions: dict[int, dict[str, Mapping[str, Any]]] = field(
        default_factory=dict[int, dict[str, Mapping[str, Any]]]
    )
    """`task_transition` records by step, then by task."""
    weighed: dict[int, Mapping[str, Any]] = field(default_factory=dict[int, Mapping[str, Any]])
    """`windows_weighed` records by step."""

    @property
    def skipped_steps(self) -> int:
        """How many of the steps done were left out because of a loss that is not finite."""
        return len(self.skipped)


def summarise(records: Iterable[Mapping[str, Any]]) -> RunSummary:
    """Fold records, in the order of `read_events`, into a summary.

    When an attempt starts at step s, whatever earlier attempts reported beyond s has been undone.
    """
    summary = RunSummary()
    for record in records:
        _fold(summary, record)
    return summary


def _fold(summary: RunSummary, record: Mapping[str, Any]) -> None:
    match record["kind"]:
        case "attempt_started":
            summary.attempts += 1
            _rewind(summary, int(record["step"]))
        case "steps_finished":
            summary.step = int(record["step"])
            summary.losses[summary.step] = record
        case "task_losses":
            summary.task_losses[int(record["step"])] = record
        case "held_out_errors":
            summary.held_out[int(record["step"])] = record
        case "step_skipped":
            summary.skipped[int(record["step"])] = record
        case "task_scores":
            summary.scores.setdefault(str(record["by"]), {})[int(record["step"])] = record
        case "plan_chosen":
            summary.plans[int(record["step"])] = record
        case "counterfactual_plans":
            summary.counterfactuals[int(record["step"])] = record
        case "task_transition":
            of_step = summary.transitions.setdefault(int(record["step"]), {})
            of_step[str(record["task"])] = record
        case "windows_weighed":
            summary.weighed[int(record["step"])] = record
        case "checkpoint_committed":
            summary.checkpoints.append(record)
        case "phase_finished":
            phase = str(record["phase"])
            summary.phases[phase] = summary.phases.get(phase, 0.0) + float(record["seconds"])
        case "warned":
            summary.warnings.append(str(record["message"]))
        case _:
            pass


def _rewind(summary: RunSummary, step: int) -> None:
    summary.step = step
    summary.checkpoints = [kept for kept in summary.checkpoints if int(kept["step"]) <= step]
    for series in (
        summary.losses,
        summary.task_losses,
        summary.held_out,
        summary.skipped,
        summary.plans,
        summary.counterfactuals,
        summary.transitions,
        summary.weighed,
        *summary.scores.values(),
    ):
        for undone in [logged for logged in series if logged > step]:
            del series[undone]
