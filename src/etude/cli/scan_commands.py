"""`etude scan`: what recorded windows say about a policy, and how that has changed."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import tyro

from etude.cli.arguments import Recipe, parse
from etude.cli.call import Call
from etude.cli.output import json_text, plain
from etude.cli.scan_compare_text import comparison_text
from etude.cli.scan_samples_text import samples_text
from etude.cli.scan_tasks_text import scan_text
from etude.core.errors import ExitCode
from etude.runs.run_config import RunConfig


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
    arguments, config = _load(call)
    from etude.runs.task_scans import scan

    with call.working() as report:
        outcome = scan(config, progress=report, warn=_warn)
    return _show(outcome, call, scan_text, as_json=arguments.json)


def samples(call: Call) -> int:
    """Scan the moments of the training episodes."""
    arguments, config = _load(call)
    from etude.runs.sample_scans import scan

    with call.working() as report:
        outcome = scan(config, progress=report, warn=_warn)
    return _show(outcome, call, samples_text, as_json=arguments.json)


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


@runtime_checkable
class _Outcome(Protocol):
    """What a scan returns on each rank."""

    @property
    def rank(self) -> int: ...


def _load(call: Call) -> tuple[ScanArguments, RunConfig]:
    """Return the options and the configuration, before anything heavy is imported."""
    from etude.runs.config import load

    arguments, settings = parse(ScanArguments, call.words, command=call.command)
    return arguments, load(arguments.recipe, settings)


def _show(
    outcome: _Outcome,
    call: Call,
    text: Callable[[Mapping[str, Any], str], str],
    *,
    as_json: bool,
) -> int:
    """Print what a scan found, which all ranks know, once."""
    if outcome.rank == 0:
        result = plain(outcome)
        print(json_text(result) if as_json else text(result, call.language))
    return ExitCode.DONE


def _warn(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr)
