"""The history of a run that shows when somebody has changed it: a journal chained by hashes.

Every line carries the hash of the line before it, so that a line which was changed, removed, added
or moved breaks the chain at a place that can be named. Lines cut off at the end leave a shorter,
sound chain; that is found with a head that was kept elsewhere, such as in a checkpoint.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etude.core.closing import Closing
from etude.core.errors import DataError
from etude.core.kill_points import kill_point
from etude.store.atomic import encode_json
from etude.store.content import content_key
from etude.store.journal import Journal, parse_journal, read_content, torn_bytes_of

VERSION = 1
KIND = f"ledger/{VERSION}"
START = "0" * 64
"""Stands for the hash of the line before the first."""

_FIELDS: Mapping[str, type[object]] = {
    "v": int,
    "seq": int,
    "type": str,
    "step": int,
    "weights": str,
    "data": dict,
    "prev": str,
    "h": str,
}
"""What a line holds, in this order."""
_HINT = "Restore the file from a copy; a crash can only tear the last line."


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerHead:
    """The place behind the last line; equal heads mean equal histories."""

    seq: int = 0
    """Number of lines."""
    hash: str = START


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """Something that happened to a run."""

    seq: int
    """From 1 on, without a gap."""
    kind: str
    step: int
    weights: str
    """Id of the weights that it is about; empty where it is about none."""
    data: Mapping[str, Any]
    head: LedgerHead
    """The place behind this entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerHistory:
    """What a sound ledger holds."""

    entries: tuple[LedgerEntry, ...] = ()
    torn_bytes: int = 0
    """Bytes of a last line that a killed writer has left, which is not among the entries."""

    @property
    def head(self) -> LedgerHead:
        """The place behind the last entry."""
        return self.entries[-1].head if self.entries else LedgerHead()

    def holds(self, head: LedgerHead) -> bool:
        """Tell whether the history once ended at `head`, and has only grown since."""
        if head.seq == 0:
            return head == LedgerHead()
        return head.seq <= len(self.entries) and self.entries[head.seq - 1].head == head


class Ledger(Closing):
    """The one writer of a ledger. Opening it checks the chain and drops a torn last line."""

    def __init__(self, path: Path) -> None:
        """Continue the ledger at `path`, or begin one.

        Raises:
            DataError: The chain is broken; nothing has been touched.
        """
        self.path = path
        self._head = read_ledger(path).head
        self._journal = Journal(path)

    @property
    def head(self) -> LedgerHead:
        """The place behind the last line."""
        return self._head

    @property
    def torn_bytes(self) -> int:
        """Bytes of a torn last line that were dropped when the ledger was opened."""
        return self._journal.torn_bytes

    def append(
        self,
        kind: str,
        *,
        step: int,
        weights: str = "",
        data: Mapping[str, object] | None = None,
    ) -> LedgerHead:
        """Write one line, and return the new head once a power cut cannot take it.

        Raises:
            StorageError: It cannot be written; the lines before it are intact.
            TypeError: `data` has a key that is not text, or a value that JSON does not know.
            ValueError: A number is not finite.
        """
        record = {
            "v": VERSION,
            "seq": self._head.seq + 1,
            "type": kind,
            "step": step,
            "weights": weights,
            "data": data or {},
            "prev": self._head.hash,
        }
        digest = content_key(KIND, record)
        # Once through JSON, so that the bytes are those that a reader would write.
        self._journal.append(json.loads(encode_json({**record, "h": digest})))
        kill_point("ledger.appended")
        self._head = LedgerHead(seq=self._head.seq + 1, hash=digest)
        return self._head

    def close(self) -> None:
        """Release the file; the ledger can be opened again."""
        self._journal.close()


def read_ledger(path: Path) -> LedgerHistory:
    """Return what a ledger holds, after checking all of it; one that is not there is empty.

    Raises:
        DataError: The file cannot be read, or a line was changed, removed, added or moved.
    """
    content = read_content(path)
    entries: list[LedgerEntry] = []
    head = LedgerHead()
    for number, (record, line) in enumerate(parse_journal(path, content), start=1):
        where = f"{path}:{number}"
        _check_line(record, line, where)
        _check_place(record, head, where)
        entries.append(_entry(record))
        head = entries[-1].head
    return LedgerHistory(entries=tuple(entries), torn_bytes=torn_bytes_of(content))


def _check_line(record: Mapping[str, Any], line: bytes, where: str) -> None:
    """Refuse a line whose bytes are not those that its hash was made of.

    The bytes count, because an edit that JSON does not show, such as a space, is an edit too.
    """
    typed = all(type(record.get(name)) is kind for name, kind in _FIELDS.items())
    if not typed or len(record) != len(_FIELDS) or record["v"] != VERSION:
        raise DataError(f"{where} is no line of a ledger/{VERSION}", hint=_HINT)
    try:
        written = encode_json({name: record[name] for name in _FIELDS}) == line + b"\n"
        digest = content_key(KIND, {name: record[name] for name in _FIELDS if name != "h"})
    except ValueError as error:
        raise _changed(where) from error
    if not written or digest != record["h"]:
        raise _changed(where)


def _check_place(record: Mapping[str, Any], head: LedgerHead, where: str) -> None:
    """Refuse a sound line that does not belong behind the lines before it."""
    if record["seq"] != head.seq + 1:
        raise DataError(
            f"{where} has the number {record['seq']}, not {head.seq + 1}: lines are missing or "
            "were moved",
            hint=_HINT,
        )
    if record["prev"] != head.hash:
        raise DataError(
            f"{where} does not continue the line before it, which was changed or is of another run",
            hint=_HINT,
        )


def _entry(record: Mapping[str, Any]) -> LedgerEntry:
    return LedgerEntry(
        seq=record["seq"],
        kind=record["type"],
        step=record["step"],
        weights=record["weights"],
        data=record["data"],
        head=LedgerHead(seq=record["seq"], hash=record["h"]),
    )


def _changed(where: str) -> DataError:
    return DataError(f"{where} was changed after it was written", hint=_HINT)
