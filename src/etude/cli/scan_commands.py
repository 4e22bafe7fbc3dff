"""`etude scan`: what recorded windows say about a policy, task by task."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from etude.cli.arguments import Recipe, parse
from etude.cli.call import Call
from etude.cli.output import json_text, percent, plain, table, text_interval
from etude.cli.texts import CATALOGUES
from etude.core.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanArguments:
    """Options of `etude scan tasks`."""

    recipe: Recipe = None
    json: bool = False


def tasks(call: Call) -> int:
    """Scan every task of a dataset."""
    from etude.runs.config import load

    arguments, settings = parse(ScanArguments, call.words, command=call.command)
    config = load(arguments.recipe, settings)
    from etude.runs.task_scans import scan

    with call.working() as report:
        outcome = scan(config, progress=report, warn=_warn)
    if outcome.rank == 0:
        result = plain(outcome)
        print(json_text(result) if arguments.json else scan_text(result, call.language))
    return ExitCode.DONE


SCAN_COMMANDS = {"scan tasks": (tasks, ScanArguments)}


def scan_text(result: Mapping[str, Any], language: str) -> str:
    """Return the table of tasks, those that pass least last, and what to think of it."""
    text = CATALOGUES[language]
    heads = ("task", "verdict", "windows", "gmse", "groups_of_task", "pass_rate", "interval")
    order = sorted(result["tasks"], key=lambda task: (-task["pass_rate"], str(task["name"])))
    rows = [[text[name] for name in heads], *(_row(task, text) for task in order)]
    lines = [text["proxy"]]
    lines.append(text["scanned"].format(asked=result["inferences"], known=result["recalled"]))
    if any(task["trained_on"] for task in order):
        lines.append(text["trained_on"])
    if not result["complete"]:
        lines.append(text["incomplete"])
    return "\n\n".join([table(rows, words=2), "\n".join(lines)])


def _row(task: Mapping[str, Any], text: Mapping[str, str]) -> list[str]:
    mark = " *" if task["trained_on"] else ""
    return [
        f"{task['name']}{mark}",
        text[f"verdict_{task['verdict']}"],
        text["n_of"].format(n=task["windows"], of=task["of"]),
        f"{task['gmse']:.3f}",
        ", ".join(f"{name} {value:.3f}" for name, value in task["groups"].items()),
        percent(task["pass_rate"]),
        text_interval(*task["interval"]),
    ]


def _warn(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr)
