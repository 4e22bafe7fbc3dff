"""The task table of a LeRobot dataset, in the forms that it has had."""

# pyright: reportUnknownMemberType=false

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from etude.core.errors import DataError
from etude.core.types import Task, TaskId
from etude.datasets.json_lines import read_json_lines
from etude.datasets.lerobot_schema import TASKS_FILE
from etude.datasets.parquet_files import column_names, read_columns

TASKS_LINES = "meta/tasks.jsonl"
_TEXT_COLUMNS = ("task", "__index_level_0__")
"""A pandas index of that name or a plain column; an index without a name."""


def family_of(repo_id: str) -> str:
    """Return what begins every task id of a dataset: the last part of its name."""
    return repo_id.strip("/ ").rpartition("/")[2]


def read_tasks(folder: Path, repo_id: str) -> tuple[Task, ...]:
    """Return the task table, ordered by index: meta/tasks.parquet, or the older meta/tasks.jsonl.

    Raises:
        DataError: The table is missing or torn, or numbers a task twice.
    """
    path, rows = _rows(folder)
    tasks: dict[int, Task] = {}
    for index, text, name in rows:
        if isinstance(index, bool) or not isinstance(index, int) or text is None:
            raise DataError(f"{path}: a task lacks its index or its text")
        if index in tasks:
            raise DataError(f"{path}: task_index {index} stands there twice")
        task = TaskId(f"{family_of(repo_id)}/{index}")
        tasks[index] = Task(id=task, index=index, name=str(name or task), text=str(text))
    return tuple(tasks[index] for index in sorted(tasks))


def text_warnings(tasks: Sequence[Task]) -> list[str]:
    """Return a warning for each group of tasks whose texts are the same, or look so."""
    warnings = [
        f"tasks {_names(group)} share the text {group[0].text!r}; they stay apart"
        for group in _alike(tasks, lambda text: text)
    ]
    for group in _alike(tasks, _loosely):
        texts = dict.fromkeys(task.text for task in group)
        if len(texts) > 1:
            shown = ", ".join(repr(text) for text in texts)
            warnings.append(
                f"tasks {_names(group)} have texts that differ in spaces or case only: "
                f"{shown}; they stay apart"
            )
    return warnings


def _rows(folder: Path) -> tuple[Path, Iterable[tuple[Any, Any, Any]]]:
    """Yield index, text and name of each task."""
    path, lines = folder / TASKS_FILE, folder / TASKS_LINES
    if lines.exists() and not path.exists():
        found = read_json_lines(lines)
        return lines, ((row.get("task_index"), row.get("task"), None) for _, row in found)
    present = column_names(path) if path.exists() else []
    text = next((name for name in _TEXT_COLUMNS if name in present), "task")
    named = ["name"] if "name" in present else []
    rows: list[dict[str, Any]] = read_columns(path, ["task_index", text, *named]).to_pylist()
    return path, ((row["task_index"], row[text], row.get("name")) for row in rows)


def _loosely(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _alike(tasks: Iterable[Task], key: Callable[[str], str]) -> list[list[Task]]:
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(key(task.text), []).append(task)
    return [group for group in groups.values() if len(group) > 1]


def _names(tasks: Iterable[Task]) -> str:
    return ", ".join(task.id for task in tasks)
