"""Tasks as plain data, for files that name them."""

from collections.abc import Mapping, Sequence
from typing import Any

from etude.core.types import Task, TaskId


def tasks_to_json(tasks: Sequence[Task]) -> list[dict[str, object]]:
    """Return `tasks` ready for JSON."""
    return [
        {"id": task.id, "index": task.index, "name": task.name, "text": task.text} for task in tasks
    ]


def tasks_from_json(rows: Sequence[Mapping[str, Any]]) -> tuple[Task, ...]:
    """Return the tasks that `tasks_to_json` wrote.

    Raises:
        KeyError: A row lacks a field.
    """
    return tuple(
        Task(
            id=TaskId(str(row["id"])),
            index=int(row["index"]),
            name=str(row["name"]),
            text=str(row["text"]),
        )
        for row in rows
    )
