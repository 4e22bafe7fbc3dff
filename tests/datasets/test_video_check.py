from pathlib import Path

import pytest

from etude.core.errors import DataError
from etude.datasets.mixture import open_dataset as open_mixture
from etude.datasets.mixture_config import MixtureConfig
from etude.datasets.video_check import require_pictures
from filmed_dataset import CAMERA, VIDEO, write_filmed
from tiny_dataset import change_info, read


def test_whole_videos_need_no_word(tmp_path: Path):
    dataset = read(write_filmed(tmp_path / "set", [5, 4]))

    assert require_pictures(dataset, (CAMERA,)) == []


def test_a_video_that_is_a_frame_short_stops_a_run_before_it_begins(tmp_path: Path):
    folder = write_filmed(tmp_path / "set", [10, 4], without=[(0, 9)])

    with pytest.raises(DataError) as caught:
        require_pictures(read(folder), (CAMERA,))

    assert str(caught.value) == (
        f"me/tiny in {folder}: episode 0, {CAMERA}: 10 rows, but 9 of their pictures in {VIDEO}; "
        "the first one missing is of frame 9 at 0.9000 s"
    )
    assert caught.value.hint == (
        "Let the frame before be shown twice with --dataset.video_tolerance_frames 1."
    )


def test_a_last_frame_that_is_made_up_for_is_told(tmp_path: Path):
    folder = write_filmed(tmp_path / "set", [10, 4], without=[(0, 9)])

    [told] = require_pictures(read(folder, video_tolerance_frames=1), (CAMERA,))

    assert told.startswith(f"episode 0, {CAMERA}: 10 rows, but 9 of their pictures")


def test_two_missing_frames_are_not_made_up_for(tmp_path: Path):
    folder = write_filmed(tmp_path / "set", [10], without=[(0, 8), (0, 9)])

    with pytest.raises(DataError, match="10 rows, but 8 of their pictures"):
        require_pictures(read(folder, video_tolerance_frames=1), (CAMERA,))


def test_every_file_that_is_missing_or_of_another_rate_is_told(tmp_path: Path):
    folder = write_filmed(tmp_path / "set", [5])
    dataset = read(folder)
    (folder / VIDEO).unlink()

    with pytest.raises(DataError, match=f"{VIDEO} is not there"):
        require_pictures(dataset, (CAMERA,))

    folder = write_filmed(tmp_path / "other", [5])
    change_info(folder, fps=20)
    with pytest.raises(DataError, match="has 10 frames a second, info"):
        require_pictures(read(folder), (CAMERA,))


def test_all_datasets_of_a_mixture_are_looked_at(tmp_path: Path):
    write_filmed(tmp_path / "one", [5])
    write_filmed(tmp_path / "two", [5], without=[(0, 2)])
    roots = (str(tmp_path / "one"), str(tmp_path / "two"))

    with pytest.raises(DataError, match=f"two in {tmp_path / 'two'}: episode 0, {CAMERA}: 5 rows"):
        require_pictures(open_mixture(MixtureConfig(roots=roots)), (CAMERA,))


def test_a_camera_that_is_not_there_is_refused(tmp_path: Path):
    dataset = read(write_filmed(tmp_path / "set", [5]))

    with pytest.raises(DataError, match=f"camera wrist is none of me/tiny, which has {CAMERA}"):
        require_pictures(dataset, ("wrist",))
