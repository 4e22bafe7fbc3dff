"""Replacing files whole: a reader sees the old bytes or the new ones, never a mixture."""

import errno
import json
import os
import secrets
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from etude.core.errors import DataError, StorageError

_REFUSALS = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST, errno.EISDIR)


def _encoder(indent: int | None) -> json.JSONEncoder:
    return json.JSONEncoder(indent=indent, ensure_ascii=False, allow_nan=False)


_COMPACT = _encoder(None)


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` by `content` and return once it survives a power cut.

    Raises:
        StorageError: The file cannot be written; the old one is intact.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with storage_errors(path, needed_bytes=len(content)):
        try:
            with draft.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
            sync_folder(path.parent)
        finally:
            draft.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text` in UTF-8."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: object) -> None:
    """Replace `path` by strict JSON (no NaN), indented for people, keys in the order given."""
    write_bytes(path, encode_json(value, indent=1))


def encode_json(value: object, *, indent: int | None = None) -> bytes:
    """Return `value` as strict JSON in UTF-8 and a line end.

    A lone surrogate, which stands for a byte of a file name that is no UTF-8, becomes an escape.

    Raises:
        ValueError: A number is not finite.
    """
    encode = _COMPACT.encode if indent is None else _encoder(indent).encode
    return f"{encode(value)}\n".encode("utf-8", "backslashreplace")


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that `path` holds.

    Raises:
        DataError: The file is missing or holds no JSON object.
    """
    try:
        value: object = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}") from error
    if not isinstance(value, Mapping):
        raise DataError(f"{path} holds {type(value).__name__}, not a JSON object")
    return cast("dict[str, Any]", value)


def sync_file(path: Path) -> None:
    """Make the content of `path` survive a power cut."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def storage_errors(path: Path, *, needed_bytes: int | None = None) -> Generator[None, None, None]:
    """Turn the operating system's refusals to write at `path` into a StorageError.

    Raises:
        StorageError: The disk is full, or the place is read-only, forbidden, or no folder.
    """
    needs = f", {needed_bytes:,} bytes needed" if needed_bytes else ""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageError(
                f"{path} cannot be written: no space left on the disk{needs}",
                hint="Free some space, then run the same command with --resume.",
            ) from error
        if error.errno == errno.EFBIG:
            raise StorageError(
                f"{path} cannot be written: over the largest size of a file{needs}",
                hint="Raise the limit with `ulimit -f`, or choose a folder on another disk.",
            ) from error
        if error.errno in _REFUSALS:
            raise StorageError(
                f"{path} cannot be written: {error.strerror}",
                hint="Choose another folder or change its permissions.",
            ) from error
        raise
