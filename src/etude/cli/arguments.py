"""Telling a command's own options from the settings that follow it."""

import dataclasses
import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast, get_origin

import tyro

from etude.core.errors import ConfigError

T = TypeVar("T")

Recipe = tyro.conf.Positional[Path | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowArguments:
    """Options of `etude config show`."""

    recipe: Recipe = None
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DemosArguments:
    """Options of `etude demos`."""

    recipe: Recipe = None
    json: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainArguments(DemosArguments):
    """Options of `etude train`."""

    resume: bool = False
    task_state: str = "auto"
    accept_weights_mismatch: bool = False
    accept_data_change: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalArguments(DemosArguments):
    """Options of `etude eval`."""

    target: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArguments(TrainArguments):
    """Options of `etude run`."""

    target: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportArguments:
    """Options of `etude report`."""

    run_folder: tyro.conf.Positional[Path]
    json: bool = False


def option_names(kind: type[Any]) -> tuple[str, ...]:
    """Return the options of a command as they are typed, e.g. "--dry-run" or "--cache.root"."""
    names: list[str] = []
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(field.type):
            names += [f"{field.name}.{inner.name}" for inner in dataclasses.fields(field.type)]
        elif get_origin(field.type) is not Annotated:  # which is what marks a positional one
            names.append(field.name)
    return tuple(f"--{name.replace('_', '-')}" for name in names)


def parse(kind: type[T], words: Sequence[str], *, command: str) -> tuple[T, list[str]]:
    """Return a command's own options, and the settings among `words` for `runs.config.load`.

    Raises:
        ConfigError: The options cannot be understood; tyro has printed the details.
    """
    own, settings = split(words, option_names(kind))
    if "recipe" not in {field.name for field in dataclasses.fields(cast("Any", kind))}:
        # A command without a recipe has no settings either, so nothing is to be kept apart.
        own, settings = list(words), []
    _refuse_misspelt(settings, option_names(kind), command=command)
    try:
        parsed = tyro.cli(kind, args=own, prog=f"etude {command}")
    except SystemExit as error:
        raise ConfigError(
            f"`etude {command}` does not take these options",
            hint=f"Run `etude {command} --help`.",
        ) from error
    return parsed, settings


def split(words: Sequence[str], options: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words that belong to a command itself, and those that belong to settings.

    Words after a setting are its values; after one of them, a word in .toml is the recipe again,
    so that `etude run --steps 3000 recipe.toml` does what it says.
    """
    own: list[str] = []
    settings: list[str] = []
    to: list[str] = own
    for word in words:
        name = word.partition("=")[0]
        if name.replace("_", "-") in options:
            own.append(word)
            to = own
        elif name.startswith("--"):
            settings.append(word)
            to = own if "=" in word else settings
        elif to is settings and word.endswith(".toml") and not settings[-1].startswith("--"):
            own.append(word)
            to = own
        else:
            to.append(word)
    return own, settings


def _refuse_misspelt(settings: Sequence[str], options: Sequence[str], *, command: str) -> None:
    """Tell a misspelt option from a setting, which would be looked for in vain."""
    for word in settings:
        name = word.partition("=")[0].replace("_", "-")
        if not name.startswith("--") or "." in name:
            continue
        if close := difflib.get_close_matches(name, options, n=1, cutoff=0.75):
            raise ConfigError(
                f"{name} is no option of `etude {command}`", hint=f"The nearest is {close[0]}."
            )
