"""Content keys: names made of what a thing is, never of where it lies."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from blake3 import blake3

from etude.core.types import ContentKey

_encode = json.JSONEncoder(sort_keys=True, allow_nan=False).encode
_SIMPLE = frozenset({bool, int, float, str})


def content_key(kind: str, *parts: object) -> ContentKey:
    """Return the key of a result of `kind` that depends on `parts` and nothing else.

    Dataclasses, mappings and sequences are hashed by value, so the order of mapping keys does not
    matter and a renamed field is a new key. `kind` carries a version, e.g. "policy/1".

    Raises:
        TypeError: A part is not plain data, or a mapping has a key that is not text.
        ValueError: A number is not finite.
    """
    text = _encode([kind, *map(_plain, parts)])
    return ContentKey(blake3(text.encode()).hexdigest())


def file_digest(path: Path) -> str:
    """Return the hex BLAKE3 digest of a file."""
    return blake3().update_mmap(path).hexdigest()


def bytes_digest(content: bytes | memoryview) -> str:
    """Return the hex BLAKE3 digest of bytes."""
    return blake3(content).hexdigest()


def _plain(value: Any) -> Any:
    if value is None or type(value) in _SIMPLE:
        return value
    match value:
        case bool() | int() | float() | str():
            return value
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
            return {"type": type(value).__name__, **fields}
        case Mapping():
            items = cast("Mapping[object, Any]", value)
            return {_text(key): _plain(item) for key, item in items.items()}
        case list() | tuple():
            return [_plain(item) for item in cast("list[Any]", value)]
        case _:
            raise TypeError(f"a {type(value).__name__} cannot be part of a content key")


def _text(key: object) -> str:
    """Refuse other keys, because JSON would write 1 and "1" alike."""
    if not isinstance(key, str):
        raise TypeError(f"a mapping in a content key has the key {key!r}, which is not text")
    return key
