"""Messages as bytes: msgpack, with arrays in the styles that policy servers write.

`openpi` writes {b"__ndarray__": True, b"data", b"dtype", b"shape"} and, for scalars,
{b"__npgeneric__": True, b"data", b"dtype"}. `msgpack_numpy` writes {b"nd": True, b"type", b"kind",
b"shape", b"data"} and, for scalars, {b"nd": False, b"type", b"data"}. Both are read, with keys as
bytes or as text. Numbers and text are all that an array may hold: the other types would be pickled.

Source: Physical-Intelligence/openpi, `packages/openpi-client/src/openpi_client/msgpack_numpy.py`;
the package msgpack-numpy 0.4.8.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

import msgpack
import numpy as np

from etude.core.errors import PolicyError

Style = Literal["openpi", "msgpack_numpy"]

PLAIN_KINDS = "biufSU"
"""Kinds of dtype that are plain numbers or text."""
MOST_AXES = 32
_TYPE = re.compile(r"[<>=|]?[A-Za-z]+[0-9_]{0,9}")


def pack(message: Any, *, style: Style) -> bytes:
    """Return the bytes of `message`: maps, lists, plain values, arrays and their scalars.

    Raises:
        PolicyError: It holds something else, such as an array of objects.
    """
    try:
        return cast("bytes", msgpack.packb(message, default=_WRITERS[style], use_bin_type=True))
    except (TypeError, ValueError, OverflowError) as error:
        raise PolicyError(f"a message cannot be written: {error}") from error


def unpack(content: bytes) -> Any:
    """Return what a message holds, arrays in either style included. They cannot be written to.

    Raises:
        PolicyError: It is no msgpack, or holds an array that is not what it says.
    """
    try:
        return cast(
            "Any",
            msgpack.unpackb(content, object_hook=_read, ext_hook=_refuse_extension, raw=False),
        )
    except (ValueError, TypeError, UnicodeDecodeError, msgpack.UnpackException) as error:
        raise PolicyError(
            f"a message of {len(content):,} bytes cannot be read: "
            f"{str(error) or type(error).__name__}",
            hint="Send msgpack, with arrays of numbers as openpi or msgpack-numpy write them.",
        ) from error


def _write_openpi(value: Any) -> dict[bytes, object]:
    if isinstance(value, np.ndarray):
        array = _plain(cast("np.ndarray", value))
        return {
            b"__ndarray__": True,
            b"data": array.tobytes(),
            b"dtype": array.dtype.str,
            b"shape": array.shape,
        }
    if isinstance(value, np.generic):
        scalar = _plain(np.asarray(cast("Any", value)))
        return {b"__npgeneric__": True, b"data": scalar.item(), b"dtype": scalar.dtype.str}
    raise TypeError(f"a {type(value).__name__} is no plain value")


def _write_msgpack_numpy(value: Any) -> dict[bytes, object]:
    if isinstance(value, np.ndarray):
        array = _plain(cast("np.ndarray", value))
        return {
            b"nd": True,
            b"type": array.dtype.str,
            b"kind": b"",
            b"shape": array.shape,
            b"data": array.tobytes(),
        }
    if isinstance(value, np.generic):
        scalar = _plain(np.asarray(cast("Any", value)))
        return {b"nd": False, b"type": scalar.dtype.str, b"data": scalar.tobytes()}
    raise TypeError(f"a {type(value).__name__} is no plain value")


_WRITERS: dict[Style, Callable[[Any], dict[bytes, object]]] = {
    "openpi": _write_openpi,
    "msgpack_numpy": _write_msgpack_numpy,
}


def _read(found: dict[Any, Any]) -> Any:
    """Return the array or scalar that a map stands for, or the map itself."""
    if _entry(found, "__ndarray__") is True:
        return _array(_entry(found, "data"), _entry(found, "dtype"), _entry(found, "shape"))
    if _entry(found, "__npgeneric__") is True:
        return _dtype(_entry(found, "dtype")).type(_entry(found, "data"))
    is_array = _entry(found, "nd")
    if is_array is True:
        _refuse_kind(_entry(found, "kind"))
        return _array(_entry(found, "data"), _entry(found, "type"), _entry(found, "shape"))
    if is_array is False:
        return _array(_entry(found, "data"), _entry(found, "type"), [1])[0]
    return found


def _entry(found: Mapping[Any, Any], name: str) -> Any:
    value = found.get(name.encode())
    return found.get(name) if value is None else value


def _array(data: Any, dtype: Any, shape: Any) -> np.ndarray:
    kind = _dtype(dtype)
    if not isinstance(data, bytes):
        raise TypeError(f"the data of an array are a {type(data).__name__}, not bytes")
    if not isinstance(shape, list | tuple):
        raise TypeError(f"the shape of an array is {shape!r}, not a list")
    sides: list[Any] = list(cast("list[Any]", shape))
    if len(sides) > MOST_AXES or not all(type(side) is int and side >= 0 for side in sides):
        raise ValueError(f"an array has the shape {sides[: MOST_AXES + 1]}")
    size = kind.itemsize
    for side in sides:
        size *= side
    if size != len(data):
        raise ValueError(
            f"an array of shape {sides} and type {kind.str} has {len(data):,} bytes, not {size:,}"
        )
    return np.frombuffer(data, dtype=kind).reshape(sides) if data else np.zeros(sides, kind)


def _dtype(name: Any) -> "np.dtype[Any]":
    if isinstance(name, bytes):
        name = name.decode("ascii")
    if not isinstance(name, str):
        raise TypeError(f"the type of an array is {name!r}, not the name of a number type")
    if not _TYPE.fullmatch(name):
        raise ValueError(f"the type of an array is {name[:40]!r}, not the name of a number type")
    kind = np.dtype(name)
    if kind.kind not in PLAIN_KINDS or not kind.itemsize:
        raise ValueError(f"an array has the type {name!r}; only numbers and text are taken")
    return kind


def _plain(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in PLAIN_KINDS:
        raise ValueError(f"an array has the type {array.dtype}; only numbers and text are sent")
    return array


def _refuse_kind(kind: Any) -> None:
    if kind not in (None, b"", ""):
        raise ValueError(f"an array is of kind {kind!r}, which only pickle or structs can hold")


def _refuse_extension(code: int, data: bytes) -> Any:
    del data
    raise ValueError(f"it holds a value of extension type {code}")
