import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from etude.core.errors import DataError
from etude.core.types import WindowSpec
from etude.datasets.recorded import RecordedDataset
from filmed_dataset import CAMERA, VIDEO, grey, write_filmed
from tiny_dataset import read

LENGTHS = [12, 5, 9, 20]
CODECS = {
    "h264 with frames out of order": ("libx264", {"bf": "3", "g": "12"}),
    "h264 of one key frame": ("libx264", {"g": "1000"}),
    "av1": ("libsvtav1", {"g": "2", "preset": "12"}),
    "vp9": ("libvpx-vp9", {"g": "8", "deadline": "realtime"}),
}
H265 = Path(__file__).parents[1] / "data/h265.mp4"
"""The same pictures, encoded once: the encoder that PyAV brings corrupts memory now and then."""
LOSSY = 4


@pytest.fixture(scope="module", params=[*CODECS, "h265"])
def filmed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("filmed") / "set"
    if request.param in CODECS:
        codec, options = CODECS[request.param]
        return read(write_filmed(folder, LENGTHS, codec=codec, options=options))
    write_filmed(folder, LENGTHS)
    shutil.copy(H265, folder / VIDEO)
    return read(folder)


def greys(dataset: RecordedDataset, rows: list[int]) -> list[float]:
    spec = WindowSpec(action_offsets=(0,), cameras=(CAMERA,))
    pictures = dataset.windows(np.array(rows, np.int64), spec).images[CAMERA]
    return pictures[:, 0].mean(axis=(1, 2, 3)).tolist()


def painted(rows: list[int]) -> list[int]:
    every = [grey(episode, f) for episode, length in enumerate(LENGTHS) for f in range(length)]
    return [every[row] for row in rows]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(rows=st.lists(st.integers(0, sum(LENGTHS) - 1), min_size=1, max_size=12))
def test_any_frames_in_any_order_are_the_right_ones(filmed: RecordedDataset, rows: list[int]):
    assert greys(filmed, rows) == pytest.approx(painted(rows), abs=LOSSY)


def test_a_file_is_opened_once_whatever_is_asked_for(tmp_path: Path):
    dataset = read(write_filmed(tmp_path / "set", LENGTHS))

    for row in range(40):
        greys(dataset, [row * 7 % 46])

    assert dataset.recording.cameras[CAMERA].videos.opened == 1


def test_a_missing_video_is_named(tmp_path: Path):
    folder = write_filmed(tmp_path / "set", [4])
    (folder / VIDEO).unlink()

    dataset = read(folder)

    with pytest.raises(DataError, match=f"{CAMERA}/chunk-000/file-000.mp4 is not there"):
        greys(dataset, [0])


def test_a_picture_that_is_missing_at_the_end_is_named_or_made_up_for(tmp_path: Path):
    folder = write_filmed(tmp_path / "set", [10, 5], without=[(0, 9)])

    with pytest.raises(DataError) as caught:
        greys(read(folder), [8, 9, 10])
    tolerant = read(folder, video_tolerance_frames=1)

    assert str(caught.value) == (
        f"{folder / VIDEO}: episode 0, frame 9 of {CAMERA} has no picture at 0.9000 s"
    )
    assert greys(tolerant, [7, 8, 9, 10]) == pytest.approx(
        [grey(0, 7), grey(0, 8), grey(0, 8), grey(1, 0)], abs=LOSSY
    )


@pytest.mark.parametrize("without", [[(0, 8), (0, 9)], [(0, 4)], [(0, 0)]])
def test_more_than_the_last_picture_is_never_made_up_for(
    tmp_path: Path, without: list[tuple[int, int]]
):
    folder = write_filmed(tmp_path / "set", [10, 5], without=without)

    with pytest.raises(DataError, match=f"episode 0, frame {without[0][1]} of"):
        greys(read(folder, video_tolerance_frames=1), list(range(15)))


def test_a_video_cut_short_is_named(tmp_path: Path):
    folder = write_filmed(tmp_path / "set", [60], options={"g": "2"})
    whole = (folder / VIDEO).read_bytes()
    (folder / VIDEO).write_bytes(whole[:400])

    with pytest.raises(DataError, match=r"file-000\.mp4 \(400 bytes\) is not a whole video"):
        greys(read(folder), [0])


def test_pictures_have_an_identity_that_does_not_depend_on_where_they_are(tmp_path: Path):
    options = {"g": "1"}
    dataset = read(write_filmed(tmp_path / "set", [4, 3, 4], options=options))
    other = read(write_filmed(tmp_path / "other", [4, 3, 4], options=options))
    changed = read(
        write_filmed(tmp_path / "changed", [4, 3, 4], options=options, swapped=((1, 0), (1, 1)))
    )

    def keys(found: RecordedDataset) -> list[str]:
        return [found.identity(span, cameras=(CAMERA,)) for span in found.episodes]

    assert keys(dataset) == keys(other)
    assert [a == b for a, b in zip(keys(dataset), keys(changed), strict=True)] == [
        True,
        False,
        True,
    ]
    assert dataset.identity(dataset.episodes[1]) == changed.identity(changed.episodes[1])
