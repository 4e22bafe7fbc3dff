"""Results as people and programs read them."""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from rich.cells import cell_len

from etude.cli.texts import CATALOGUES, duration

SCHEMA_VERSION = 1
NO_RATE = "-"
"""Stands where nothing was tried; zero episodes have no rate."""
WIDTH = 80
"""Cells of a terminal into which tables are fitted where they can be."""


def json_text(result: object) -> str:
    """Return the one JSON object that a command prints with --json."""
    fields = plain(result)
    return json.dumps(
        {"schema_version": SCHEMA_VERSION, **fields}, ensure_ascii=False, allow_nan=False
    )


def plain(result: object) -> dict[str, Any]:
    """Return what a command got back as JSON fields: a mapping, or a dataclass of ours."""
    if isinstance(result, Mapping):
        return {str(key): _plain(item) for key, item in cast("Mapping[str, Any]", result).items()}
    to_json = getattr(result, "to_json", None)
    if to_json is not None:
        return plain(to_json())
    fields = dataclasses.fields(cast("Any", result))
    return {field.name: _plain(getattr(result, field.name)) for field in fields}


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no NaN; a number that is none is not there.
        return None
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, Mapping) or dataclasses.is_dataclass(value):
        return plain(cast("object", value))
    return value


def fields_text(fields: Mapping[str, Any], indent: str = "") -> str:
    """Return plain fields one a line, nested ones indented."""
    lines: list[str] = []
    for name, value in fields.items():
        label = name.replace("_", " ")
        if isinstance(value, Mapping):
            nested = cast("Mapping[str, Any]", value)
            lines += [f"{indent}{label}:", fields_text(nested, indent + "  ")]
        elif isinstance(value, list):
            items = ", ".join(str(item) for item in cast("list[Any]", value))
            lines.append(f"{indent}{label}: {items or NO_RATE}")
        else:
            lines.append(f"{indent}{label}: {NO_RATE if value is None else value}")
    return "\n".join(line for line in lines if line)


def success_text(result: Mapping[str, Any], language: str) -> str:
    """Return the table of tasks, lowest last, and the summary below it.

    Args:
        result: What an evaluation or a run returned as JSON: `success`, and `per_task` if known.
    """
    text = CATALOGUES[language]
    tasks: list[Mapping[str, Any]] = list(result.get("per_task", []))
    parts = [_task_table(tasks, text)] if tasks else []
    parts.append("\n".join(_summary(result, tasks, text)))
    lines: list[str] = []
    if result.get("report"):
        lines.append(text["report_at"].format(path=result["report"]))
    if result.get("seconds") is not None:
        lines.append(text["took"].format(seconds=duration(language, result["seconds"])))
    return "\n\n".join(parts + (["\n".join(lines)] if lines else []))


def percent(rate: float | None) -> str:
    """Return a rate in per cent, or a mark where there is none."""
    return NO_RATE if rate is None else f"{100 * rate:.1f} %"


def text_interval(low: float | None, high: float | None) -> str:
    """Return an interval of rates in per cent, or a mark where there is none."""
    return NO_RATE if low is None or high is None else f"{100 * low:.1f} - {100 * high:.1f}"


def _task_table(tasks: Sequence[Mapping[str, Any]], text: Mapping[str, str]) -> str:
    order = sorted(tasks, key=lambda task: (-_sortable(task["rate"]), str(task["name"])))
    rows = [[text[name] for name in ("task", "group", "solved", "rate", "interval")]]
    for task in order:
        rated = task["rate"] is not None
        rows.append(
            [
                str(task["name"]),
                str(task["group"] or ""),
                f"{task['successes']}/{task['trials']}",
                percent(task["rate"]),
                text_interval(task["low"], task["high"]) if rated else NO_RATE,
            ]
        )
    return table(rows, words=2)


def share(rate: float) -> str:
    """Return a rate in whole per cent, for tables with little room."""
    return f"{100 * rate:.0f} %"


def short_interval(low: float, high: float) -> str:
    """Return an interval of rates in whole per cent, for tables with little room."""
    return f"{100 * low:.0f}-{100 * high:.0f}"


def figure(value: float) -> str:
    """Return a number that is not negative in at most five characters, or seven over 1e5."""
    digits = 3 - sum(value >= limit for limit in (9.9995, 99.995, 999.95))
    return f"{value:.{digits}f}" if value < 99999.5 else f"{value:.1e}"


def table(rows: Sequence[Sequence[str]], *, words: int) -> str:
    """Return rows in columns: the first `words` to the left, numbers to the right.

    Two spaces part the columns, or one where two would make the table too wide.
    """
    widths = _widths(rows)
    gap = "  " if sum(widths) + 2 * (len(widths) - 1) <= WIDTH else " "
    return "\n".join(_line(row, widths, words, gap) for row in rows)


def table_cells(rows: Sequence[Sequence[str]]) -> int:
    """Return how wide a table of these rows is at least, in cells."""
    widths = _widths(rows)
    return sum(widths) + len(widths) - 1


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(cell_len(row[column]) for row in rows) for column in range(len(rows[0]))]


def _line(row: Sequence[str], widths: Sequence[int], words: int, gap: str) -> str:
    # Chinese takes two cells a character.
    cells: list[str] = []
    for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
        space = " " * (width - cell_len(cell))
        cells.append(cell + space if column < words else space + cell)
    return gap.join(cells).rstrip()


def _sortable(rate: float | None) -> float:
    return -1.0 if rate is None else rate


def _summary(
    result: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]], text: Mapping[str, str]
) -> list[str]:
    success: Mapping[str, Any] = result["success"]
    if success["mean"] is None:
        return [text["nothing"]]
    pooled: Mapping[str, Any] = success.get("pooled", {})
    lines = [
        text["mean"].format(
            n=success["tasks"],
            mean=percent(success["mean"]),
            interval=text_interval(success["low"], success["high"]),
            k=pooled.get("k", sum(task["successes"] for task in tasks)),
            episodes=pooled.get("n", sum(task["trials"] for task in tasks)),
        )
    ]
    if groups := success.get("groups"):
        means = [f"{name} {percent(mean)}" for name, mean in groups.items()]
        lines.append(text["groups"].format(groups=", ".join(means)))
    if success.get("macro4") is not None:
        lines.append(text["macro"].format(macro=percent(success["macro4"])))
    if success.get("worst5_tasks"):
        names = {task["id"]: task["name"] for task in tasks}
        worst = [str(names.get(task, task)) for task in success["worst5_tasks"]]
        mean = percent(success["worst5"])
        line = text["worst"].format(count=len(worst), worst=mean, tasks=", ".join(worst))
        lines.append(line)
    if result.get("errors"):
        lines.append(text["errors"].format(errors=result["errors"]))
    return lines
