"""What a camera of a dataset is, wherever its pictures lie."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64, Int64, UInt8
from PIL import Image

from etude.core.errors import DataError

Pictures = UInt8[np.ndarray, "pictures height width 3"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wanted:
    """Frames whose pictures are asked for, each once."""

    row: Int64[np.ndarray, " pictures"]
    """Row of the episode table."""
    episode: Int64[np.ndarray, " pictures"]
    """The dataset's own number of the episode."""
    frame: Int64[np.ndarray, " pictures"]
    """Place within the episode."""
    time_s: Float64[np.ndarray, " pictures"]
    """Time within the episode."""
    last: Int64[np.ndarray, " pictures"]
    """Place of the episode's last frame."""

    def __len__(self) -> int:
        return len(self.row)

    def address(self, place: int) -> str:
        """Return where one of the frames is, for messages."""
        return f"episode {self.episode[place]}, frame {self.frame[place]}"


@runtime_checkable
class Camera(Protocol):
    """The pictures of one camera."""

    @property
    def name(self) -> str: ...

    def read(self, wanted: Wanted) -> Pictures:
        """Return the pictures of some frames as RGB, in order; nothing else is decoded.

        Raises:
            DataError: A picture is missing or cannot be decoded.
        """
        ...

    def stored(self, wanted: Wanted) -> Iterator[bytes]:
        """Yield what is stored of the frames of one episode, in order; nothing is decoded.

        Raises:
            DataError: A file is missing or damaged.
        """
        ...


def stack_pictures(pictures: Sequence[UInt8[np.ndarray, "height width 3"]], name: str) -> Pictures:
    """Return the pictures of the camera `name` as one array.

    Raises:
        DataError: They differ in size.
    """
    sizes = {picture.shape[:2] for picture in pictures}
    if len(sizes) > 1:
        found = ", ".join(f"{width} x {height}" for height, width in sorted(sizes))
        raise DataError(
            f"the pictures of {name} are of different sizes: {found}",
            hint="Ask for episodes of one size, or convert the videos to one.",
        )
    return np.stack(pictures)


def decode_picture(data: bytes, address: str) -> UInt8[np.ndarray, "height width 3"]:
    """Return a JPEG, PNG or TIFF picture as RGB.

    Raises:
        DataError: It is no whole picture.
    """
    try:
        with Image.open(io.BytesIO(data)) as picture:
            return np.asarray(picture.convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(
            f"{address} ({len(data):,} bytes) is no whole picture: {error}",
            hint="Copy the file again.",
        ) from error
