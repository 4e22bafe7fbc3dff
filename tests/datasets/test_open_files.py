import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from etude.core.errors import MissingToolError
from etude.datasets.open_files import OpenFiles
from etude.datasets.video_file import VideoFile
from filmed_dataset import grey, write_video

LOSSY = 4


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("films")
    paths = [folder / f"{number}.mp4" for number in range(4)]
    for number, path in enumerate(paths):
        shown = [(frame, grey(number, frame)) for frame in range(6)]
        write_video(path, shown, codec="libx264", options={"g": "3"}, fps=10)
    return paths


def greys(videos: OpenFiles[VideoFile], path: Path, frames: list[int]) -> dict[int, float]:
    with videos.lend(path) as video:
        found = video.read([frame / 10 for frame in frames])
    return {place: float(np.mean(picture)) for place, picture in found.items()}


def test_only_so_many_files_are_open_and_the_latest_stay(films: list[Path]):
    videos = OpenFiles(VideoFile, limit=2)
    for place in (0, 1, 0, 2, 0, 1):
        greys(videos, films[place], [0])

    # 0 and 1 were opened, 2 took the place of 1, and 1 came back.
    assert videos.opened == 4


def test_a_time_at_which_nothing_is_shown_has_no_picture(films: list[Path]):
    found = VideoFile(films[0]).read([0.1, 0.25, 0.5, 0.9])

    assert sorted(found) == [0, 2]


def test_a_forked_process_opens_files_of_its_own(films: list[Path]):
    videos = OpenFiles(VideoFile)
    greys(videos, films[0], [0])
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def look() -> None:
        answers.put((videos.opened, greys(videos, films[0], [4]), videos.opened))

    child = context.Process(target=look)
    child.start()
    inherited, seen, opened = answers.get()
    child.join()

    assert (inherited, opened) == (1, 1)
    assert seen == {0: pytest.approx(grey(0, 4), abs=LOSSY)}
    assert greys(videos, films[0], [1])[0] == pytest.approx(grey(0, 1), abs=LOSSY)


def test_no_open_file_travels_to_another_process(films: list[Path]):
    videos = OpenFiles(VideoFile, limit=3)
    greys(videos, films[0], [0])

    twin = pickle.loads(pickle.dumps(videos))

    assert twin.opened == 0
    assert greys(twin, films[1], [2])[0] == pytest.approx(grey(1, 2), abs=LOSSY)


def test_threads_may_share_them(films: list[Path]):
    videos = OpenFiles(VideoFile, limit=2)
    jobs = [(n % 4, n % 6) for n in range(60)]

    def look(job: tuple[int, int]) -> float:
        return greys(videos, films[job[0]], [job[1]])[0]

    with ThreadPoolExecutor(4) as threads:
        seen = list(threads.map(look, jobs))

    assert seen == pytest.approx([grey(*job) for job in jobs], abs=LOSSY)


def test_a_codec_without_a_decoder_says_which_package_helps(films: list[Path], tmp_path: Path):
    strange = tmp_path / "strange.mp4"
    strange.write_bytes(films[0].read_bytes().replace(b"avc1", b"zzzz"))

    with pytest.raises(MissingToolError, match="cannot decode") as caught:
        VideoFile(strange)

    assert "pip install --upgrade av" in caught.value.hint
