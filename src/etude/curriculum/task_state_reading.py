"""Reading a task state document, with every fault told at once."""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from etude.core.types import Task, TaskId
from etude.curriculum.states import EvidenceKind, TaskEvidence, TaskState
from etude.curriculum.task_state import STATUSES, DatasetMark, TaskEntry, TaskStateDocument
from etude.curriculum.task_state_fields import (
    Faults,
    Field,
    amount,
    amount_or_null,
    flag,
    nearest,
    read_fields,
    rows_of,
    shown,
    step_number,
    text,
    whole,
    word,
)
from etude.curriculum.task_state_schema import migrate
from etude.curriculum.task_state_text import from_text

_CHECK = "Correct them, then read it again: etude tasks show {source}"

_DOCUMENT: Mapping[str, Field] = {
    "schema": text(),
    "run_id": text(),
    "step": whole(required=True),
    "weights": text(required=True),
    "dataset": Field(expected="an object", accepts=lambda value: isinstance(value, dict)),
    "rule": text(),
    "tasks": Field(expected="a list", accepts=lambda value: isinstance(value, list), required=True),
}
_DATASET: Mapping[str, Field] = {"repo_id": text(), "identity": text()}
_TASK: Mapping[str, Field] = {
    "id": text(required=True),
    "name": text(),
    "status": word(STATUSES, required=True),
    "proxy": flag(),
    "since_step": step_number(),
    "share": amount_or_null(),
    "spent": amount(),
    "budget": amount(),
    "streak": whole(),
    "streak_step": step_number(),
    "doubts": whole(),
    "boost": amount(),
    "recheck_in": whole(),
    "recheck_every": whole(),
    "failures": whole(),
    "reason": text(),
    "scores": Field(expected="a list", accepts=lambda value: isinstance(value, list)),
}
_SCORE: Mapping[str, Field] = {
    "step": step_number(required=True),
    "weights": text(required=True),
    "kind": word(get_args(EvidenceKind), required=True),
    "passed": amount(),
    "trials": amount(),
    "episodes": whole(),
    "score": amount_or_null(),
    "spent": amount(),
    "stale": flag(),
}
_OF_DOCUMENT = ("id", "name", "share", "scores")
"""Entries of a task that are not fields of its state under the same name."""
_AMOUNTS = ("spent", "budget", "boost", "passed", "trials", "score")
"""Entries that are broken numbers, though a whole one may stand there."""


def document_from_text(
    content: str, *, source: str, tasks: Sequence[Task] | None = None
) -> TaskStateDocument:
    """Return the document that a text holds; the arguments are those of `document_from_json`.

    Raises:
        StateError: It is not JSON, has another schema, or has faults, all of which are told.
    """
    return document_from_json(from_text(content, source=source), source=source, tasks=tasks)


def document_from_json(
    value: Mapping[str, Any], *, source: str, tasks: Sequence[Task] | None = None
) -> TaskStateDocument:
    """Return the document that a JSON object holds, brought to the current version.

    Args:
        value: As read from JSON.
        source: Where it was read, for messages.
        tasks: All tasks that there are; others in the document, or missing from it, are faults.
            None if that is to be judged later.

    Raises:
        StateError: It has another schema or faults, all of which are told.
    """
    value = migrate(value, source=source)
    faults = Faults(source)
    found = read_fields(value, _DOCUMENT, address="", faults=faults)
    mark = read_fields(found.get("dataset", {}), _DATASET, address="dataset.", faults=faults)
    rows = rows_of(found.get("tasks", []), address="tasks", faults=faults)
    entries = [_read_task(row, f"tasks[{place}]", faults) for place, row in rows]
    _check_ids(rows, tasks, faults)
    faults.settle(hint=_CHECK.format(source=source))
    return TaskStateDocument(
        run_id=found.get("run_id", ""),
        step=found["step"],
        weights=found["weights"],
        dataset=DatasetMark(**mark),
        rule=found.get("rule", ""),
        tasks=tuple(entry for entry in entries if entry is not None),
        kept=value,
        source=source,
    )


def _read_task(row: Mapping[str, Any], address: str, faults: Faults) -> TaskEntry | None:
    """Return one task; None if it lacks what it needs, which is noted."""
    found = read_fields(row, _TASK, address=f"{address}.", faults=faults)
    rows = rows_of(found.pop("scores", []), address=f"{address}.scores", faults=faults)
    scores = [_read_score(each, f"{address}.scores[{place}]", faults) for place, each in rows]
    if found.get("proxy") and found.get("status", "passed") != "passed":
        note = f"is true, but status is {shown(found['status'])}"
        faults.add(f"{address}.proxy", note, hint="Set it to false, or status to passed.")
    if "id" not in found or "status" not in found:
        return None
    name, share = found.pop("name", ""), found.pop("share", None)
    state = TaskState(
        task=TaskId(found.pop("id")),
        history=tuple(each for each in scores if each is not None),
        **_broken(found),
    )
    return TaskEntry(state=state, name=name, share=None if share is None else float(share))


def _read_score(row: Mapping[str, Any], address: str, faults: Faults) -> TaskEvidence | None:
    found = read_fields(row, _SCORE, address=f"{address}.", faults=faults)
    if found.get("passed", 0) > found.get("trials", math.inf):
        faults.add(f"{address}.passed", f"is {found['passed']}, over trials ({found['trials']})")
    if not all(name in found for name, kind in _SCORE.items() if kind.required):
        return None
    unknown: dict[str, Any] = {"passed": 0.0, "trials": 0.0, "episodes": 0, "score": None}
    return TaskEvidence(**(unknown | _broken(found)))


def _broken(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: float(value) if name in _AMOUNTS and value is not None else value
        for name, value in found.items()
    }


def _check_ids(
    rows: Sequence[tuple[int, Mapping[str, Any]]], tasks: Sequence[Task] | None, faults: Faults
) -> None:
    """Note tasks that stand there twice, and those that are not among `tasks` or missing."""
    first: dict[str, int] = {}
    for place, row in rows:
        task = row.get("id")
        if not isinstance(task, str):
            continue
        if task in first:
            faults.add(f"tasks[{place}].id", f"is {shown(task)}, as is tasks[{first[task]}].id")
        first.setdefault(task, place)
    if tasks is None:
        return
    known = {str(task.id) for task in tasks}
    for task, place in first.items():
        if task not in known:
            hint = functools.partial(nearest_task, task, tasks)
            faults.add(f"tasks[{place}].id", f"is {shown(task)}, which is no task", hint=hint)
    for task in tasks:
        if task.id not in first:
            faults.add("tasks", f"has no {task.id} ({task.name})")


def nearest_task(said: str, tasks: Sequence[Task]) -> str:
    """Return a hint that names the task whose id or name was probably meant, or ""."""
    by_name = {task.name: task.id for task in tasks}
    if said in by_name:
        return f"The id of {said} is {by_name[said]}."
    return nearest(said, [task.id for task in tasks])
