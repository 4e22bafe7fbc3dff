"""The pictures of a camera whose episodes are recorded as video."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float64, Int64

from etude.core.errors import DataError
from etude.datasets.episode_table import VideoPlaces
from etude.datasets.open_files import OpenFiles
from etude.datasets.pictures import Pictures, Wanted, stack_pictures
from etude.datasets.video_file import Picture, VideoFile


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VideoCamera:
    """One camera of a LeRobot dataset: frames by `from_timestamp + timestamp`."""

    name: str
    folder: Path
    places: VideoPlaces
    fps: float
    videos: OpenFiles[VideoFile]
    tolerance_frames: int
    """1 if the last frame of an episode may be missing and the one before it is taken instead."""

    def read(self, wanted: Wanted) -> Pictures:
        """Return the pictures of some frames as RGB, in order, each file in one pass.

        Raises:
            DataError: A file is missing or damaged, or has no frame at a wanted time.
            MissingToolError: FFmpeg has no decoder for a file.
        """
        times_s = self.times_s(wanted)
        file = self.places.file[wanted.row]
        order = np.lexsort((times_s, file))
        found: dict[int, Picture] = {}
        parts = np.split(order, np.flatnonzero(np.diff(file[order])) + 1)
        # What is open comes first: otherwise the next file could close it just before its turn.
        held = {place: self.videos.holds(self.path(place)) for place in np.unique(file).tolist()}
        for part in sorted(parts, key=lambda part: not held[int(file[part[0]])]):
            found |= self._read_file(int(file[part[0]]), part, times_s[part], wanted)
        return stack_pictures([found[place] for place in range(len(wanted))], self.name)

    def stored(self, wanted: Wanted) -> Iterator[bytes]:
        """Yield the packets of the frames of one episode.

        Raises:
            DataError: The file is missing or damaged.
        """
        times_s = self.times_s(wanted)
        path = self.path(int(self.places.file[wanted.row[0]]))
        with self.videos.lend(path) as video:
            yield from video.stored(float(times_s[0]), float(times_s[-1]) + 0.5 / self.fps)

    def path(self, file: int) -> Path:
        """Return where a file of the camera lies."""
        return self.folder / self.places.files[file]

    def times_s(self, wanted: Wanted) -> Float64[np.ndarray, " pictures"]:
        """Return when each frame is shown in its file."""
        return self.places.start_s[wanted.row] + wanted.time_s

    def _read_file(
        self,
        file: int,
        places: Int64[np.ndarray, " part"],
        times_s: Float64[np.ndarray, " part"],
        wanted: Wanted,
    ) -> dict[int, Picture]:
        """Return the pictures at ascending times of one file, by place in `wanted`."""
        path = self.path(file)
        seen = self._pictures(path, times_s.tolist())
        found = {int(places[part]): picture for part, picture in seen.items()}
        lost = [part for part in range(len(places)) if part not in seen]
        if not lost:
            return found
        beyond = [part for part in lost if not self._may_reuse(wanted, int(places[part]))]
        if beyond:
            raise self._missing(path, wanted, places[beyond], times_s[beyond])
        earlier = self._pictures(path, [times_s[part] - 1 / self.fps for part in lost])
        for place, part in enumerate(lost):
            if place not in earlier:
                raise self._missing(path, wanted, places[[part]], times_s[[part]])
            found[int(places[part])] = earlier[place]
        return found

    def _pictures(self, path: Path, times_s: Sequence[float]) -> dict[int, Picture]:
        with self.videos.lend(path) as video:
            return video.read(times_s)

    def _may_reuse(self, wanted: Wanted, place: int) -> bool:
        frame, last = int(wanted.frame[place]), int(wanted.last[place])
        return self.tolerance_frames > 0 and frame == last > 0

    def _missing(
        self, path: Path, wanted: Wanted, places: Sequence[int] | np.ndarray, times_s: np.ndarray
    ) -> DataError:
        first = int(places[0])
        more = f", nor {len(places) - 1} more of those asked for" if len(places) > 1 else ""
        return DataError(
            f"{path}: {wanted.address(first)} of {self.name} has no picture at "
            f"{times_s[0]:.4f} s{more}",
            hint="Find all of them with `etude data check`; one missing at the end of an episode "
            "is made up for by --dataset.video_tolerance_frames 1.",
        )
