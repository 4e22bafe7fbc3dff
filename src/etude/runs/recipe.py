"""Reading recipe files: TOML in, settings by dotted name out, each with its line."""

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from etude.core.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A value that somebody gave to a setting."""

    value: object
    source: str
    """ "recipe.toml:7" or the flag as typed."""


def read_recipe(path: Path, *, sections: Collection[str]) -> dict[str, Setting]:
    """Return the settings of a recipe by dotted name, in the order of the file.

    Tables of `sections` are taken apart; a table anywhere else stays one value, so that it can be
    refused as one.

    Raises:
        ConfigError: The file cannot be read or is not TOML.
    """
    text = _read(path)
    try:
        document = tomllib.loads(text)
    except ValueError as error:
        raise _syntax_error(path, error) from error
    lines = _lines(text)
    settings: dict[str, Setting] = {}
    for name, value in document.items():
        if name in sections and isinstance(value, Mapping):
            table = cast("Mapping[str, Any]", value)
            values = {f"{name}.{key}": item for key, item in table.items()}
        else:
            values = {name: value}
        for dotted, item in values.items():
            line = lines.get(dotted) or lines.get(name)
            settings[dotted] = Setting(value=item, source=f"{path}:{line}" if line else str(path))
    return settings


def _read(path: Path) -> str:
    try:
        # Some editors begin a file with a byte order mark, which TOML does not know.
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise ConfigError(
            f"{path} does not exist", hint="Name a recipe, e.g. recipes/mt50-quick.toml."
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is not text in UTF-8: {error.reason} at byte {error.start}",
            hint="Save the file in UTF-8.",
        ) from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error


def _syntax_error(path: Path, error: ValueError) -> ConfigError:
    found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", str(error), re.DOTALL)
    where, what = (f"{path}:{found[2]}:{found[3]}", found[1]) if found else (f"{path}", str(error))
    return ConfigError(
        f"{where} is not TOML: {what}",
        hint='Write each setting as name = value, and text in quotes: on_bad = "skip".',
    )


def _lines(text: str) -> dict[str, int]:
    """Return the line of each key, read line by line; only messages depend on it."""
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[\s*([\w.-]+)\s*\]", line):
            table = f"{header[1]}."
            lines.setdefault(header[1], number)
        elif key := re.match(r"\s*([\w-]+(?:\.[\w-]+)*)\s*=", line):
            lines.setdefault(f"{table}{key[1]}", number)
    return lines
