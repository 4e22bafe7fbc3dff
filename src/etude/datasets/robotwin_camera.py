"""The pictures of a camera in HDF5 files of RoboTwin."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportIndexIssue=false

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from etude.core.errors import DataError
from etude.datasets.open_files import OpenFiles
from etude.datasets.pictures import Pictures, Wanted, decode_picture, stack_pictures
from etude.datasets.robotwin_files import EpisodeFile, hdf5_errors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoboTwinCamera:
    """One camera: JPEG pictures, each padded with NUL to the length of the longest.

    RoboTwin hands its pictures, which are RGB, to an encoder that takes them for BGR. Whoever
    decodes with the same library gets RGB back; everybody else finds red and blue exchanged.
    """

    name: str
    folder: Path
    files: tuple[str, ...]
    """Of the episodes, by row of the episode table, relative to the dataset."""
    keys: tuple[str, ...]
    """Where the pictures are in each file; empty where this camera is missing."""
    opened: OpenFiles[EpisodeFile]

    def read(self, wanted: Wanted) -> Pictures:
        """Return the pictures of some frames as RGB, in order.

        Raises:
            DataError: A file is missing or torn, lacks the camera, or holds no picture.
        """
        found: dict[int, np.ndarray] = {}
        for place in np.lexsort((wanted.frame, wanted.row)).tolist():
            address = f"{self._path(wanted, place)}: {wanted.address(place)} of {self.name}"
            found[place] = decode_picture(self._encoded(wanted, place), address)[..., ::-1]
        return stack_pictures([found[place] for place in range(len(wanted))], self.name)

    def stored(self, wanted: Wanted) -> Iterator[bytes]:
        """Yield the encoded pictures of the frames of one episode.

        Raises:
            DataError: A file is missing or torn, or lacks the camera.
        """
        return (self._encoded(wanted, place) for place in range(len(wanted)))

    def _path(self, wanted: Wanted, place: int) -> Path:
        return self.folder / self.files[int(wanted.row[place])]

    def _encoded(self, wanted: Wanted, place: int) -> bytes:
        path, key = self._path(wanted, place), self.keys[int(wanted.row[place])]
        if not key:
            raise DataError(
                f"{path} has no camera {self.name}",
                hint="Ask for a camera that all episodes have, or collect the episode again.",
            )
        with hdf5_errors(path), self.opened.lend(path) as opened:
            pictures: Any = opened.file[key]
            if wanted.frame[place] >= len(pictures):
                raise DataError(
                    f"{path}: {wanted.address(place)} of {self.name} is missing: "
                    f"there are {len(pictures)}",
                    hint="Collect the episode again.",
                )
            value = pictures[int(wanted.frame[place])]
        # NUL pads each to the length of the longest; a picture never ends with it.
        data = value if isinstance(value, bytes) else np.asarray(value).tobytes()
        return data.rstrip(b"\0")
