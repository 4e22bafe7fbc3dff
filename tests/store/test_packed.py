"""Packed lines are read whole or not at all."""

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import StorageError
from etude.store.packed import pack_lines, unpack_lines

lines = st.lists(
    st.binary(max_size=40).map(lambda line: line.replace(b"\n", b" ").replace(b"\r", b" ")),
    min_size=1,
    max_size=20,
)


@given(lines)
def test_what_is_packed_is_unpacked(content: list[bytes]):
    assert unpack_lines(pack_lines(line + b"\n" for line in content)) == content


@given(lines)
def test_equal_lines_give_equal_bytes(content: list[bytes]):
    ended = [line + b"\n" for line in content]

    assert pack_lines(ended) == pack_lines(list(ended))


@given(lines, st.data())
def test_every_cut_is_noticed(content: list[bytes], data: st.DataObject):
    packed = pack_lines(line + b"\n" for line in content)
    kept = data.draw(st.integers(0, len(packed) - 1))

    with pytest.raises(ValueError):  # noqa: PT011
        unpack_lines(packed[:kept])


def test_bytes_after_the_frame_are_refused():
    with pytest.raises(ValueError):  # noqa: PT011
        unpack_lines(pack_lines([b"one\n"]) + b"x")


def test_a_frame_that_does_not_say_its_size_is_refused():
    packed = zstandard.ZstdCompressor(write_content_size=False).compress(b"one\n")

    with pytest.raises(ValueError, match="it names a size of -1 bytes"):
        unpack_lines(packed)


def test_a_frame_that_says_it_is_huge_is_refused_before_it_is_unpacked():
    # A header alone: RFC 8878, 3.1.1.1, with a content size of 8 bytes: 2 GiB.
    header = b"\x28\xb5\x2f\xfd" + b"\xe0" + (1 << 31).to_bytes(8, "little")

    with pytest.raises(ValueError, match=r"it names a size of 2,147,483,648 bytes"):
        unpack_lines(header)


def test_lines_that_would_not_be_read_again_are_not_packed():
    assert unpack_lines(pack_lines([b"123456789\n"] * 2, largest_bytes=20)) == [b"123456789"] * 2

    with pytest.raises(StorageError, match="30 bytes of lines are over the 20 of one file"):
        pack_lines([b"123456789\n"] * 3, largest_bytes=20)
