"""Videos for a tiny dataset: every frame is of one grey that says which frame it is."""

import json
from collections.abc import Collection
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tiny_dataset import EPISODES, change_info, write_tiny

CAMERA = "observation.images.top"
VIDEO = f"videos/{CAMERA}/chunk-000/file-000.mp4"
FPS = 10
_PATTERN = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"


def grey(episode: int, frame: int) -> int:
    return 40 + 50 * (episode % 4) + 7 * (frame % 6)


def write_filmed(
    folder: Path,
    lengths: list[int],
    *,
    codec: str = "libx264",
    options: dict[str, str] | None = None,
    without: Collection[tuple[int, int]] = (),
    swapped: tuple[tuple[int, int], tuple[int, int]] | None = None,
    fps: int = FPS,
) -> Path:
    """Write a tiny dataset with one video of all episodes; pictures `without` are left out."""
    places = dict(zip(swapped, reversed(swapped), strict=True)) if swapped else {}
    write_tiny(folder, lengths)
    stops = np.cumsum(lengths).tolist()
    starts_s = [(stop - length) / FPS for stop, length in zip(stops, lengths, strict=True)]
    shown = [
        (start + frame, grey(*places.get((episode, frame), (episode, frame))))
        for episode, (start, length) in enumerate(zip([0, *stops], lengths, strict=False))
        for frame in range(length)
        if (episode, frame) not in without
    ]
    write_video(folder / VIDEO, shown, codec=codec, options=options or {}, fps=fps)
    table = pq.read_table(folder / EPISODES)
    for name, values in {
        "chunk_index": pa.array([0] * len(lengths)),
        "file_index": pa.array([0] * len(lengths)),
        "from_timestamp": pa.array(starts_s),
        "to_timestamp": pa.array([stop / FPS for stop in stops]),
    }.items():
        table = table.append_column(f"videos/{CAMERA}/{name}", values)
    pq.write_table(table, folder / EPISODES)
    add_camera(folder)
    return folder


def add_camera(folder: Path, name: str = CAMERA, dtype: str = "video") -> None:
    info = json.loads((folder / "meta/info.json").read_text())
    features = {**info["features"], name: {"dtype": dtype, "shape": [32, 48, 3], "names": None}}
    change_info(folder, features=features, video_path=None if dtype == "image" else _PATTERN)


def write_video(
    path: Path, shown: list[tuple[int, int]], *, codec: str, options: dict[str, str], fps: int
) -> None:
    """Write frames of one grey each, given with their numbers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=fps, options=options)
        stream.width, stream.height, stream.pix_fmt = 48, 32, "yuv420p"
        stream.codec_context.time_base = Fraction(1, fps)
        for number, value in shown:
            picture = np.full((32, 48, 3), value, np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
