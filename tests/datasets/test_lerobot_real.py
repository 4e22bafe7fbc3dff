"""Both versions of the same recording, by LeRobot itself, through one interface."""

import shutil
from pathlib import Path

import av
import numpy as np
import pytest

from etude.core.types import WindowSpec
from etude.datasets.formats import detect, open_dataset
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.recorded import RecordedDataset
from etude.datasets.video_camera import VideoCamera
from etude.testing.conformance import check_dataset

DATA = Path(__file__).parents[1] / "data"
HIGH, WRIST = "observation.images.cam_high", "observation.images.cam_left_wrist"
LENGTHS = [12, 7, 20, 3, 15, 9]
LOSSY = 6
"""How far a compressed value may be from what was painted."""


@pytest.fixture(scope="module", params=["lerobot_v30", "lerobot_v21"])
def real(request: pytest.FixtureRequest) -> RecordedDataset:
    dataset = open_dataset(LeRobotConfig(repo_id="me/cups", root=str(DATA / request.param)))
    assert isinstance(dataset, RecordedDataset)
    return dataset


def test_it_is_a_dataset(real: RecordedDataset):
    check_dataset(real)


def test_its_format_is_told_from_the_folder():
    assert detect(DATA / "lerobot_v30") == "lerobot_v3"
    assert detect(DATA / "lerobot_v21") == "lerobot_v21"


def test_rows_name_themselves(real: RecordedDataset):
    assert [span.length for span in real.episodes] == LENGTHS
    assert [span.start for span in real.episodes] == [0, 12, 19, 39, 42, 57]
    for span in real.episodes:
        columns = real.columns(span)
        expected = [100 * span.index + frame for frame in range(span.length)]
        assert columns.states[:, 0].tolist() == expected
        assert (columns.actions[:, 0] - 1).tolist() == expected
    assert real.spec.fps == 15
    assert real.spec.action_names[5:8] == ("left_joint_5", "left_gripper", "right_joint_0")


def test_padding_equals_what_lerobot_reads(real: RecordedDataset):
    batch = real.windows(np.array([17]), WindowSpec(action_offsets=(0, 1, 2, 3, 4)))

    assert batch.actions[0, :, 0].tolist() == [106, 107, 107, 107, 107]
    assert batch.actions_valid[0].tolist() == [True, True, False, False, False]
    assert real.spec.tasks[batch.tasks[0]].text == "把瓶子放进篮子"


def test_three_tasks_of_which_two_look_alike(real: RecordedDataset):
    assert [task.text for task in real.spec.tasks] == [
        "place the empty cup on the plate",
        "把瓶子放进篮子",
        "place the empty cup on the plate ",
    ]
    assert [span.task for span in real.episodes] == [f"cups/{n}" for n in (0, 1, 0, 2, 1, 2)]
    [warning] = real.warnings
    assert warning == (
        "tasks cups/0, cups/2 have texts that differ in spaces or case only: "
        "'place the empty cup on the plate', 'place the empty cup on the plate '; they stay apart"
    )


def test_every_frame_of_every_camera_shows_what_was_painted(real: RecordedDataset):
    rows = np.random.default_rng(0).permutation(66)
    batch = real.windows(rows, WindowSpec(action_offsets=(0,), cameras=(HIGH, WRIST)))

    high, wrist = batch.images[HIGH], batch.images[WRIST]
    assert high.shape == (66, 1, 64, 96, 3)
    assert wrist.shape == (66, 1, 64, 64, 3)
    episode, frame = np.divmod(batch.states[:, 0, 0].astype(int), 100)
    red = high[:, 0, 24:, 24:, 0].mean(axis=(1, 2))
    blue = high[:, 0, 2:14, 2:14, 2].mean(axis=(1, 2))
    grey = wrist[:, 0].mean(axis=(1, 2))
    assert np.abs(red - 40 * episode % 256).max() <= LOSSY
    # Every other frame is stored as a change of the one before, and small changes get lost.
    whole = frame % 2 == 0
    assert np.abs(blue - 10 * frame % 256)[whole].max() <= LOSSY
    assert np.abs(grey - 12 * frame[:, None] % 256).max() <= LOSSY


def test_pictures_are_those_of_a_video_that_is_played_from_its_beginning(real: RecordedDataset):
    camera = real.recording.cameras[WRIST]
    assert isinstance(camera, VideoCamera)
    played: list[np.ndarray] = []
    for file in camera.places.files:
        with av.open(str(real.recording.folder / file)) as video:
            played += [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]
    rows = np.random.default_rng(1).integers(0, 66, 200)

    found = real.windows(rows, WindowSpec(action_offsets=(0,), cameras=(WRIST,))).images[WRIST]

    assert (found[:, 0] == np.stack(played)[rows]).all()


def test_pictures_before_an_episode_repeat_its_first(real: RecordedDataset):
    spec = WindowSpec(action_offsets=(0,), observation_offsets=(-1, 0), cameras=(WRIST,))

    pictures = real.windows(np.array([12, 14]), spec).images[WRIST]

    assert pictures.shape == (2, 2, 64, 64, 3)
    assert (pictures[0, 0] == pictures[0, 1]).all()
    assert np.abs(pictures[1].mean(axis=(1, 2, 3)) - [12, 24]).max() <= LOSSY


def test_states_and_actions_need_no_video(real: RecordedDataset, tmp_path: Path):
    folder = tmp_path / "set"
    shutil.copytree(real.recording.folder, folder)
    shutil.rmtree(folder / "videos")

    without = open_dataset(LeRobotConfig(repo_id="me/cups", root=str(folder)))

    spec = WindowSpec(action_offsets=(0, 1))
    rows = np.arange(66)
    assert (without.windows(rows, spec).actions == real.windows(rows, spec).actions).all()
    assert [without.identity(e) for e in without.episodes] == [
        real.identity(e) for e in real.episodes
    ]
