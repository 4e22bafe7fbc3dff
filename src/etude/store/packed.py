"""Packed lines: one zstd frame that is read whole or not at all.

The frame carries its size and a checksum, so every cut and every changed byte is noticed.
"""

from collections.abc import Iterable

import zstandard

from etude.core.errors import StorageError

_LEVEL = 3
_LARGEST_BYTES = 1 << 30
"""Unpacked; far over what is usual here, so that a foreign file cannot eat the memory."""


def pack_lines(lines: Iterable[bytes], *, largest_bytes: int = _LARGEST_BYTES) -> bytes:
    """Return lines, each with its line end, as one frame; equal lines give equal bytes.

    Raises:
        StorageError: They are so long that they would not be read again.
    """
    content = b"".join(lines)
    if len(content) > largest_bytes:
        raise StorageError(
            f"{len(content):,} bytes of lines are over the {largest_bytes:,} of one file",
            hint="Scan fewer windows at a time.",
        )
    return zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compress(content)


def unpack_lines(packed: bytes) -> list[bytes]:
    """Return the lines of a frame without their line ends.

    Raises:
        ValueError: The bytes are no whole frame, or one that does not say its size.
    """
    try:
        size = zstandard.frame_content_size(packed)
        if not 0 < size <= _LARGEST_BYTES:
            raise ValueError(f"it names a size of {size:,} bytes")
        content = zstandard.ZstdDecompressor().decompress(packed, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
    return content.splitlines()
