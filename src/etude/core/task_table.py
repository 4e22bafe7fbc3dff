"""Tasks as plain data, for files that name them."""

from collections.abc import Mapping, Sequence
from typing import Any

from etude.core.types import DataSpec, Task, TaskId


def tasks_to_json(tasks: Sequence[Task]) -> list[dict[str, object]]:
    """Return `tasks` ready for JSON."""
    return [
        {"id": task.id, "index": task.index, "name": task.name, "text": task.text} for task in tasks
    ]


def robot_sizes(spec: DataSpec) -> dict[TaskId, tuple[int, int]]:
    """Return how many state numbers and action dimensions the robot of each task has."""
    states = spec.state_sizes or (spec.state_dim,) * len(spec.tasks)
    actions = spec.action_sizes or (spec.action_dim,) * len(spec.tasks)
    return {
        task.id: sizes
        for task, sizes in zip(spec.tasks, zip(states, actions, strict=True), strict=True)
    }


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
