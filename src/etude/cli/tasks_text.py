"""What `etude tasks` prints for people."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rich.cells import cell_len, set_cell_size

from etude.cli.output import NO_RATE, WIDTH, fields_text, share, table
from etude.cli.texts import CATALOGUES

NAME_CELLS = 22
"""Longest name of a task that is printed whole, so that the table fits 80 columns."""
LISTED = 5
"""Most tasks without a score that are named."""

_ORDER = ("untried", "training", "exhausted", "passed")
_LOOK = ("step", "kind", "passed", "trials", "score", "stale", "weights")


def states_text(result: Mapping[str, Any], language: str) -> str:
    """Return the table of tasks, those in work first, and what the document is about."""
    text = CATALOGUES[language]
    order = sorted(result["tasks"], key=lambda task: _ORDER.index(task["status"]))
    heads = ("task", "status", "since", "passed", "trials", "share")
    rows = [[text[name] for name in heads], *(_row(task, text) for task in order)]
    reasons = [text["reason"], *(_reason(task, text) for task in order)]
    lines = [
        _with_reason(line, reason)
        for line, reason in zip(table(rows, words=2).splitlines(), reasons, strict=True)
    ]
    return "\n".join([*lines, "", *_notes(result, text)])


def task_text(task: Mapping[str, Any], language: str) -> str:
    """Return everything about one task, and its looks below, newest last."""
    text = CATALOGUES[language]
    lines = [fields_text({name: value for name, value in task.items() if name != "scores"})]
    if task["scores"]:
        rows = [[str(name) for name in _LOOK], *(_look(each) for each in task["scores"])]
        lines.append(table(rows, words=0))
    else:
        lines.append(text["no_looks"])
    return "\n\n".join(lines)


def changes_text(result: Mapping[str, Any], language: str) -> str:
    """Return what differs between two documents, in one line for each task."""
    text = CATALOGUES[language]
    by_task: dict[str, dict[str, tuple[Any, Any]]] = {}
    names: dict[str, str] = {}
    for change in result["changes"]:
        by_task.setdefault(change["task"], {})[change["entry"]] = change["before"], change["after"]
        names[change["task"]] = change["name"] or change["task"]
    if not by_task:
        return text["no_changes"]
    own = by_task.pop("", {})
    lines = [
        f"{entry}: {_shown(before)} → {_shown(after)}" for entry, (before, after) in own.items()
    ]
    heads = ("task", "status", "passed", "share")
    rows = [[text[name] for name in heads]]
    rows += [_change_row(names[task], found, text) for task, found in by_task.items()]
    if len(rows) > 1:
        lines += [table(rows, words=2), "", text["changes_more"]]
    return "\n".join(lines)


def _row(task: Mapping[str, Any], text: Mapping[str, str]) -> list[str]:
    tried = task["success"] is not None
    marks = ("~" if task["kind"] == "open_loop" else "") + ("*" if task["stale"] else "")
    return [
        _short(str(task["name"]), NAME_CELLS),
        _status(task, text),
        f"{task['since_step']}",
        share(task["success"]) + marks if tried else NO_RATE,
        f"{task['trials']:.0f}" if tried else NO_RATE,
        _percent(task["share"]),
    ]


def _status(task: Mapping[str, Any], text: Mapping[str, str]) -> str:
    status = text[f"status_{task['status']}"]
    return text["by_proxy"].format(status=status) if task["proxy"] else status


def _reason(task: Mapping[str, Any], text: Mapping[str, str]) -> str:
    if task["failures"]:
        return text["no_score"].format(k=task["failures"])
    return str(task["reason"])


def _with_reason(line: str, reason: str) -> str:
    room = WIDTH - cell_len(line) - 2
    return f"{line}  {_short(reason, room)}".rstrip() if room > 1 else line


def _notes(result: Mapping[str, Any], text: Mapping[str, str]) -> list[str]:
    tasks: Sequence[Mapping[str, Any]] = result["tasks"]
    counts = ", ".join(
        f"{text[f'status_{status}']} {result['statuses'][status]}" for status in _ORDER
    )
    notes = [text["statuses"].format(n=len(tasks), counts=counts), *_failed(tasks, text)]
    if any(task["kind"] == "open_loop" for task in tasks):
        notes.append(text["looks_proxy"])
    if any(task["stale"] for task in tasks):
        notes.append(text["looks_stale"])
    notes.append(text["one_task"])
    notes.append(text["states_of"].format(step=result["step"], weights=result["weights"]))
    notes.append(text["document_at"].format(path=result["document"]))
    return notes


def _failed(tasks: Sequence[Mapping[str, Any]], text: Mapping[str, str]) -> list[str]:
    """Return the line on tasks whose last scans gave no score; none without any."""
    failed = sorted(
        (task for task in tasks if task["failures"]), key=lambda task: -task["failures"]
    )
    named = [text["failed_task"].format(name=t["name"], k=t["failures"]) for t in failed[:LISTED]]
    if len(failed) > LISTED:
        named.append(text["failed_more"].format(count=len(failed) - LISTED))
    return [text["failed"].format(tasks=", ".join(named))] if named else []


def _look(score: Mapping[str, Any]) -> list[str]:
    weights = str(score["weights"])
    return [
        str(score["step"]),
        str(score["kind"]),
        f"{score['passed']:.1f}",
        f"{score['trials']:.1f}",
        NO_RATE if score["score"] is None else f"{score['score']:.3f}",
        "*" if score["stale"] else "",
        _short(weights, 20),
    ]


def _change_row(
    name: str, found: Mapping[str, tuple[Any, Any]], text: Mapping[str, str]
) -> list[str]:
    if "task" in found:
        before, after = found["task"]
        status = text["only_before"] if after is None else text["only_after"]
        return [_short(name, NAME_CELLS), status.format(status=before or after), "", ""]
    status = "→".join(found["status"]) if "status" in found else ""
    return [
        _short(name, NAME_CELLS),
        status,
        "→".join(_rate(value) for value in found["success"]) if "success" in found else "",
        "→".join(_percent(value) for value in found["share"]) if "share" in found else "",
    ]


def _rate(value: float | None) -> str:
    return NO_RATE if value is None else share(value)


def _percent(value: float | None) -> str:
    """Return a share of the plan; one of many tasks is small, so with a decimal."""
    return NO_RATE if value is None else f"{100 * value:.1f} %"


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return " ".join(map(str, cast("Mapping[str, object]", value).values()))
    return str(value)


def _short(words: str, cells: int) -> str:
    return words if cell_len(words) <= cells else f"{set_cell_size(words, cells - 1)}…"
