"""Append-only files of JSON records that survive a crash at any byte."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from etude.core.closing import Closing
from etude.core.errors import DataError
from etude.store.atomic import encode_json, storage_errors, sync_folder


class Journal(Closing):
    """The one writer of a journal. Opening it drops a half-written last record.

    With `sync`, a record survives a power cut; without, only the death of the process.
    """

    def __init__(self, path: Path, *, sync: bool = True) -> None:
        self.path = path
        self._sync = sync
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered, so that a refused record cannot come back when the file is closed.
            self._file = path.open("ab", buffering=0)
            self.torn_bytes = count_torn_bytes(path)
            os.truncate(path, path.stat().st_size - self.torn_bytes)
            if sync:
                sync_folder(path.parent)

    def append(self, record: Mapping[str, object]) -> None:
        """Write `record` and return once it cannot be lost.

        Raises:
            StorageError: It cannot be written; the records before it are intact.
            ValueError: A number is not finite.
        """
        line = encode_json(record)
        with storage_errors(self.path, needed_bytes=len(line)):
            begin = os.fstat(self._file.fileno()).st_size
            try:
                left = memoryview(line)
                while left:
                    left = left[self._file.write(left) :]
            except OSError:
                os.truncate(self.path, begin)
                raise
            if self._sync:
                os.fsync(self._file.fileno())

    def close(self) -> None:
        """Release the file; the journal can be opened again."""
        self._file.close()


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the whole records of a journal that another process may be writing.

    A journal that is not there yet has no records.

    Raises:
        DataError: The file cannot be read, or a record other than a torn last one is damaged.
    """
    for record, _ in parse_journal(path, read_content(path)):
        yield record


def read_content(path: Path) -> bytes:
    """Return the bytes of a journal; none of one that is not there yet.

    Raises:
        DataError: The file cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


def parse_journal(path: Path, content: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the whole records in the bytes of a journal, each with its line without the line end.

    Raises:
        DataError: A record other than a torn last one is damaged.
    """
    for number, line in enumerate(_whole_lines(content).split(b"\n")[:-1], start=1):
        try:
            record: object = json.loads(line)
        except ValueError as error:
            raise _damaged(path, number) from error
        if not isinstance(record, dict):
            raise _damaged(path, number)
        yield cast("dict[str, Any]", record), line


def count_torn_bytes(path: Path) -> int:
    """Return how many bytes a killed writer has left after the last whole record."""
    return torn_bytes_of(path.read_bytes())


def torn_bytes_of(content: bytes) -> int:
    """Return how many bytes of a journal's lie behind the last whole record."""
    return len(content) - len(_whole_lines(content))


def _damaged(path: Path, number: int) -> DataError:
    return DataError(
        f"{path}:{number} is not a JSON object",
        hint="Restore the file from a copy; a crash can only tear the last line.",
    )


def _whole_lines(content: bytes) -> bytes:
    return content[: content.rfind(b"\n") + 1]
