"""`etude tasks`: where every task stands, and changing that by hand."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from etude.cli.arguments import parse
from etude.cli.call import Call
from etude.cli.output import fields_text, json_text, plain
from etude.cli.tasks_text import changes_text, states_text, task_text
from etude.core.errors import ExitCode

if TYPE_CHECKING:
    from etude.curriculum.task_state import TaskStateDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksOptions:
    """What all of `etude tasks` takes."""

    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOptions(TasksOptions):
    """What changes of a document take."""

    document: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowStates(TasksOptions):
    """What stands behind `etude tasks show`."""

    task: str = ""
    place: tyro.conf.Positional[Path | None] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportStates(TasksOptions):
    """What stands behind `etude tasks export`."""

    place: tyro.conf.Positional[Path]
    file: tyro.conf.Positional[Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareStates(TasksOptions):
    """What stands behind `etude tasks diff`."""

    old: tyro.conf.Positional[Path]
    new: tyro.conf.Positional[Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetState(EditOptions):
    """What stands behind `etude tasks reset`."""

    task: tyro.conf.Positional[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkState(EditOptions):
    """What stands behind `etude tasks mark`."""

    task: tyro.conf.Positional[str]
    state: tyro.conf.Positional[str]


def show(call: Call) -> int:
    """Say where every task stands, or all about one."""
    arguments, _ = parse(ShowStates, call.words, command=call.command)
    from etude.curriculum.task_state_changes import find_task
    from etude.curriculum.task_state_overview import one_task, overview
    from etude.runs.task_documents import find_document, read_document

    path = find_document(arguments.place)
    document = read_document(path)
    if arguments.task:
        task = {"document": str(path), **one_task(document, find_task(document, arguments.task))}
        print(json_text(task) if arguments.json else task_text(task, call.language))
        return ExitCode.DONE
    result = {"document": str(path), **overview(document)}
    print(json_text(result) if arguments.json else states_text(result, call.language))
    return ExitCode.DONE


def export(call: Call) -> int:
    """Copy the document of a run to a file that can be edited."""
    arguments, _ = parse(ExportStates, call.words, command=call.command)
    from etude.runs.task_documents import export as copy

    result = {"document": copy(arguments.place, arguments.file)}
    print(json_text(result) if arguments.json else fields_text(plain(result)))
    return ExitCode.DONE


def diff(call: Call) -> int:
    """Say how two documents differ."""
    arguments, _ = parse(CompareStates, call.words, command=call.command)
    from etude.runs.task_documents import compare

    return _show_changes(compare(arguments.old, arguments.new), call, arguments)


def reset(call: Call) -> int:
    """Make a task of a document as if it had never been looked at."""
    arguments, _ = parse(ResetState, call.words, command=call.command)
    from etude.curriculum.task_state_changes import find_task
    from etude.curriculum.task_state_changes import reset as as_new

    def change(document: "TaskStateDocument") -> "TaskStateDocument":
        return as_new(document, find_task(document, arguments.task))

    return _edit(change, call, arguments)


def mark(call: Call) -> int:
    """Put a task of a document into another state."""
    arguments, _ = parse(MarkState, call.words, command=call.command)
    from etude.curriculum.task_state_changes import find_task
    from etude.curriculum.task_state_changes import mark as put

    def change(document: "TaskStateDocument") -> "TaskStateDocument":
        return put(document, find_task(document, arguments.task), arguments.state)

    return _edit(change, call, arguments)


TASKS_COMMANDS = {
    "tasks show": (show, ShowStates),
    "tasks export": (export, ExportStates),
    "tasks diff": (diff, CompareStates),
    "tasks reset": (reset, ResetState),
    "tasks mark": (mark, MarkState),
}


def _edit(
    change: "Callable[[TaskStateDocument], TaskStateDocument]", call: Call, arguments: EditOptions
) -> int:
    from etude.runs.task_documents import edit

    return _show_changes(edit(arguments.document, change), call, arguments)


def _show_changes(comparison: object, call: Call, arguments: TasksOptions) -> int:
    result = plain(comparison)
    print(json_text(result) if arguments.json else changes_text(result, call.language))
    return ExitCode.DONE
