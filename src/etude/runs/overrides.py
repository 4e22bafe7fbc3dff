"""Flags such as `--train.lr 1e-4`, laid over the settings of a recipe."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any, cast, get_origin

from etude.runs.faults import Fault, config_error
from etude.runs.recipe import Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A setting given on the command line."""

    path: str
    """Dotted name, with underscores."""
    words: tuple[str, ...]
    """What follows it; nothing means true."""

    @property
    def source(self) -> str:
        """The flag as an error names it."""
        return f"--{self.path}"


def parse_flags(arguments: Sequence[str]) -> list[Flag]:
    """Return the settings among `arguments`: `--name value`, `--name=value`, `--name`.

    Hyphens and underscores are the same in names. Words up to the next flag belong together.

    Raises:
        ConfigError: A word belongs to no flag, or a flag has no name; all of them are named.
    """
    flags: list[Flag] = []
    stray: list[Fault] = []
    open_flag = False
    for argument in arguments:
        name, equals, value = argument.removeprefix("--").partition("=")
        if argument.startswith("--") and re.fullmatch(r"[\w-]+(\.[\w-]+)*", name):
            words = (value,) if equals else ()
            flags.append(Flag(path=name.replace("-", "_"), words=words))
            open_flag = not equals
        elif open_flag and not argument.startswith("--"):
            flags[-1] = Flag(path=flags[-1].path, words=(*flags[-1].words, argument))
        else:
            hint = "Write settings as --name value, e.g. --train.lr 1e-4."
            stray.append(
                Fault(path=argument, text=f"{argument!r} is no setting and no value", hint=hint)
            )
    if stray:
        raise config_error(stray)
    return flags


def apply_flags(
    settings: Mapping[str, Setting], flags: Sequence[Flag], *, types: Mapping[str, Any]
) -> dict[str, Setting]:
    """Return `settings` with `flags` laid over them; of two equal flags the later one holds.

    A flag of a setting that holds text is never read as anything else, so that words stay words.
    """
    merged = dict(settings)
    for flag in flags:
        merged[flag.path] = Setting(
            value=flag_value(flag.words, types.get(flag.path)), source=flag.source
        )
    return merged


def flag_value(words: Sequence[str], kind: Any) -> object:
    """Return the value that `words` mean for a setting of type `kind` (None: not known)."""
    if get_origin(kind) is tuple:
        if len(words) == 1 and isinstance(whole := parse_word(words[0]), list):
            return cast("list[Any]", whole)
        item = kind.__args__[0]
        return [_as_text(word) if item is str else parse_word(word) for word in words]
    if not words:
        return True
    if len(words) > 1:
        return [parse_word(word) for word in words]
    return _as_text(words[0]) if kind is str else parse_word(words[0])


def parse_word(word: str) -> object:
    """Return the number, boolean, text or list that `word` is in TOML, else the word itself."""
    bare = not word.strip().startswith(('"', "'", "[", "{"))
    if "\n" in word or (bare and "#" in word):
        return word
    try:
        document = tomllib.loads(f"value = {word}")
    except ValueError:
        return word
    value = document["value"]
    return word if isinstance(value, datetime | date | time) else value


def _as_text(word: str) -> str:
    value = parse_word(word)
    return value if isinstance(value, str) else word
