"""How many pictures one core reads per second at random, and how much memory that takes.

Run `OMP_NUM_THREADS=1 python bench/video.py`. The real recording of tests/data, AV1 video of two
cameras, is enlarged to 1,000 episodes in a temporary folder. The other side opens the file, seeks
and decodes for every picture, as a reader that keeps nothing does.
"""

import json
import random
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from av.container import InputContainer, OutputContainer

from etude.core.types import WindowSpec
from etude.datasets.formats import open_dataset
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.recorded import RecordedDataset
from etude.datasets.video_camera import VideoCamera
from etude.datasets.writer import RecordedEpisode, write_dataset
from result import publish

SOURCE = Path(__file__).parents[1] / "tests/data/lerobot_v30"
LENGTHS, FPS = (12, 7, 20, 3, 15, 9), 15
EPISODES, REPEATS_IN_A_FILE = 1000, 10
BATCH, ROUNDS, BATCHES = 32, 5, 12
READS = 100_000
"""Pictures over which the memory is watched."""


def main() -> None:
    """Print one JSON object and keep it in bench/results."""
    with tempfile.TemporaryDirectory() as folder:
        root = enlarge(Path(folder) / "data")
        dataset = open_dataset(LeRobotConfig(repo_id="bench/video", root=str(root)))
        if not isinstance(dataset, RecordedDataset):
            raise TypeError(f"{root} was opened as {type(dataset).__name__}")
        figures = {**measure(dataset), **watch_memory(dataset)}
        files = len(list(root.glob("videos/*/*/*.mp4")))
    publish(
        "video",
        {
            "episodes": EPISODES,
            "cameras": len(dataset.spec.cameras),
            "files": files,
            "batch": BATCH,
            **figures,
        },
    )


def measure(dataset: RecordedDataset) -> dict[str, object]:
    """Compare batches of random windows of both cameras with single pictures, side by side."""
    spec = WindowSpec(action_offsets=(0,), cameras=dataset.spec.cameras)
    draw = np.random.default_rng(0)
    rows = dataset.episodes[-1].stop
    pictures = BATCH * len(spec.cameras)
    batch_s: list[float] = []
    alone_s: list[float] = []
    check(dataset, draw.integers(0, rows, BATCH), spec)
    for batches in draw.integers(0, rows, (ROUNDS, BATCHES, BATCH)):
        batch_s.append(timed(partial(read, dataset, batches, spec)) / BATCHES)
        alone_s.append(timed(partial(one_by_one, dataset, batches[0])))
    return {
        "pictures_per_s": round(pictures / median(batch_s)),
        "pictures_per_s_opened_each": round(pictures / median(alone_s)),
        "ratio": round(median(alone_s) / median(batch_s), 1),
        "opens": sum(camera.videos.opened for camera in video_cameras(dataset)[:1]),
    }


def read(dataset: RecordedDataset, batches: np.ndarray, spec: WindowSpec) -> None:
    """Read some batches of windows."""
    for rows in batches:
        dataset.windows(rows, spec)


def one_by_one(dataset: RecordedDataset, rows: np.ndarray) -> list[np.ndarray]:
    """Open, seek and decode for every single picture."""
    pictures: list[np.ndarray] = []
    for row in rows.tolist():
        episode = next(span for span in dataset.episodes if span.start <= row < span.stop)
        for camera in video_cameras(dataset):
            start_s = float(camera.places.start_s[episode.index])
            path = camera.path(int(camera.places.file[episode.index]))
            pictures.append(opened(path, start_s + (row - episode.start) / FPS))
    return pictures


def opened(path: Path, time_s: float) -> np.ndarray:
    """Return one picture of a file that is opened for it alone."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.thread_count = 1
        unit_s = float(stream.time_base or 0)
        container.seek(round(time_s / unit_s), stream=stream)
        for frame in container.decode(stream):
            if abs((frame.pts or 0) * unit_s - time_s) < 1e-4:
                # With one thread, as on the other side: only what is kept open is compared.
                return frame.reformat(format="rgb24", threads=1).to_ndarray()
    raise LookupError(f"{path} shows nothing at {time_s} s")


def check(dataset: RecordedDataset, rows: np.ndarray, spec: WindowSpec) -> None:
    """Make sure that both sides read the same pictures."""
    images = dataset.windows(rows, spec).images
    theirs = one_by_one(dataset, rows)
    for place, name in enumerate(spec.cameras):
        assert (images[name][:, 0] == np.stack(theirs[place :: len(spec.cameras)])).all()


def watch_memory(dataset: RecordedDataset) -> dict[str, object]:
    """Read many pictures and return how much memory the process has come to hold."""
    spec = WindowSpec(action_offsets=(0,), cameras=dataset.spec.cameras)
    rows = dataset.episodes[-1].stop
    draw = random.Random(1)
    before = resident_mb()
    for _ in range(READS // (BATCH * len(spec.cameras))):
        dataset.windows(np.array([draw.randrange(rows) for _ in range(BATCH)]), spec)
    return {
        "reads": READS,
        "memory_mb_before": before,
        "memory_mb_after": resident_mb(),
        "memory_mb_peak": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def resident_mb() -> int:
    """Return the memory that the process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return round(pages * resource.getpagesize() / 2**20)


def video_cameras(dataset: RecordedDataset) -> list[VideoCamera]:
    """Return the cameras of the dataset."""
    found = dataset.recording.cameras.values()
    return [camera for camera in found if isinstance(camera, VideoCamera)]


def timed(action: Callable[[], object]) -> float:
    """Return how many seconds `action` takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def enlarge(folder: Path) -> Path:
    """Write the real recording over and over: many episodes in each video file."""
    original = open_dataset(LeRobotConfig(repo_id="bench/source", root=str(SOURCE)))
    write_dataset(
        folder,
        fps=FPS,
        robot_type="real",
        tasks=original.spec.tasks,
        state_names=original.spec.action_names,
        action_names=original.spec.action_names,
        episodes=(
            RecordedEpisode(
                task_index=number % len(original.spec.tasks),
                states=original.columns(original.episodes[number % 6]).states,
                actions=original.columns(original.episodes[number % 6]).actions,
            )
            for number in range(EPISODES)
        ),
        extra_meta={},
    )
    described = json.loads((SOURCE / "meta/info.json").read_text(encoding="utf-8"))
    add_videos(folder, {n: described["features"][n] for n in original.spec.cameras})
    return folder


def add_videos(folder: Path, cameras: dict[str, object]) -> None:
    """Repeat the original videos in files of many episodes, and say where each episode is."""
    once = sum(LENGTHS)
    in_file = REPEATS_IN_A_FILE * len(LENGTHS)
    path = folder / "meta/episodes/chunk-000/file-000.parquet"
    table = pq.read_table(path)
    repeats, places = np.divmod(np.arange(EPISODES), len(LENGTHS))
    begins = once * (repeats % REPEATS_IN_A_FILE) + np.cumsum((0, *LENGTHS))[places]
    for name in cameras:
        first = folder / f"videos/{name}/chunk-000/file-000.mp4"
        repeat(SOURCE / f"videos/{name}/chunk-000/file-000.mp4", first, once=once)
        for number in range(1, -(-EPISODES // in_file)):
            shutil.copyfile(first, first.with_name(f"file-{number:03d}.mp4"))
        columns = {
            "chunk_index": np.zeros(EPISODES, np.int64),
            "file_index": np.arange(EPISODES) // in_file,
            "from_timestamp": begins / FPS,
            "to_timestamp": (begins + np.array(LENGTHS)[places]) / FPS,
        }
        for column, values in columns.items():
            table = table.append_column(f"videos/{name}/{column}", pa.array(values))
    pq.write_table(table, path)
    info = json.loads((folder / "meta/info.json").read_text(encoding="utf-8"))
    info["features"] |= cameras
    info["video_path"] = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
    (folder / "meta/info.json").write_text(json.dumps(info), encoding="utf-8")


def repeat(source: Path, target: Path, *, once: int) -> None:
    """Put the packets of a video behind each other some times, as they are."""
    target.parent.mkdir(parents=True)
    with av.open(str(target), "w") as out, av.open(str(source)) as probe:
        stream = out.add_stream_from_template(probe.streams.video[0], opaque=True)
        for number in range(REPEATS_IN_A_FILE):
            with av.open(str(source)) as container:
                copy_packets(container, out, stream.index, shift_s=number * once / FPS)


def copy_packets(
    container: InputContainer, out: OutputContainer, index: int, *, shift_s: float
) -> None:
    """Append the packets of one video, shown `shift_s` later."""
    for packet in container.demux(video=0):
        if packet.pts is None or packet.dts is None or packet.time_base is None:
            continue
        shift = round(shift_s / float(packet.time_base))
        packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
        packet.stream = out.streams[index]
        out.mux(packet)


if __name__ == "__main__":
    main()
