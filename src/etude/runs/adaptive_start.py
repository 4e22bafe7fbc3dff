"""Which task states a run begins with: those beside its weights, those of a document, or none."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from etude.core.types import SamplingPlan, Task, TaskId
from etude.curriculum.states import TaskState, untried_states
from etude.curriculum.task_state import FILE_NAME, DatasetMark
from etude.curriculum.task_state_adopt import adopt
from etude.runs.adaptive_config import StartConfig
from etude.runs.task_documents import find_document, read_document

AUTO, NONE = "auto", "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What is known about the tasks before the first step."""

    states: dict[TaskId, TaskState]
    plan: SamplingPlan | None = None
    source: str = ""
    """The document; empty where there is none."""
    stale: bool = False
    moved: bool = False
    """The document is of other data, which was accepted."""
    notes: tuple[str, ...] = ()
    """What the user should know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """The tasks and data that states must fit."""

    tasks: tuple[Task, ...]
    mark: DatasetMark
    budget: float
    """Draws of a task that nothing is known about."""


def beginning(
    config: StartConfig, grounds: Grounds, *, beside: Path | None, weights: str, step: int
) -> Beginning:
    """Return the task states that `config` asks for.

    Args:
        config: What the command line says.
        grounds: What they must fit.
        beside: The checkpoint or export whose weights were loaded; None for fresh ones.
        weights: Identity of the weights.
        step: Steps that the run has done.

    Raises:
        StateError: The document is missing or has faults, or is of other weights or data, and
            that was not accepted.
    """
    untried = untried_states([task.id for task in grounds.tasks], budget=grounds.budget, step=step)
    path = _document(config.task_state, beside)
    if path is None:
        return Beginning(states=untried)
    document = read_document(path)
    adoption = adopt(
        document,
        grounds.tasks,
        weights=weights,
        accept_mismatch=config.accept_weights_mismatch,
        accept_data_change=config.accept_data_change,
        dataset=grounds.mark,
        budget=grounds.budget,
        step=step,
    )
    notes: list[str] = []
    if adoption.stale:
        notes.append(f"{path} is of other weights: every task is looked at first")
    for what, tasks in (("is new", adoption.added), ("was left out", adoption.dropped)):
        if tasks:
            notes.append(f"{_few(tasks)} {what}: {path} has other tasks than this run")
    return Beginning(
        states=adoption.states,
        plan=adoption.plan,
        source=str(path),
        stale=adoption.stale,
        moved=document.dataset != grounds.mark,
        notes=tuple(notes),
    )


def _document(wanted: str, beside: Path | None) -> Path | None:
    if wanted == NONE:
        return None
    if wanted != AUTO:
        return find_document(Path(wanted))
    if beside is None or not (beside / FILE_NAME).exists():
        return None
    return find_document(beside)


def _few(tasks: Sequence[TaskId], most: int = 5) -> str:
    rest = f" and {len(tasks) - most} more" if len(tasks) > most else ""
    return ", ".join(tasks[:most]) + rest
