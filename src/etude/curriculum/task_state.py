"""The task state document: where every task stands, as JSON that a person can read and edit.

Names that this version does not know are kept, so that a document survives being read and written
by an older Etude. They belong to the task or the score beside them, not to a place in a list.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, cast, get_args

from etude.core.types import SamplingPlan, Task, TaskId
from etude.curriculum.states import Status, TaskState
from etude.curriculum.task_state_schema import SCHEMA
from etude.curriculum.task_state_text import to_text

FILE_NAME = "task_state.json"
"""Of the document inside a checkpoint."""
STATUSES: tuple[Status, ...] = get_args(Status)
_OF_ENTRY = ("task", "history")
"""Fields of a state that the document writes in its own way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetMark:
    """Which data the tasks are of."""

    repo_id: str = ""
    identity: str = ""
    """Changes with the content; empty where it was not taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEntry:
    """One task of a document."""

    state: TaskState
    name: str = ""
    share: float | None = None
    """Of the plan in force; None where the document has no plan."""

    @property
    def task(self) -> TaskId:
        """The task's id."""
        return self.state.task


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStateDocument:
    """What is known about every task, and about which weights."""

    run_id: str
    step: int
    weights: str
    """Identity of the weights that the states are those of."""
    dataset: DatasetMark
    rule: str
    """Name of the rule that made the plan."""
    tasks: tuple[TaskEntry, ...]
    kept: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)
    """The JSON that it was read from, for names that are not known here."""
    source: str = field(default="the task state document", compare=False)
    """Where it was read, for messages."""

    @property
    def states(self) -> dict[TaskId, TaskState]:
        """The states by task, in the order of the document."""
        return {entry.task: entry.state for entry in self.tasks}

    @property
    def plan(self) -> SamplingPlan | None:
        """The plan in force; None where a task has no share in it."""
        shares = {entry.task: entry.share for entry in self.tasks if entry.share is not None}
        return SamplingPlan(weights=shares) if shares and len(shares) == len(self.tasks) else None

    def to_json(self) -> dict[str, Any]:
        """Return the document ready for JSON, with the names of `kept` that are not known here."""
        kept_tasks = {row.get("id"): row for row in _rows(self.kept.get("tasks"))}
        known: dict[str, Any] = {
            "schema": SCHEMA,
            "run_id": self.run_id,
            "step": self.step,
            "weights": self.weights,
            "dataset": _with_kept(plain_fields(self.dataset), self.kept.get("dataset")),
            "rule": self.rule,
            "tasks": [_task_to_json(entry, kept_tasks.get(entry.task)) for entry in self.tasks],
        }
        return _with_kept(known, self.kept)

    def to_text(self) -> str:
        """Return the document as it is written to a file.

        Raises:
            ValueError: A number is not finite.
        """
        return to_text(self.to_json())


def make_document(
    states: Mapping[TaskId, TaskState],
    tasks: Sequence[Task],
    plan: SamplingPlan | None,
    *,
    run_id: str,
    step: int,
    weights: str,
    dataset: DatasetMark,
    rule: str,
) -> TaskStateDocument:
    """Return the document of a run's states; every one of `states` is among `tasks`."""
    shares: Mapping[TaskId, float] = {} if plan is None else plan.weights
    entries = [
        TaskEntry(state=states[task.id], name=task.name, share=shares.get(task.id))
        for task in tasks
        if task.id in states
    ]
    return TaskStateDocument(
        run_id=run_id,
        step=step,
        weights=weights,
        dataset=dataset,
        rule=rule,
        tasks=tuple(entries),
    )


def _task_to_json(entry: TaskEntry, kept: object) -> dict[str, Any]:
    state = entry.state
    plain = {name: value for name, value in plain_fields(state).items() if name not in _OF_ENTRY}
    known: dict[str, Any] = {"id": state.task, "name": entry.name}
    known |= {name: plain[name] for name in ("status", "proxy", "since_step")}
    known |= {"share": entry.share, **plain}
    kept_scores = {_score_name(row): row for row in _rows(_field(kept, "scores"))}
    scores = [plain_fields(each) for each in state.history]
    known["scores"] = [_with_kept(row, kept_scores.get(_score_name(row))) for row in scores]
    return _with_kept(known, kept)


def _score_name(row: Mapping[str, Any]) -> tuple[object, ...]:
    """Return what tells one score of a task from the others."""
    return tuple(row.get(name) for name in ("step", "weights", "kind"))


def _with_kept(known: dict[str, Any], kept: object) -> dict[str, Any]:
    """Return `known`, and behind it what else stands in the object that it was read from."""
    if not isinstance(kept, Mapping):
        return known
    row = cast("Mapping[str, Any]", kept)
    return known | {name: value for name, value in row.items() if name not in known}


def _rows(value: object) -> list[Mapping[str, Any]]:
    return cast("list[Mapping[str, Any]]", value) if isinstance(value, list) else []


def _field(row: object, name: str) -> object:
    return cast("Mapping[str, object]", row).get(name) if isinstance(row, Mapping) else None


def plain_fields(value: object) -> dict[str, Any]:
    """Return the fields of a dataclass."""
    return {each.name: getattr(value, each.name) for each in fields(cast("Any", value))}
