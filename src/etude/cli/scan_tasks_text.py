"""What `etude scan tasks` prints for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from etude.cli.output import WIDTH, figure, share, short_interval, table, table_cells
from etude.cli.texts import CATALOGUES


def scan_text(result: Mapping[str, Any], language: str) -> str:
    """Return the table of tasks, those that pass least last, and what to think of it."""
    text = CATALOGUES[language]
    order = sorted(result["tasks"], key=lambda task: (-task["pass_rate"], str(task["name"])))
    lines = [
        text["scored"].format(
            n=sum(task["windows"] for task in order), of=sum(task["of"] for task in order)
        ),
        text["proxy"],
        text["scanned"].format(asked=result["inferences"], known=result["recalled"]),
    ]
    if any(task["trained_on"] for task in order):
        lines.append(text["trained_on"])
    if not result["complete"]:
        lines.append(text["incomplete"])
    if result["record"]:
        lines.append(text["record_at"].format(path=result["record"]))
    return "\n\n".join([_table(order, text), "\n".join(lines)])


def _table(tasks: Sequence[Mapping[str, Any]], text: Mapping[str, str]) -> str:
    """Return the table with a column for each action group, if a terminal is wide enough for it."""
    groups = list(dict.fromkeys(name for task in tasks for name in task["groups"]))
    rows = _rows(tasks, groups, text)
    return table(rows if table_cells(rows) <= WIDTH else _rows(tasks, [], text), words=2)


def _rows(
    tasks: Sequence[Mapping[str, Any]], groups: Sequence[str], text: Mapping[str, str]
) -> list[list[str]]:
    heads = [text[name] for name in ("task", "verdict", "n", "gmse")]
    head = [*heads, *groups, text["passed"], text["interval_short"]]
    return [head, *(_row(task, groups, text) for task in tasks)]


def _row(task: Mapping[str, Any], groups: Sequence[str], text: Mapping[str, str]) -> list[str]:
    return [
        f"{task['name']}{'*' if task['trained_on'] else ''}",
        text[f"verdict_{task['verdict']}"],
        f"{task['windows']:,}",
        figure(task["gmse"]),
        *(figure(task["groups"][name]) for name in groups),
        share(task["pass_rate"]),
        short_interval(*task["interval"]),
    ]
