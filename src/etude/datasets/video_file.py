"""An open video: frames by time, by seeking to a key frame and decoding forward."""

import bisect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import av
import av.error
import numpy as np
from av.container import InputContainer
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream
from jaxtyping import Float64, UInt8

from etude.core.errors import DataError, MissingToolError
from etude.datasets.parquet_files import require_there

Picture = UInt8[np.ndarray, "height width 3"]

if TYPE_CHECKING:
    VideoPacket = Packet[VideoStream]
else:
    # PyAV's own class takes no argument while it runs.
    VideoPacket = Packet

TOLERANCE_S = 1e-4
"""How far a frame may be from the time at which it is expected. LeRobot's own default."""
_FRAMES_HELD = 12
"""Decoded frames that a decoder keeps to refer to, or to use their memory again."""
_OVERHEAD_BYTES = 1 << 20
FORWARD_FRAMES = 4
"""Frames that are decoded on the way before seeking is the cheaper way to get ahead."""


class VideoFile:
    """One open video."""

    def __init__(self, path: Path) -> None:
        """Open the file; `fps` is its mean rate, `size` its height and width in pixels.

        `frames` is how many it says that it holds; 0 where it does not say it.

        Raises:
            DataError: It is missing or torn, or holds no video.
            MissingToolError: FFmpeg has no decoder for it.
        """
        require_there(path)
        self._path = path
        self._container, self._stream = _open(path)
        # More threads would keep frames back, and seldom help with the few that are wanted.
        self._stream.thread_count = 1
        entries = self._stream.index_entries
        self._unit_s = float(self._stream.time_base or 0)
        self._keys = [entry.timestamp * self._unit_s for entry in entries if entry.is_keyframe]
        self._format = VideoReformatter()
        self._frames: Iterator[VideoFrame] = iter(())
        self._at: VideoFrame | None = None
        rate = self._stream.average_rate
        self.fps = float(rate) if rate else 0.0
        self.frames = self._stream.frames
        self.size = (self._stream.height, self._stream.width)
        self.held_bytes = _OVERHEAD_BYTES + _FRAMES_HELD * 3 * self.size[0] * self.size[1] // 2

    def read(self, times_s: Sequence[float]) -> dict[int, Picture]:
        """Return the pictures at ascending times, by place; those that there are none for lack.

        Raises:
            DataError: The file is damaged.
        """
        found: dict[int, Picture] = {}
        try:
            for place, time_s in enumerate(times_s):
                frame = self._find(time_s)
                if frame is not None:
                    # Threads cost more than a picture of a robot's camera, and no fork may
                    # meet any.
                    rgb = self._format.reformat(frame, format="rgb24", threads=1)
                    found[place] = rgb.to_ndarray()
        except av.error.FFmpegError as error:
            self._at, self._frames = None, iter(())
            raise self._damaged(error) from error
        return found

    def stored(self, start_s: float, stop_s: float) -> Iterator[bytes]:
        """Yield the packets that decide what is shown from `start_s` on and before `stop_s`.

        Each begins with its time after `start_s`, so that it does not matter where they are in a
        file.

        Raises:
            DataError: The file is damaged.
        """
        self._at, self._frames = None, iter(())
        try:
            for packet in self._packets_from(start_s):
                if packet.pts is None or packet.dts is None:
                    continue
                if packet.dts * self._unit_s > stop_s:
                    return
                if packet.pts * self._unit_s < stop_s - TOLERANCE_S:
                    shown_us = round((packet.pts * self._unit_s - start_s) * 1e6)
                    yield shown_us.to_bytes(8, "little", signed=True) + bytes(packet)
        except av.error.FFmpegError as error:
            raise self._damaged(error) from error

    def times(self) -> Float64[np.ndarray, " frames"]:
        """Return when each frame is shown, in the order of storage; nothing is decoded.

        Raises:
            DataError: The file is damaged.
        """
        self._at, self._frames = None, iter(())
        try:
            self._container.seek(0, stream=self._stream)
            stamps = [packet.pts for packet in self._container.demux(self._stream) if packet.size]
        except av.error.FFmpegError as error:
            raise self._damaged(error) from error
        return np.array([np.nan if s is None else s * self._unit_s for s in stamps], np.float64)

    def close(self) -> None:
        """Give the decoder and the file back."""
        self._at, self._frames = None, iter(())
        self._container.close()

    def _damaged(self, error: av.error.FFmpegError) -> DataError:
        return DataError(f"{self._path} is damaged: {error.strerror}", hint="Copy the file again.")

    def _packets_from(self, time_s: float) -> Iterator[VideoPacket]:
        """Yield packets from the key frame on that is shown at or before a time."""
        back_s = 0.0
        while True:
            target_s = max(0.0, time_s + TOLERANCE_S - back_s)
            self._container.seek(int(target_s / self._unit_s), stream=self._stream)
            packets = self._container.demux(self._stream)
            first = next(packets, None)
            if first is None:
                return
            shown_s = (first.pts or 0) * self._unit_s
            if shown_s <= time_s + TOLERANCE_S or target_s == 0.0:
                yield first
                yield from packets
                return
            back_s = 2 * back_s + 1.0

    def _find(self, time_s: float) -> VideoFrame | None:
        """Return the frame at a time; None where the video has none there."""
        at = self._time(self._at)
        if at is None or time_s < at - TOLERANCE_S or self._seeking_pays(at, time_s):
            self._seek(time_s)
        elif time_s <= at + TOLERANCE_S:
            return self._at
        for frame in self._frames:
            self._at = frame
            at = self._time(frame)
            if at is not None and at >= time_s - TOLERANCE_S:
                return frame if at <= time_s + TOLERANCE_S else None
        self._at = None
        return None

    def _seeking_pays(self, at_s: float, time_s: float) -> bool:
        """Return whether a key frame far enough ahead of the decoder leads to the frame."""
        if time_s - at_s <= FORWARD_FRAMES / max(self.fps, 1.0):
            return False
        place = bisect.bisect_right(self._keys, time_s + TOLERANCE_S)
        return place > 0 and self._keys[place - 1] > at_s + TOLERANCE_S

    def _seek(self, time_s: float) -> None:
        """Go to a key frame at or before a time.

        Files are searched by decoding time. Where frames are stored out of order, the key frame
        found may be shown after the wanted time; then an earlier one is taken.
        """
        back_s = 0.0
        while True:
            target_s = max(0.0, time_s + TOLERANCE_S - back_s)
            self._container.seek(int(target_s / self._unit_s), stream=self._stream)
            self._frames = self._container.decode(self._stream)
            first = next(self._frames, None)
            at = self._time(first)
            self._at = first
            if at is None or at <= time_s + TOLERANCE_S or target_s == 0.0:
                self._frames = _with_first(first, self._frames)
                return
            back_s = 2 * back_s + 1.0

    def _time(self, frame: VideoFrame | None) -> float | None:
        return None if frame is None or frame.pts is None else frame.pts * self._unit_s


def _open(path: Path) -> tuple[InputContainer, VideoStream]:
    try:
        container = av.open(str(path))
    except (av.error.FFmpegError, OSError) as error:
        raise DataError(
            f"{path} ({path.stat().st_size:,} bytes) is not a whole video: {error.strerror}",
            hint="Copy the file again.",
        ) from error
    stream = next(iter(container.streams.video), None)
    if stream is None:
        container.close()
        raise DataError(f"{path} holds no video", hint="Copy the file again.")
    # Without a decoder there is no context, whatever the stubs say.
    if getattr(stream, "codec_context", None) is None:
        container.close()
        raise MissingToolError(
            f"{path} is in a codec that FFmpeg {av.ffmpeg_version_info} of PyAV {av.__version__} "
            "cannot decode",
            hint="Install the newest PyAV, pip install --upgrade av, or convert the video to AV1.",
        )
    return container, stream


def _with_first(first: VideoFrame | None, rest: Iterator[VideoFrame]) -> Iterator[VideoFrame]:
    if first is not None:
        yield first
        yield from rest
