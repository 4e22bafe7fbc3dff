"""The commands. Each one parses, makes one call, and prints the result."""

import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from etude.cli.arguments import (
    DemosArguments,
    EvalArguments,
    ReportArguments,
    RunArguments,
    ShowArguments,
    TrainArguments,
    option_names,
    parse,
)
from etude.cli.cache_commands import CACHE_COMMANDS
from etude.cli.call import Call
from etude.cli.data_commands import DATA_COMMANDS
from etude.cli.output import fields_text, json_text, percent, plain, success_text
from etude.cli.scan_commands import SCAN_COMMANDS
from etude.cli.serve_commands import SERVE_COMMANDS
from etude.cli.tasks_commands import TASKS_COMMANDS
from etude.cli.texts import CATALOGUES, command_help
from etude.core.errors import ConfigError, ExitCode, StateError
from etude.runs.adaptive_config import StartConfig
from etude.runs.run_config import RunConfig

T = TypeVar("T", bound=DemosArguments)


def perform(command: str, words: Sequence[str], *, language: str) -> int:
    """Run one command and return its exit code.

    Raises:
        EtudeError: It failed in a way that the user can understand.
    """
    function, kind = COMMANDS[command]
    if "--help" in words or "-h" in words:
        print(command_help(language, command, option_names(kind)))
        return 0
    return function(Call(command=command, words=words, language=language))


def demos(call: Call) -> int:
    """Record demonstrations."""
    arguments, config = _load(DemosArguments, call)
    if arguments.dry_run:
        return _show_plan(config, arguments)
    from etude.runs.demonstrations import record

    with call.working() as report:
        outcome = record(config, progress=report)
    return _show(outcome, as_json=arguments.json)


def train(call: Call) -> int:
    """Train a policy."""
    arguments, config = _load(TrainArguments, call)
    if arguments.dry_run:
        return _show_plan(config, arguments)
    from etude.runs import training

    with call.working() as report:
        outcome = training.train(
            config,
            command=call.argv,
            resume=arguments.resume,
            progress=report,
            start=_start(arguments),
        )
    if outcome.rank:
        return ExitCode.DONE
    return _show(outcome, as_json=arguments.json)


def evaluate(call: Call) -> int:
    """Measure a policy's success."""
    arguments, config = _load(EvalArguments, call)
    _check_target(arguments.target)
    if arguments.dry_run:
        return _show_plan(config, arguments)
    from etude.runs import evaluation

    with call.working() as report:
        outcome = evaluation.evaluate(config, command=call.argv, progress=report)
    return _show_success(outcome, call.language, arguments)


def run(call: Call) -> int:
    """Do everything from demonstrations to the report."""
    arguments, config = _load(RunArguments, call)
    _check_target(arguments.target)
    if arguments.dry_run:
        return _show_plan(config, arguments)
    from etude.runs import life

    with call.working() as report:
        outcome = life.run(
            config,
            command=call.argv,
            resume=arguments.resume,
            progress=report,
            start=_start(arguments),
        )
    if outcome.rank:
        return ExitCode.DONE
    return _show_success(outcome, call.language, arguments)


def report(call: Call) -> int:
    """Write the report of a run folder."""
    arguments, _ = parse(ReportArguments, call.words, command=call.command)
    if not arguments.run_folder.is_dir():
        raise StateError(
            f"{arguments.run_folder} is no folder", hint="Name a run, e.g. runs/mt50-quick."
        )
    from etude.observe.report import write_report
    from etude.store.layout import RunFolder

    path = write_report(RunFolder(arguments.run_folder))
    return _show({"report": path}, as_json=arguments.json)


def show(call: Call) -> int:
    """Print the resolved configuration, with the origin of every value."""
    from etude.runs.config import load_with_sources
    from etude.runs.provenance import to_toml

    arguments, settings = parse(ShowArguments, call.words, command=call.command)
    loaded = load_with_sources(arguments.recipe, settings)
    if arguments.json:
        config = tomllib.loads(to_toml(loaded.config))
        print(json_text({"config": config, "sources": loaded.sources}))
    else:
        print(to_toml(loaded.config, loaded.sources), end="")
    return ExitCode.DONE


COMMANDS: Mapping[str, tuple[Callable[[Call], int], type[Any]]] = {
    "run": (run, RunArguments),
    "demos": (demos, DemosArguments),
    "train": (train, TrainArguments),
    "eval": (evaluate, EvalArguments),
    "report": (report, ReportArguments),
    "config show": (show, ShowArguments),
    **SCAN_COMMANDS,
    **TASKS_COMMANDS,
    **CACHE_COMMANDS,
    **DATA_COMMANDS,
    **SERVE_COMMANDS,
}


def _load(kind: type[T], call: Call) -> tuple[T, RunConfig]:
    """Return a command's options and its configuration, before anything heavy is imported."""
    from etude.runs.config import load

    arguments, settings = parse(kind, call.words, command=call.command)
    return arguments, load(arguments.recipe, settings)


def _start(arguments: TrainArguments) -> StartConfig:
    return StartConfig(
        task_state=arguments.task_state,
        accept_weights_mismatch=arguments.accept_weights_mismatch,
        accept_data_change=arguments.accept_data_change,
    )


def _show_plan(config: RunConfig, arguments: DemosArguments) -> int:
    from etude.runs.preview import preview

    return _show(preview(config), as_json=arguments.json)


def _show(result: object, *, as_json: bool) -> int:
    print(json_text(result) if as_json else fields_text(plain(result)))
    return ExitCode.DONE


def _show_success(outcome: object, language: str, arguments: EvalArguments | RunArguments) -> int:
    result = plain(outcome)
    print(json_text(result) if arguments.json else success_text(result, language))
    mean = result["success"]["mean"]
    if arguments.target and (mean is None or mean < arguments.target):
        text = CATALOGUES[language]["below"]
        below = text.format(mean=percent(mean), target=percent(arguments.target))
        print(below, file=sys.stderr)
        return ExitCode.TARGET_NOT_MET
    return ExitCode.DONE


def _check_target(target: float) -> None:
    if not 0 <= target <= 1:
        raise ConfigError(
            f"--target is {target}, not between 0 and 1",
            hint="Write a success rate, e.g. --target 0.97.",
        )
