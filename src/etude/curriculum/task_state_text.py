"""The task state document as text that a person can read and edit."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from etude.core.errors import StateError

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def to_text(value: dict[str, Any]) -> str:
    """Return JSON in which everything that holds no objects or lists stands on one line.

    Raises:
        TypeError: An object has a name that is not text, which JSON would write like one that is.
        ValueError: A number is not finite.
    """
    return "\n".join(_lines(value, indent=0)) + "\n"


def from_text(text: str, *, source: str) -> Mapping[str, Any]:
    """Return the object that a text holds.

    Raises:
        StateError: It is not JSON, no object, or an object in it has a name twice.
    """
    try:
        value: object = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise StateError(
            f"{source}:{error.lineno} is not JSON: {error.msg}",
            hint="Look for a missing comma or quotation mark there or on the line before.",
        ) from error
    except ValueError as error:
        raise StateError(
            f"{source} {error}", hint="Keep one value for each name, and only numbers of JSON."
        ) from error
    if not isinstance(value, dict):
        raise StateError(
            f"{source} holds {type(value).__name__}, not an object",
            hint="Name a task state document; write one with `etude tasks export RUN FILE`.",
        )
    return cast("dict[str, Any]", value)


def _lines(value: object, *, indent: int) -> list[str]:
    """Return the lines of a value, of which the first is not indented."""
    items = _named_items(value)
    if not any(isinstance(item, dict | list | tuple) for _, item in items):
        return [_ENCODER.encode(value)]
    lines = ["{" if isinstance(value, dict) else "["]
    for place, (name, item) in enumerate(items):
        first, *rest = _lines(item, indent=indent + 1)
        block = [f"{' ' * (indent + 1)}{name}{first}", *rest]
        block[-1] += "," if place < len(items) - 1 else ""
        lines += block
    return [*lines, " " * indent + ("}" if isinstance(value, dict) else "]")]


def _named_items(value: object) -> list[tuple[str, object]]:
    """Return what an object or a list holds, each item with what stands before it on its line.

    Raises:
        TypeError: A name is not text.
    """
    if isinstance(value, dict):
        fields = cast("dict[object, object]", value)
        return [(f"{_text(name)}: ", item) for name, item in fields.items()]
    if isinstance(value, list | tuple):
        return [("", item) for item in cast("Sequence[object]", value)]
    return []


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"an object of a task state document has the name {name!r}")
    return _ENCODER.encode(name)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        values = [json.dumps(value, ensure_ascii=False) for name, value in pairs if name == twice]
        raise ValueError(f"has {twice!r} twice in one object: {' and '.join(values)[:60]}")
    return found


def _no_constant(name: str) -> float:
    raise ValueError(f"holds {name}, which is no number of JSON")
