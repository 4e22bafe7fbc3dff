"""Immutable files of scan results: written whole, read without a lock, never changed.

A segment is packed lines. The first says what its entries share, every other line is an entry. It
lies in `<root>/<namespace>/<group>/`, where the group is a hash of what is shared, so a reader
opens only what can concern it, and no host, path or run stands in an address.
"""

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from etude.core.types import ContentKey
from etude.store.atomic import encode_json, storage_errors, write_bytes
from etude.store.content import bytes_digest, content_key
from etude.store.packed import pack_lines, unpack_lines

SCHEMA = "scan-cache/1"
SUFFIX = ".jsonl.zst"
NAMESPACES = ("task-scan", "sample-scan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What all results of one scan depend on, beside the window itself."""

    logic: str
    """Namespace and version of the scan's logic, e.g. "task-scan@1"."""
    weights: ContentKey
    """Identity of the policy's weights."""
    inference: Mapping[str, object]
    """Every setting that changes what the policy answers, ready for JSON."""

    _digest: ContentKey = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        digest = content_key("scan-group/1", self.logic, self.weights, self.inference)
        object.__setattr__(self, "_digest", digest)
        if self.namespace not in NAMESPACES:
            raise ValueError(f"logic is {self.logic!r}, not one of {', '.join(NAMESPACES)}")

    @property
    def namespace(self) -> str:
        """The kind of scan."""
        return self.logic.partition("@")[0]

    @property
    def group(self) -> str:
        """Name of the folder of this subject's segments."""
        return self._digest[:32]

    def key(self, *, episode: ContentKey, draw: Mapping[str, object]) -> ContentKey:
        """Return the key of the result of one window.

        Args:
            episode: Content id of the episode that the window lies in.
            draw: Which window of it, and the seed of the policy's noise.
        """
        return content_key("scan-entry/2", self._digest, episode, draw)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The result of one window, and what it depends on beside the subject."""

    key: ContentKey
    episode: ContentKey
    draw: Mapping[str, object]
    result: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The content of one file."""

    path: Path
    subject: Subject
    entries: Sequence[Entry]
    replaces: Sequence[str]
    """Names of the segments whose entries it repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFault:
    """A file that is passed over, and why."""

    path: Path
    reason: str
    damaged: bool
    """No version of this program can read it; otherwise it may be somebody else's."""

    def __str__(self) -> str:
        return f"{self.path} {self.reason}"


def list_segments(folder: Path) -> list[Path]:
    """Return the segments right in `folder`, the larger, compacted ones first."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def all_segments(root: Path) -> Iterator[Path]:
    """Yield every segment of a cache, group after group."""
    for namespace in NAMESPACES:
        for group in sorted((root / namespace).glob("*")):
            yield from list_segments(group)


def write_segment(root: Path, subject: Subject, entries: Iterable[Entry]) -> Path:
    """Write entries under a new name that no other writer can choose.

    Raises:
        StorageError: The disk is full, or the cache cannot be written; nothing is left behind.
    """
    content = _encode(subject, list(entries), replaces=())
    return _write(root, subject, f"seg-{uuid.uuid4().hex}{SUFFIX}", content)


def write_pack(root: Path, subject: Subject, segments: Sequence[Segment]) -> Path:
    """Write the entries of several segments as one, named by its content.

    So two that compact the same segments at once write the same file.

    Raises:
        StorageError: The disk is full, or the cache cannot be written; nothing is left behind.
    """
    found = {
        encode_json({"key": entry.key, "result": entry.result}): entry
        for segment in segments
        for entry in segment.entries
    }
    names = sorted(segment.path.name for segment in segments)
    content = _encode(subject, [found[text] for text in sorted(found)], replaces=names)
    return _write(root, subject, f"pack-{bytes_digest(content)[:32]}{SUFFIX}", content)


def read_segment(path: Path) -> Segment | SegmentFault:
    """Return what a segment holds, or why it cannot be used.

    Raises:
        FileNotFoundError: It has been compacted away since it was listed.
    """
    try:
        packed = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        return SegmentFault(path=path, reason=f"cannot be read: {error.strerror}", damaged=False)
    try:
        lines = unpack_lines(packed)
    except ValueError as error:
        reason = f"({len(packed):,} bytes) is not a whole segment: {error}"
        return SegmentFault(path=path, reason=reason, damaged=True)
    try:
        segment = _decode(path, lines)
    except (ValueError, KeyError, TypeError) as error:
        reason = f"is not a segment of schema {SCHEMA!r}: {error}"
        return SegmentFault(path=path, reason=reason, damaged=False)
    if (segment.subject.namespace, segment.subject.group) != (
        path.parent.parent.name,
        path.parent.name,
    ):
        return SegmentFault(path=path, reason="lies in the folder of another scan", damaged=False)
    return segment


def _encode(subject: Subject, entries: Sequence[Entry], *, replaces: Sequence[str]) -> bytes:
    head = {
        "schema": SCHEMA,
        "logic": subject.logic,
        "weights": subject.weights,
        "inference": subject.inference,
        "entries": len(entries),
        "replaces": replaces,
    }
    lines = [encode_json(head)]
    lines += [
        encode_json({"key": e.key, "episode": e.episode, "draw": e.draw, "result": e.result})
        for e in entries
    ]
    return pack_lines(lines)


def _write(root: Path, subject: Subject, name: str, content: bytes) -> Path:
    path = root / subject.namespace / subject.group / name
    with storage_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, content)
    return path


def _decode(path: Path, lines: Sequence[bytes]) -> Segment:
    head = _object(lines[0])
    if head.get("schema") != SCHEMA:
        raise ValueError(f"schema is {head.get('schema')!r}")
    if len(lines) - 1 != head["entries"]:
        raise ValueError(f"it has {len(lines) - 1} of {head['entries']} entries")
    subject = Subject(
        logic=str(head["logic"]),
        weights=ContentKey(str(head["weights"])),
        inference=dict(head["inference"]),
    )
    return Segment(
        path=path,
        subject=subject,
        entries=[_entry(_object(line)) for line in lines[1:]],
        replaces=[str(name) for name in head["replaces"]],
    )


def _entry(fields: dict[str, Any]) -> Entry:
    return Entry(
        key=ContentKey(str(fields["key"])),
        episode=ContentKey(str(fields["episode"])),
        draw=dict(fields["draw"]),
        result=dict(fields["result"]),
    )


def _object(line: bytes) -> dict[str, Any]:
    value: object = json.loads(line)
    if not isinstance(value, dict):
        raise TypeError(f"a line holds {type(value).__name__}, not an object")
    return cast("dict[str, Any]", value)
