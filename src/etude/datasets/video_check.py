"""Whether videos and table agree, frame for frame, without decoding a picture."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from jaxtyping import Float64, Int64

from etude.core.errors import DataError, MissingToolError
from etude.core.protocols import Dataset
from etude.datasets.faults import COPY_HINT, Fault, faults_error
from etude.datasets.mixture import MixedDataset
from etude.datasets.pictures import Camera
from etude.datasets.recorded import RecordedDataset, Recording
from etude.datasets.video_camera import VideoCamera
from etude.datasets.video_file import TOLERANCE_S, VideoFile

_FPS_TOLERANCE = 0.01
"""Share by which the frame rate of a video may differ from that of the table."""


def require_pictures(dataset: Dataset, cameras: Sequence[str]) -> list[str]:
    """Check before a run that every frame has its picture; return which are made up for.

    A video that says that it holds as many frames as the table, at the same rate, is believed:
    `etude data check` looks at every one of them.

    Raises:
        DataError: A picture is missing, or a video is missing or damaged; it tells all of them. Or
            a camera is none of the dataset's.
    """
    parts = dataset.parts if isinstance(dataset, MixedDataset) else (dataset,)
    told: list[str] = []
    for part in parts:
        if not isinstance(part, RecordedDataset):
            continue
        faults = [fault for name in cameras for fault in _doubtful(part, part.camera(name))]
        if any(fault.severity == "error" for fault in faults):
            raise faults_error(f"{part.spec.repo_id} in {part.recording.folder}", faults)
        told += [fault.message for fault in faults]
    return told


def video_faults(recording: Recording, cameras: Iterable[str] | None = None) -> Iterator[Fault]:
    """Yield what is wrong with the videos of some cameras, of all if none are named."""
    for name in recording.cameras if cameras is None else cameras:
        camera = recording.cameras.get(name)
        if isinstance(camera, VideoCamera):
            for file in range(len(camera.places.files)):
                yield from _file_faults(recording, camera, file)


def _doubtful(dataset: RecordedDataset, camera: Camera) -> Iterator[Fault]:
    """Yield what is wrong with the videos of usable episodes that do not say that all is well."""
    if not isinstance(camera, VideoCamera):
        return
    recording = dataset.recording
    usable = set(dataset.rows.tolist())
    for file in np.unique(camera.places.file[dataset.rows]).tolist():
        frames = int(recording.episodes.length[camera.places.file == file].sum())
        if not _says_to_hold(camera.path(file), frames, recording.fps):
            faults = _file_faults(recording, camera, file)
            yield from (fault for fault in faults if fault.row is None or fault.row in usable)


def _says_to_hold(path: Path, frames: int, fps: float) -> bool:
    try:
        with closing(VideoFile(path)) as video:
            return video.frames >= frames and abs(video.fps / fps - 1) <= _FPS_TOLERANCE
    except (DataError, MissingToolError):
        # The closer look says what is wrong.
        return False


def _file_faults(recording: Recording, camera: VideoCamera, file: int) -> Iterator[Fault]:
    path, address = camera.path(file), camera.places.files[file]
    try:
        with closing(VideoFile(path)) as video:
            stored_s = video.times()
    except (DataError, MissingToolError) as error:
        kind = "codec-unknown" if isinstance(error, MissingToolError) else "video-unreadable"
        yield Fault(id=kind, address=address, message=str(error), fix=error.hint or COPY_HINT)
        return
    shown_s = np.sort(stored_s[np.isfinite(stored_s)])
    if len(shown_s) > 1:
        fps = 1 / float(np.median(np.diff(shown_s)))
        if abs(fps / recording.fps - 1) > _FPS_TOLERANCE:
            # Every frame would be named as missing; the one cause is enough.
            yield Fault(
                id="video-fps",
                address=address,
                message=f"{path} has {fps:.4g} frames a second, info.json says {recording.fps:g}",
                fix="Record the video again at the dataset's rate, or correct fps in info.json.",
            )
            return
    for row in np.flatnonzero(camera.places.file == file).tolist():
        yield from _episode_faults(recording, camera, row, shown_s)


def _episode_faults(
    recording: Recording, camera: VideoCamera, row: int, shown_s: Float64[np.ndarray, " shown"]
) -> Iterator[Fault]:
    table = recording.episodes
    start, stop = int(table.start[row]), min(int(table.stop[row]), len(recording.frames))
    if not 0 <= start < stop:
        return
    times_s = camera.places.start_s[row] + recording.times_s(np.arange(start, stop), start)
    lost = _lost(times_s, shown_s)
    last_only = lost.tolist() == [stop - start - 1] and stop - start > 1
    if not len(lost):
        return
    number = int(table.index[row])
    file = camera.places.files[int(camera.places.file[row])]
    fix = "Copy the video again, or record the episode again."
    if last_only:
        fix = "Let the frame before be shown twice with --dataset.video_tolerance_frames 1."
    yield Fault(
        id="picture-missing",
        address=f"episode {number}, {camera.name}",
        message=f"episode {number}, {camera.name}: {stop - start} rows, but "
        f"{stop - start - len(lost)} of their pictures in {file}; "
        f"the first one missing is of frame {lost[0]} at {times_s[lost[0]]:.4f} s",
        fix=fix,
        severity="warning" if last_only and camera.tolerance_frames else "error",
        row=row,
    )


def _lost(
    wanted_s: Float64[np.ndarray, " wanted"], shown_s: Float64[np.ndarray, " shown"]
) -> Int64[np.ndarray, " lost"]:
    """Return the places of wanted times at which nothing is shown."""
    if not len(shown_s):
        return np.arange(len(wanted_s))
    after = np.searchsorted(shown_s, wanted_s).clip(max=len(shown_s) - 1)
    before = (after - 1).clip(min=0)
    distance = np.minimum(abs(shown_s[after] - wanted_s), abs(shown_s[before] - wanted_s))
    return np.flatnonzero(distance > TOLERANCE_S)
