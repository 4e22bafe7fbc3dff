"""`etude scan`: what recorded windows say about a policy, and how that has changed."""

import sys
from dataclasses import dataclass
from pathlib import Path

import tyro

from etude.cli.arguments import Recipe, parse
from etude.cli.call import Call
from etude.cli.output import json_text, plain
from etude.cli.scan_compare_text import comparison_text
from etude.cli.scan_samples_text import samples_text
from etude.cli.scan_tasks_text import scan_text
from etude.core.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanArguments:
    """Options of `etude scan tasks` and `etude scan samples`."""

    recipe: Recipe = None
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareArguments:
    """Options of `etude scan compare`."""

    a: tyro.conf.Positional[Path]
    b: tyro.conf.Positional[Path]
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


def samples(call: Call) -> int:
    """Scan the moments of the training episodes."""
    from etude.runs.config import load

    arguments, settings = parse(ScanArguments, call.words, command=call.command)
    config = load(arguments.recipe, settings)
    from etude.runs.sample_scans import scan

    with call.working() as report:
        outcome = scan(config, progress=report, warn=_warn)
    if outcome.rank == 0:
        result = plain(outcome)
        print(json_text(result) if arguments.json else samples_text(result, call.language))
    return ExitCode.DONE


def compare(call: Call) -> int:
    """Compare two scans window by window."""
    arguments, _ = parse(CompareArguments, call.words, command=call.command)
    from etude.runs.scan_records import find_record, read_record
    from etude.scan.compare import compare as compare_records

    paths = [find_record(place) for place in (arguments.a, arguments.b)]
    before, after = (read_record(path) for path in paths)
    result = plain(
        {
            "a": {"record": paths[0], **before.head.summary()},
            "b": {"record": paths[1], **after.head.summary()},
            **plain(compare_records(before, after)),
        }
    )
    print(json_text(result) if arguments.json else comparison_text(result, call.language))
    return ExitCode.DONE


SCAN_COMMANDS = {
    "scan tasks": (tasks, ScanArguments),
    "scan samples": (samples, ScanArguments),
    "scan compare": (compare, CompareArguments),
}


def _warn(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr)
