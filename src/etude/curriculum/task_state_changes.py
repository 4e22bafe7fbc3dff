"""Changing the state of one task by hand, and saying how two documents differ."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from etude.core.errors import StateError
from etude.core.types import TaskId
from etude.curriculum.lifecycle import revive
from etude.curriculum.lifecycle_config import LifecycleConfig
from etude.curriculum.states import Status, TaskState, untried_states
from etude.curriculum.task_state import STATUSES, TaskEntry, TaskStateDocument
from etude.curriculum.task_state_fields import nearest
from etude.curriculum.task_state_overview import task_overview

BY_HAND = "set by hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry that differs between two documents."""

    task: str
    """Id of the task; empty for an entry of the document itself."""
    name: str
    """What the task is called."""
    entry: str
    """For example "status"; "task" if only one document has it."""
    before: Any
    """None where it was not there."""
    after: Any


def difference(old: TaskStateDocument, new: TaskStateDocument) -> list[Change]:
    """Return what differs, the documents' own entries first, then task by task."""
    heads = old.to_json(), new.to_json()
    changes = [
        Change(task="", name="", entry=name, before=heads[0][name], after=heads[1][name])
        for name in ("run_id", "step", "weights", "dataset", "rule")
        if heads[0][name] != heads[1][name]
    ]
    before_tasks = {entry.task: entry for entry in old.tasks}
    after_tasks = {entry.task: entry for entry in new.tasks}
    for task in dict.fromkeys([*before_tasks, *after_tasks]):
        changes += _task_changes(task, before_tasks.get(task), after_tasks.get(task))
    return changes


def find_task(document: TaskStateDocument, said: str) -> TaskId:
    """Return the task that is meant by its id or by its name.

    Raises:
        StateError: None is, or several are.
    """
    named = [entry.task for entry in document.tasks if said in (entry.task, entry.name)]
    exact = [task for task in named if task == said]
    if len(found := exact or named) == 1:
        return found[0]
    if found:
        raise StateError(
            f"{document.source} has {len(found)} tasks of the name {said!r}: {', '.join(found)}",
            hint="Name one by its id.",
        )
    names = [each for entry in document.tasks for each in (entry.task, entry.name) if each]
    raise StateError(
        f"{document.source} has no task {said!r}",
        hint=nearest(said, names) or f"See its tasks: etude tasks show {document.source}",
    )


def reset(document: TaskStateDocument, task: TaskId) -> TaskStateDocument:
    """Return the document with one task as if it had never been looked at; its budget stays."""

    def fresh(state: TaskState) -> TaskState:
        found = untried_states([task], budget=state.budget, step=document.step)[task]
        return replace(found, reason=BY_HAND)

    return _changed(document, task, fresh)


def mark(document: TaskStateDocument, task: TaskId, status: str) -> TaskStateDocument:
    """Return the document with one task in another state, to be looked at in the next scan.

    Its history stays. One that is to be trained again gets a larger budget if its own is spent.

    Raises:
        StateError: There is no such state.
    """
    wanted: Mapping[str, Status] = {known: known for known in STATUSES}
    if status not in wanted:
        raise StateError(
            f"{status!r} is no state of a task: {', '.join(STATUSES)}",
            hint=nearest(status, STATUSES) or "Name one of them.",
        )
    return _changed(document, task, lambda state: _marked(state, wanted[status], document.step))


def _marked(state: TaskState, status: Status, step: int) -> TaskState:
    if status == "training" and state.spent >= state.budget:
        state, _ = revive(state, step=step, config=LifecycleConfig(), reason=BY_HAND)
    return replace(
        state,
        status=status,
        proxy=False,
        since_step=step,
        streak=0,
        doubts=0,
        recheck_in=1,
        recheck_every=1,
        failures=0,
        reason=BY_HAND,
    )


def _changed(
    document: TaskStateDocument, task: TaskId, change: Callable[[TaskState], TaskState]
) -> TaskStateDocument:
    entries = tuple(
        replace(entry, state=change(entry.state)) if entry.task == task else entry
        for entry in document.tasks
    )
    return replace(document, tasks=entries)


def _task_changes(task: TaskId, before: TaskEntry | None, after: TaskEntry | None) -> list[Change]:
    either = after or before
    name = either.name if either is not None else ""
    if before is None or after is None:
        labels = [None if entry is None else entry.state.label for entry in (before, after)]
        return [Change(task=task, name=name, entry="task", before=labels[0], after=labels[1])]
    told, tells = _told(before), _told(after)
    return [
        Change(task=task, name=name, entry=entry, before=told[entry], after=tells[entry])
        for entry in told
        if told[entry] != tells[entry]
    ]


def _told(entry: TaskEntry) -> Mapping[str, Any]:
    """Return what a comparison looks at: what a person decides on, not every counter."""
    told = task_overview(entry)
    left_out = ("task", "proxy", "recheck_in", "since_step")
    return {name: value for name, value in told.items() if name not in left_out} | {
        "status": entry.state.label
    }
