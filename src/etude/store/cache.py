"""Results of scans, kept so that no window is computed twice: by anybody, on any machine.

Every writer owns the segments that it writes and readers take the union, so nothing is locked and a
network file system will do. A cache that cannot be written or is damaged never stops a scan: what
cannot be kept or read is said once and computed again.
"""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from etude.core.closing import Closing
from etude.core.errors import StorageError
from etude.core.kill_points import kill_point
from etude.core.types import ContentKey
from etude.store.atomic import encode_json
from etude.store.segments import (
    Entry,
    Segment,
    SegmentFault,
    Subject,
    list_segments,
    read_segment,
    write_segment,
)

TOLERANCE = 1e-5
"""Relative; results that differ by more under one key are nondeterminism, and reported."""

_LISTINGS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Nondeterminism:
    """Two results under one key. Both are kept; the one first in order of their JSON is used."""

    key: ContentKey
    used: Mapping[str, object]
    other: Mapping[str, object]


class SegmentCache(Closing):
    """A `ScanCache` for one subject. Results reach the disk in batches; a kill loses the last."""

    def __init__(
        self,
        root: Path,
        subject: Subject,
        *,
        batch_entries: int = 256,
        batch_s: float = 10.0,
        pause_s: float = 0.0,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Open the results of `subject` under `root`.

        Args:
            batch_entries: Results after which a segment is written.
            batch_s: Time after which one is written, with as few as there are.
            pause_s: Least time between two full segments, so that nobody waits for the disk.
            warn: Told what cannot be read or kept.
        """
        self.subject = subject
        self.faults: list[SegmentFault] = []
        """Files that were passed over; what they held is computed again."""
        self.nondeterminism: list[Nondeterminism] = []
        self.refusal = ""
        """Why results are not kept; empty while they are."""
        self.written = 0
        """Results that have reached the disk through this object."""
        self._root = root
        self._folder = root / subject.namespace / subject.group
        self._batch_entries = batch_entries
        self._batch_s = batch_s
        self._pause_s = pause_s
        self._warn = warn
        self._known: dict[ContentKey, dict[str, object]] = {}
        self._inputs: dict[ContentKey, tuple[ContentKey, Mapping[str, object]]] = {}
        self._pending: list[Entry] = []
        self._flush_at = batch_entries
        self._flushed_s = time.monotonic()
        self._read: set[str] = set()
        self.refresh()

    def __len__(self) -> int:
        return len(self._known)

    def key(self, *, episode: ContentKey, draw: Mapping[str, object]) -> ContentKey:
        """Return the key of one window, and remember what it stands for."""
        key = self.subject.key(episode=episode, draw=draw)
        self._inputs[key] = (episode, draw)
        return key

    def get(self, key: ContentKey) -> dict[str, object] | None:
        """Return the result kept under `key`, or None."""
        found = self._known.get(key)
        return None if found is None else dict(found)

    def put(self, key: ContentKey, result: dict[str, object]) -> None:
        """Keep `result`, ready for JSON, under `key`.

        Raises:
            ValueError: A number is not finite, or `key` was not made by this cache.
        """
        if key not in self._inputs:
            raise ValueError(f"{key} was not made by this cache, so its inputs are not known")
        # Through JSON and back, so that a fresh result is equal to the same one recalled.
        plain = cast("dict[str, object]", json.loads(encode_json(result)))
        known = self._known.get(key)
        if known is not None and agree(known, plain):
            return
        episode, draw = self._inputs[key]
        self._pending.append(Entry(key=key, episode=episode, draw=draw, result=plain))
        self._learn(key, plain)
        waited_s = time.monotonic() - self._flushed_s
        late = waited_s >= self._batch_s and not self.refusal
        if late or (len(self._pending) >= self._flush_at and waited_s >= self._pause_s):
            self.flush()

    def refresh(self) -> None:
        """Take in what other writers have finished since the last look."""
        for _ in range(_LISTINGS):
            if self._take_in():
                return

    def flush(self) -> None:
        """Write what is waiting as one segment; a refusal is said once and the scan goes on."""
        if not self._pending:
            return
        kill_point("cache.batch_full")
        try:
            path = write_segment(self._root, self.subject, self._pending)
        except (StorageError, OSError) as error:
            if not self.refusal:
                self._warn(f"{error}; the scan goes on and its results are not kept")
            self.refusal = str(error)
            # Tried again when twice as many wait, so that a long scan is not slowed by trying.
            self._flush_at = 2 * len(self._pending)
            return
        kill_point("cache.segment_written")
        self.refusal = ""
        self.written += len(self._pending)
        self._read.add(path.name)
        self._pending.clear()
        self._flush_at = self._batch_entries
        self._flushed_s = time.monotonic()

    def close(self) -> None:
        """Write what is waiting, and put damaged files aside now that they have been made good."""
        self.flush()
        if not self.refusal:
            for fault in self.faults:
                set_aside(fault)

    def _take_in(self) -> bool:
        """Read new segments; return False if one vanished, because its pack is not listed yet."""
        whole = True
        for path in list_segments(self._folder):
            if path.name in self._read:
                continue
            try:
                found = read_segment(path)
            except FileNotFoundError:
                whole = False
                continue
            self._read.add(path.name)
            if isinstance(found, Segment):
                self._read.update(found.replaces)
                for entry in found.entries:
                    self._learn(entry.key, dict(entry.result))
            else:
                self.faults.append(found)
                self._warn(f"{found}; what it held is computed again")
        return whole

    def _learn(self, key: ContentKey, result: dict[str, object]) -> None:
        known = self._known.get(key)
        if known is None:
            self._known[key] = result
            return
        # By content and not by age, so that every rank and every later scan uses the same one.
        used, other = sorted((known, result), key=canonical)
        self._known[key] = used
        if not agree(used, other) and key not in (found.key for found in self.nondeterminism):
            self.nondeterminism.append(Nondeterminism(key=key, used=used, other=other))
            self._warn(f"nondeterminism: {key} has two results, {used} and {other}; both are kept")


def set_aside(fault: SegmentFault) -> None:
    """Rename a damaged file so that no reader meets it again; others are left alone."""
    if not fault.damaged:
        return
    try:
        fault.path.rename(fault.path.with_name(f"{fault.path.name}.damaged"))
    except OSError:
        # Another process was quicker, or the folder is read-only; then it is met again.
        return


def canonical(result: Mapping[str, object]) -> str:
    """Return a text that is the same for equal results."""
    return json.dumps(result, sort_keys=True)


def agree(one: object, two: object) -> bool:
    """Say whether two results are the same, numbers within `TOLERANCE`."""
    if isinstance(one, float | int) and isinstance(two, float | int):
        return math.isclose(one, two, rel_tol=TOLERANCE, abs_tol=1e-8)
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        left, right = cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", two)
        return left.keys() == right.keys() and all(agree(left[name], right[name]) for name in left)
    if isinstance(one, list) and isinstance(two, list):
        rows, others = cast("Sequence[Any]", one), cast("Sequence[Any]", two)
        return len(rows) == len(others) and all(map(agree, rows, others))
    return one == two
