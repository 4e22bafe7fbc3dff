"""Reading entries that a person may have edited: what may stand where, and every fault at once."""

import difflib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from etude.core.errors import StateError

_NEAR = 0.75
"""Likeness from which on a name is taken for a misspelt one."""


MOST = 100
"""Faults that are told one by one, so that a document of other tasks does not fill a screen."""

Hint = str | Callable[[], str]
"""A sentence, or how to find it where that takes long."""


class Faults:
    """Everything that is wrong with one document, by address."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._found: list[tuple[str, Hint]] = []

    def add(self, address: str, text: str, *, hint: Hint = "") -> None:
        """Note that what stands at `address` is wrong."""
        place = f"{self.source}:{address}" if address else self.source
        self._found.append((f"{place} {text}", hint))

    def settle(self, *, hint: str) -> None:
        """Refuse the document if anything was noted.

        Raises:
            StateError: It tells all faults.
        """
        if not self._found:
            return
        if len(self._found) == 1:
            ((text, own),) = self._found
            raise StateError(text, hint=_said(own) or hint)
        lines = [f"{self.source} has {len(self._found)} faults"]
        for text, own in self._found[:MOST]:
            lines.append(f"  {text}")
            if said := _said(own):
                lines.append(f"    {said}")
        if len(self._found) > MOST:
            lines.append(f"  and {len(self._found) - MOST:,} more")
        raise StateError("\n".join(lines), hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What may stand under one name."""

    expected: str
    """For example "a whole number of at least 0"."""
    accepts: Callable[[Any], bool]
    choices: Sequence[str] = ()
    """The words that may stand there, where there are only some."""
    required: bool = False


def whole(*, required: bool = False) -> Field:
    """Return the field of a whole number of at least 0."""
    return Field(
        expected="a whole number of at least 0",
        accepts=lambda value: type(value) is int and value >= 0,
        required=required,
    )


def step_number(*, required: bool = False) -> Field:
    """Return the field of a step, which is negative where it lies before the run's first."""
    return Field(
        expected="a whole number",
        accepts=lambda value: type(value) is int,
        required=required,
    )


def amount() -> Field:
    """Return the field of a finite number of at least 0."""
    return Field(expected="a number of at least 0", accepts=_is_amount)


def amount_or_null() -> Field:
    """Return the field of a finite number of at least 0, or of null."""
    return Field(
        expected="a number of at least 0, or null",
        accepts=lambda value: value is None or _is_amount(value),
    )


def text(*, required: bool = False) -> Field:
    """Return the field of any text; a required one must not be empty."""
    return Field(
        expected="text that is not empty" if required else "text",
        accepts=lambda value: isinstance(value, str) and (value != "" or not required),
        required=required,
    )


def flag() -> Field:
    """Return the field of true or false."""
    return Field(expected="true or false", accepts=lambda value: isinstance(value, bool))


def word(choices: Sequence[str], *, required: bool = False) -> Field:
    """Return the field of one of some words."""
    return Field(
        expected=f"{', '.join(choices[:-1])} or {choices[-1]}",
        accepts=lambda value: isinstance(value, str) and value in choices,
        choices=choices,
        required=required,
    )


def read_fields(
    row: Mapping[str, Any], fields: Mapping[str, Field], *, address: str, faults: Faults
) -> dict[str, Any]:
    """Return what stands in `row` under the names of `fields`, sound values only.

    A name that is missing is left out, so that its default holds, unless it is required or a
    misspelt one stands there instead.
    """
    found: dict[str, Any] = {}
    for name, kind in fields.items():
        place = f"{address}{name}"
        if name not in row:
            _note_missing(row, name, fields, place=place, faults=faults)
        elif kind.accepts(row[name]):
            found[name] = row[name]
        else:
            note = f"is {shown(row[name])}, not {kind.expected}"
            faults.add(place, note, hint=nearest(row[name], kind.choices))
    return found


def rows_of(value: object, *, address: str, faults: Faults) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the objects of a list with their places; whatever else stands there is a fault."""
    if not isinstance(value, list):
        faults.add(address, f"is {shown(value)}, not a list")
        return []
    rows: list[tuple[int, Mapping[str, Any]]] = []
    for place, item in enumerate(cast("list[object]", value)):
        if isinstance(item, dict):
            rows.append((place, cast("dict[str, Any]", item)))
        else:
            faults.add(f"{address}[{place}]", f"is {shown(item)}, not an object")
    return rows


def nearest(value: object, choices: Sequence[str]) -> str:
    """Return a hint that names the choice that was probably meant, or ""."""
    close = difflib.get_close_matches(str(value), choices, n=1)
    return f"The nearest is {close[0]}." if close else ""


def shown(value: object) -> str:
    """Return a value as it stands in the document, cut where it is long."""
    written = json.dumps(value, ensure_ascii=False, default=str)
    return written if len(written) <= 60 else f"{written[:59]}…"


def _said(hint: Hint) -> str:
    return hint if isinstance(hint, str) else hint()


def _note_missing(
    row: Mapping[str, Any], name: str, fields: Mapping[str, Field], *, place: str, faults: Faults
) -> None:
    strange = [other for other in row if other not in fields]
    close = difflib.get_close_matches(name, strange, n=1, cutoff=_NEAR)
    if close:
        faults.add(f"{place.removesuffix(name)}{close[0]}", f"is no entry; {name} is missing")
    elif fields[name].required:
        faults.add(place, "is missing")


def _is_amount(value: object) -> bool:
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return numeric and 0 <= cast("float", value) <= sys.float_info.max
