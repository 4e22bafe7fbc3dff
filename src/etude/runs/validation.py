"""Checking settings against config dataclasses, strictly, with every fault at once."""

import dataclasses
import difflib
import functools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from etude.core.errors import ConfigError
from etude.runs.faults import Fault, shown
from etude.runs.recipe import Setting

EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
}
"""What pydantic's error types mean to somebody who writes a recipe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A config dataclass made from the settings that were right, and faults of the others."""

    config: Any
    """None if a setting that is wrong has no default to stand in for it."""
    faults: tuple[Fault, ...]


def setting_types(kind: type[Any], *, section: str = "") -> dict[str, Any]:
    """Return the type of every setting of a config dataclass by dotted name."""
    hints = get_type_hints(kind)
    prefix = f"{section}." if section else ""
    return {f"{prefix}{field.name}": hints[field.name] for field in dataclasses.fields(kind)}


def check(kind: type[Any], settings: Mapping[str, Setting], *, section: str = "") -> Checked:
    """Make a `kind` from those of `settings`, by dotted name, that it knows.

    Settings that are wrong are left out and the rest is tried again, so that a fault of type does
    not hide one of range. A message that names a setting left out is not told: with the right
    value it may be untrue.
    """
    validate = _validator(kind)
    prefix = f"{section}." if section else ""
    known = setting_types(kind, section=section)
    left = {path.removeprefix(prefix): settings[path] for path in settings if path in known}
    faults: list[Fault] = []
    dropped: set[str] = set()
    while True:
        # JSON is the mode in which strict pydantic takes a list for a tuple; dates become text.
        text = json.dumps({name: setting.value for name, setting in left.items()}, default=str)
        try:
            config = validate(text, strict=True, extra="forbid")
        except ValidationError as error:
            details = error.errors(include_url=False)
        else:
            return Checked(config=config, faults=tuple(faults))
        blamed: set[str] = set()
        for detail in details:
            fault, names = _fault(detail, left, prefix)
            blamed |= names
            if not dropped & set(re.findall(r"\w+", fault.text.removeprefix(prefix))):
                faults.append(fault)
        if not blamed & set(left):
            return Checked(config=None, faults=tuple(faults))
        dropped |= blamed
        left = {name: setting for name, setting in left.items() if name not in blamed}


@functools.cache
def _validator(kind: type[Any]) -> Callable[..., Any]:
    return TypeAdapter[Any](kind).validate_json


def _fault(
    detail: ErrorDetails, settings: Mapping[str, Setting], prefix: str
) -> tuple[Fault, set[str]]:
    """Return what one complaint of pydantic means, and the given settings it is about."""
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, ConfigError):
        named = [word for word in re.findall(r"\w+", str(cause)) if word in settings]
        name = named[0] if named else ""
        source = settings[name].source if named else ""
        fault = Fault(
            path=f"{prefix}{name}", text=f"{prefix}{cause}", source=source, hint=cause.hint
        )
        return fault, set(named)
    name = str(detail["loc"][0]) if detail["loc"] else ""
    place = name + "".join(f"[{step}]" for step in detail["loc"][1:])
    source = settings[name].source if name in settings else ""
    text, hint = _wording(f"{prefix}{place}", detail)
    return Fault(path=f"{prefix}{name}", text=text, source=source, hint=hint), {name}


def _wording(place: str, detail: ErrorDetails) -> tuple[str, str]:
    kind, value = detail["type"], detail["input"]
    if kind == "missing":
        return f"{place} is not set", f"Add {place} to the recipe or to the command."
    if kind == "unexpected_keyword_argument":
        return f"{place} is {shown(value)}, but there is no such setting", ""
    if kind == "literal_error":
        return f"{place} is {shown(value)}, not {detail.get('ctx', {})['expected']}", ""
    wanted = EXPECTED.get(kind)
    if wanted is None:
        return f"{place} is {shown(value)}: {detail['msg']}", ""
    return f"{place} is {shown(value)}, not {wanted}", _hint(kind, value)


def _hint(kind: str, value: object) -> str:
    if kind == "int_type" and isinstance(value, float) and value.is_integer():
        return f"Write {int(value)}."
    if kind in ("int_type", "float_type", "bool_type") and isinstance(value, str):
        return "Write it without quotes."
    if kind == "string_type":
        return f"Write it in quotes: {shown(str(shown(value)))}."
    if kind == "tuple_type":
        return f"Write it in brackets: [{shown(value)}]."
    return ""


def nearest(path: str, known: Mapping[str, Any]) -> list[str]:
    """Return up to three settings that the writer of an unknown `path` may have meant."""
    section, _, leaf = path.rpartition(".")
    siblings = [name for name in known if name.rpartition(".")[0] == section]
    leaves = [name.rpartition(".")[2] for name in siblings]
    prefix = f"{section}." if section else ""
    found = [f"{prefix}{name}" for name in difflib.get_close_matches(leaf, leaves, n=1)]
    found += [name for name in known if name.rpartition(".")[2] == leaf]
    found += difflib.get_close_matches(path, known, n=1, cutoff=0.75)
    return list(dict.fromkeys(found))[:3]
