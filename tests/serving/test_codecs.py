from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from etude.core.errors import PolicyError
from etude.serving.codecs import Style, pack, unpack

ONE = np.array([1.0], "<f4")
OPENPI = (
    b"\x84\xc4\x0b__ndarray__\xc3\xc4\x04data\xc4\x04\x00\x00\x80\x3f"
    b"\xc4\x05dtype\xa3<f4\xc4\x05shape\x91\x01"
)
MSGPACK_NUMPY = (
    b"\x85\xc4\x02nd\xc3\xc4\x04type\xa3<f4\xc4\x04kind\xc4\x00\xc4\x05shape\x91\x01"
    b"\xc4\x04data\xc4\x04\x00\x00\x80\x3f"
)
STYLES: tuple[Style, ...] = ("openpi", "msgpack_numpy")
DTYPES = ("?", "<i8", "<u2", "|u1", "<f2", "<f4", "<f8", ">f4", "<U3", "|S4")


@pytest.mark.parametrize(
    ("style", "content"), [("openpi", OPENPI), ("msgpack_numpy", MSGPACK_NUMPY)]
)
def test_an_array_has_the_bytes_that_others_write_and_read(style: Style, content: bytes):
    assert pack(ONE, style=style) == content
    np.testing.assert_array_equal(unpack(content), ONE)


@pytest.mark.parametrize(
    ("value", "style", "written"),
    [
        (np.float32(0.5), "openpi", {b"__npgeneric__": True, b"data": 0.5, b"dtype": "<f4"}),
        (np.int64(-3), "openpi", {b"__npgeneric__": True, b"data": -3, b"dtype": "<i8"}),
        (
            np.float32(0.5),
            "msgpack_numpy",
            {b"nd": False, b"type": "<f4", b"data": b"\x00\x00\x00\x3f"},
        ),
        (np.bool_(True), "msgpack_numpy", {b"nd": False, b"type": "|b1", b"data": b"\x01"}),  # noqa: FBT003
    ],
)
def test_a_scalar_has_the_bytes_that_others_write_and_read(
    value: Any, style: Style, written: dict[bytes, Any]
):
    content = pack(value, style=style)

    assert msgpack.unpackb(content) == written
    assert unpack(content) == value
    assert unpack(content).dtype == value.dtype


@given(
    style=st.sampled_from(STYLES),
    array=st.sampled_from(DTYPES).flatmap(
        lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, min_side=0))
    ),
)
def test_every_plain_array_comes_back_as_it_was(style: Style, array: np.ndarray):
    message = {"a": {"b": [1, "二", array]}, "c": None}

    back = unpack(pack(message, style=style))

    found = back["a"]["b"].pop()
    assert back == {"a": {"b": [1, "二"]}, "c": None}
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == array.tobytes()


@given(content=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content: bytes):
    try:
        unpack(content)
    except PolicyError as error:
        said = str(error)
    else:
        return
    assert f"a message of {len(content)} bytes cannot be read" in said


@given(
    found=st.dictionaries(
        st.sampled_from(["__ndarray__", "__npgeneric__", "nd", "data", "dtype", "type", "shape"]),
        st.sampled_from(
            [True, False, None, 1, -1, 2**63, "f4", "O", "f4,f4", "V8", "", b"", b"1234", [1], [-1]]
        ),
    )
)
def test_a_map_that_is_nearly_an_array_is_read_or_refused(found: dict[str, Any]):
    try:
        back = unpack(msgpack.packb(found))
    except PolicyError:
        return
    assert not isinstance(back, np.ndarray) or back.dtype.kind in "biufSU"


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    "value",
    [
        np.array([object()]),
        np.array([1 + 2j]),
        np.array([(1, 2)], dtype=[("a", "i4"), ("b", "i4")]),
        np.complex64(1),
        object(),
        {1, 2},
        2**70,
    ],
    ids=["objects", "complex", "struct", "complex scalar", "object", "set", "long"],
)
def test_what_would_have_to_be_pickled_is_not_sent(style: Style, value: object):
    with pytest.raises(PolicyError, match="a message cannot be written"):
        pack({"a": value}, style=style)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"nd": True, "type": "|O", "kind": b"O", "shape": [1], "data": b"x"}, "kind b'O'"),
        ({"nd": True, "type": "|O", "shape": [1], "data": b"12345678"}, "only numbers and text"),
        ({"nd": True, "type": [["a", "<i4"]], "kind": b"V", "shape": [1], "data": b""}, "kind"),
        ({"__ndarray__": True, "dtype": "|O", "shape": [1], "data": b"12345678"}, "numbers and"),
        ({"__ndarray__": True, "dtype": "<f4", "shape": [2], "data": b"1234"}, "4 bytes, not 8"),
        ({"__ndarray__": True, "dtype": "<f4", "shape": [2**62], "data": b""}, "0 bytes, not"),
        ({"__ndarray__": True, "dtype": "<f4", "shape": [-1, -1], "data": b"1234"}, "the shape"),
        ({"__ndarray__": True, "dtype": "<f4", "shape": [1.0], "data": b"1234"}, "the shape"),
        ({"__ndarray__": True, "dtype": "<f4", "shape": [1] * 40, "data": b"1234"}, "the shape"),
        ({"__ndarray__": True, "dtype": "<f4", "shape": [1], "data": "text"}, "not bytes"),
        ({"__npgeneric__": True, "dtype": "<f4", "data": "abc"}, "could not convert"),
        ({"__npgeneric__": True, "dtype": "M8[s]", "data": 1}, "'M8[s]', not the name"),
        (msgpack.ExtType(5, b"x"), "extension type 5"),
    ],
)
def test_an_array_that_is_none_is_refused(found: Any, said: str):
    with pytest.raises(PolicyError) as caught:
        unpack(msgpack.packb(found))

    assert said in str(caught.value)
    assert caught.value.hint


def test_a_short_message_cannot_ask_for_much_memory():
    with pytest.raises(PolicyError):
        unpack(b"\xdd\xff\xff\xff\xff")  # the head of a list of 4 billion entries
    with pytest.raises(PolicyError):
        unpack(b"\x91" * 100_000)  # lists within lists
