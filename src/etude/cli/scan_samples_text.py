"""What `etude scan samples` prints for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size

from etude.cli.output import figure, table
from etude.cli.texts import CATALOGUES

LISTED = 20
"""Most suspects that are listed one by one."""
MOMENTS = 10
"""Hardest moments that are listed."""
NAME_CELLS = 24
"""Longest name of a task that is printed whole, so that the table fits 80 columns."""


def samples_text(result: Mapping[str, Any], language: str) -> str:
    """Return the table of tasks, the most difficult last, the suspects, and what to think of it."""
    text = CATALOGUES[language]
    order = sorted(result["tasks"], key=lambda task: (task["difficulty"], str(task["name"])))
    heads = ("task", "hardest", "weight", "difficulty", "windows", "suspects")
    rows = [[text[name] for name in heads], *(_row(task, text) for task in order)]
    lines = [text["difficulty_proxy"]]
    lines.append(text["scanned"].format(asked=result["inferences"], known=result["recalled"]))
    if any(task["estimated"] for task in order):
        lines.append(text["strata_estimated"])
    if not result["complete"]:
        lines.append(text["samples_incomplete"])
    if result["record"]:
        lines.append(text["record_at"].format(path=result["record"]))
    parts = [table(rows, words=2), *_moments(order, text), *_suspects(order, text)]
    return "\n\n".join([*parts, "\n".join(lines)])


def _row(task: Mapping[str, Any], text: Mapping[str, str]) -> list[str]:
    # By weight, which follows the ranks of errors, so that one wild error makes nothing hardest.
    looked_at = [row for row in task["strata"] if row["windows"]]
    hardest = max(looked_at, key=lambda row: (row["weight"], row["difficulty"], row["stratum"]))
    return [
        _short(str(task["name"])),
        str(hardest["stratum"]),
        f"{hardest['weight']:.2f}",
        figure(task["difficulty"]),
        text["n_of"].format(n=task["windows"], of=task["of"]),
        str(len(task["suspects"])),
    ]


def _moments(tasks: Sequence[Mapping[str, Any]], text: Mapping[str, str]) -> list[str]:
    """Return the paragraph on the hardest moments of all tasks; none where none is told."""
    found = [(str(task["name"]), moment) for task in tasks for moment in task["moments"]]
    if not found:
        return []
    found.sort(key=lambda each: (-each[1]["difficulty"], each[0]))
    heads = ("task", "stratum", "episode", "frame", "difficulty")
    rows = [[text[name] for name in heads]]
    for name, moment in found[:MOMENTS]:
        numbers = (moment["episode"], moment["frame"], figure(moment["difficulty"]))
        rows.append([str(cell) for cell in (_short(name), moment["stratum"], *numbers)])
    return ["\n".join([text["moment_list"], table(rows, words=2)])]


def _suspects(tasks: Sequence[Mapping[str, Any]], text: Mapping[str, str]) -> list[str]:
    """Return the paragraph on suspects, those seen wrong most often first; none without any."""
    found: list[tuple[str, Mapping[str, Any]]] = [
        (str(task["name"]), suspect) for task in tasks for suspect in task["suspects"]
    ]
    if not found:
        return []
    found.sort(key=lambda each: (-each[1]["visits"], -each[1]["gmse"], each[0]))
    heads = ("task", "stratum", "episode", "frame", "gmse", "visits")
    rows = [[text[name] for name in heads]]
    for name, suspect in found[:LISTED]:
        numbers = (suspect["episode"], suspect["frame"], figure(suspect["gmse"]))
        cells = (_short(name), suspect["stratum"], *numbers, suspect["visits"])
        rows.append([str(cell) for cell in cells])
    lines = [text["suspect_list"], table(rows, words=2)]
    if len(found) > LISTED:
        lines.append(text["suspects_more"].format(count=len(found) - LISTED))
    return ["\n".join(lines)]


def _short(name: str) -> str:
    return name if cell_len(name) <= NAME_CELLS else f"{set_cell_size(name, NAME_CELLS - 1)}…"
