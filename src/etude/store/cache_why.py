"""Explaining a miss of the scan cache by the input that differs."""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from etude.core.errors import StateError
from etude.core.types import ContentKey
from etude.store.segments import Entry, Segment, Subject, all_segments, read_segment

_ABSENT = "(absent)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One input that two keys do not share."""

    input: str
    """Its name, e.g. "weights" or "draw.seed"."""
    wanted: object
    kept: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The entry that comes nearest to the one asked about, and what keeps them apart."""

    key: ContentKey | None
    """The entry that was asked about; None if only inputs were given."""
    nearest: ContentKey | None
    """None if the cache holds no other entry."""
    equal: int
    """How many inputs the two share."""
    differences: tuple[Difference, ...]
    inputs: Mapping[str, object]
    """Those of the entry that was asked about."""


def explain_key(root: Path, prefix: str) -> Explanation:
    """Compare a kept entry with the nearest other one, which it could not be recalled from.

    Raises:
        StateError: No key of the cache begins with `prefix`, or several do.
    """
    entries = dict(_entries(root))
    found = sorted(key for key in entries if prefix and key.startswith(prefix))
    if len(found) != 1:
        what = "no key" if not found else f"{len(found)} keys"
        raise StateError(
            f"{what} in {root} begin{'' if len(found) > 1 else 's'} with {prefix!r}",
            hint="Give more of the key."
            if found
            else 'Name the inputs of what was missed instead, e.g. --like \'{"weights": "..."}\'.',
        )
    (key,) = found
    return _explain(key, entries[key], entries)


def explain_inputs(root: Path, wanted: Mapping[str, object]) -> Explanation:
    """Compare inputs, given nested or by dotted name, with those of the nearest entry.

    Inputs that are not given are not compared.
    """
    return _explain(None, flatten(wanted), dict(_entries(root)))


def flatten(inputs: Mapping[str, object], *, within: str = "") -> dict[str, object]:
    """Return nested inputs by dotted name."""
    flat: dict[str, object] = {}
    for name, value in inputs.items():
        if isinstance(value, Mapping):
            flat |= flatten(cast("Mapping[str, Any]", value), within=f"{within}{name}.")
        else:
            flat[within + name] = value
    return flat


def inputs_of(subject: Subject, entry: Entry) -> dict[str, object]:
    """Return everything that an entry depends on, by dotted name."""
    return flatten(
        {
            "logic": subject.logic,
            "weights": subject.weights,
            "inference": subject.inference,
            "episode": entry.episode,
            "draw": entry.draw,
        }
    )


def _explain(
    key: ContentKey | None,
    wanted: Mapping[str, object],
    entries: Mapping[ContentKey, Mapping[str, object]],
) -> Explanation:
    others = [other for other in entries if other != key]
    nearest = heapq.nsmallest(
        1, others, key=lambda other: (*_distance(wanted, entries[other], key), other)
    )
    if not nearest:
        return Explanation(key=key, nearest=None, equal=0, differences=(), inputs=wanted)
    kept = entries[nearest[0]]
    return Explanation(
        key=key,
        nearest=nearest[0],
        equal=sum(name in kept and kept[name] == value for name, value in wanted.items()),
        differences=_differences(wanted, kept, whole=key is not None),
        inputs=wanted,
    )


def _distance(
    wanted: Mapping[str, object], kept: Mapping[str, object], key: ContentKey | None
) -> tuple[int, int]:
    """Return how many inputs differ; among equals, the same moment of an episode comes first."""
    apart = [d.input for d in _differences(wanted, kept, whole=key is not None)]
    return len(apart), sum(name.startswith("draw.") for name in apart)


def _differences(
    wanted: Mapping[str, object], kept: Mapping[str, object], *, whole: bool
) -> tuple[Difference, ...]:
    names = sorted(wanted.keys() | kept.keys()) if whole else sorted(wanted)
    return tuple(
        Difference(input=name, wanted=wanted.get(name, _ABSENT), kept=kept.get(name, _ABSENT))
        for name in names
        if wanted.get(name, _ABSENT) != kept.get(name, _ABSENT)
    )


def _entries(root: Path) -> Iterator[tuple[ContentKey, Mapping[str, object]]]:
    for path in all_segments(root):
        try:
            found = read_segment(path)
        except FileNotFoundError:
            continue
        if isinstance(found, Segment):
            for entry in found.entries:
                yield entry.key, inputs_of(found.subject, entry)
