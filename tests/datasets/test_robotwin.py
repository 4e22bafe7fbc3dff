from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from etude.core.errors import DataError
from etude.core.types import WindowSpec
from etude.datasets.formats import detect
from etude.datasets.formats import open_dataset as open_any
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.recorded import RecordedDataset
from etude.datasets.robotwin import open_dataset
from etude.datasets.robotwin_config import RoboTwinConfig
from etude.testing.conformance import check_dataset
from robotwin_data import BLUE, GREEN, RED, write_new, write_old

Writer = Callable[..., Path]
LAYOUTS = pytest.mark.parametrize(
    ("write", "camera"),
    [(write_old, "head_camera"), (write_new, "cam_head")],
    ids=["older", "v1.0"],
)


def read(folder: Path, **settings: object) -> RecordedDataset:
    return open_dataset(RoboTwinConfig(repo_id="me/twin", root=str(folder), **settings))


@LAYOUTS
def test_the_action_of_a_frame_is_the_state_of_the_next(tmp_path: Path, write: Writer, camera: str):
    for episode, frames in enumerate([5, 4]):
        write(tmp_path / "lift_pot/aloha", episode, frames)

    dataset = read(tmp_path)

    check_dataset(dataset)
    assert [span.length for span in dataset.episodes] == [4, 3]
    assert dataset.columns(dataset.episodes[0]).states[:, 0].tolist() == [0, 1, 2, 3]
    assert dataset.columns(dataset.episodes[0]).actions[:, 0].tolist() == [1, 2, 3, 4]
    assert dataset.columns(dataset.episodes[1]).actions[:, 0].tolist() == [101, 102, 103]
    assert dataset.columns(dataset.episodes[0]).actions[:, 6].tolist() == [0, 1, 1, 1]
    assert dataset.spec.action_names[5:8] == ("left_joint_5", "left_gripper", "right_joint_0")
    assert dataset.spec.cameras == (camera,)
    assert [(t.id, t.name, t.text) for t in dataset.spec.tasks] == [
        ("twin/0", "lift_pot", "lift the pot")
    ]


@LAYOUTS
def test_colours_come_back_in_their_places(tmp_path: Path, write: Writer, camera: str):
    write(tmp_path / "lift_pot/aloha", 0, 6)

    batch = read(tmp_path).windows(
        np.array([4, 0, 4]), WindowSpec(action_offsets=(0,), cameras=(camera,))
    )

    seen = batch.images[camera][:, 0].mean(axis=(1, 2))
    assert seen[0] == pytest.approx([RED - 32, GREEN, BLUE], abs=3)
    assert seen[1] == pytest.approx([RED, GREEN, BLUE], abs=3)
    assert (seen[2] == seen[0]).all()


def test_many_tasks_in_one_folder_are_told_apart_by_name(tmp_path: Path):
    write_old(tmp_path / "open_laptop/demo_clean", 0, 3, text="open the laptop")
    write_old(tmp_path / "lift_pot/demo_clean", 0, 4)
    write_old(tmp_path / "lift_pot/demo_randomized", 0, 5)

    dataset = read(tmp_path)

    assert [(task.name, task.text) for task in dataset.spec.tasks] == [
        ("lift_pot", "lift the pot"),
        ("open_laptop", "open the laptop"),
    ]
    assert [(span.task, span.length) for span in dataset.episodes] == [
        ("twin/0", 3),
        ("twin/0", 4),
        ("twin/1", 2),
    ]


def test_episodes_stand_in_the_order_of_their_numbers(tmp_path: Path):
    for episode in (10, 2):
        write_old(tmp_path / "lift_pot/clean", episode, 3)

    first = read(tmp_path).episodes[0]

    assert read(tmp_path).columns(first).states[:, 0].tolist() == [200, 201]


def test_a_frame_rate_is_read_or_assumed_and_said(tmp_path: Path):
    write_new(tmp_path / "new/lift_pot/aloha", 0, 3)
    write_old(tmp_path / "old/lift_pot/clean", 0, 3)

    named, assumed = read(tmp_path / "new"), read(tmp_path / "old", fps=30.0)

    assert (named.spec.fps, named.warnings) == (25, [])
    assert assumed.spec.fps == 30
    assert assumed.warnings == [
        "no file names its frame rate; 30 frames a second are assumed (dataset.fps)"
    ]


def test_a_task_without_instructions_has_its_name_for_a_text(tmp_path: Path):
    path = write_old(tmp_path / "lift_pot/clean", 0, 3)
    (path.parent.parent / "instructions/episode0.json").unlink()

    assert read(tmp_path).spec.tasks[0].text == "lift pot"


def test_a_truncated_file_stops_or_leaves_its_episode_out(tmp_path: Path):
    write_old(tmp_path / "lift_pot/clean", 0, 4)
    torn = write_old(tmp_path / "lift_pot/clean", 1, 4)
    torn.write_bytes(torn.read_bytes()[:3000])

    with pytest.raises(DataError) as caught:
        read(tmp_path)
    tolerant = read(tmp_path, on_bad="skip")

    assert f"{torn} (3,000 bytes) is not a whole HDF5 file" in str(caught.value)
    assert "--dataset.on_bad skip" in caught.value.hint
    assert [span.index for span in tolerant.episodes] == [0]
    assert [skipped.index for skipped in tolerant.skipped] == [1]


def test_a_camera_that_one_episode_lacks_is_named_when_it_is_asked_for(tmp_path: Path):
    write_old(tmp_path / "lift_pot/clean", 0, 4)
    bare = write_old(tmp_path / "lift_pot/clean", 1, 4)
    with h5py.File(bare, "a") as file:
        del file["observation/head_camera"]

    dataset = read(tmp_path)
    spec = WindowSpec(action_offsets=(0,), cameras=("head_camera",))

    assert dataset.windows(np.array([0]), spec).images["head_camera"].shape == (1, 1, 24, 32, 3)
    with pytest.raises(DataError, match=r"episode1\.hdf5 has no camera head_camera"):
        dataset.windows(np.array([3]), spec)


def test_another_robot_among_the_episodes_is_named(tmp_path: Path):
    write_old(tmp_path / "lift_pot/clean", 0, 4)
    other = write_old(tmp_path / "lift_pot/franka", 1, 4)
    with h5py.File(other, "a") as file:
        del file["joint_action/left_arm"]
        file["joint_action/left_arm"] = np.zeros((4, 7))

    with pytest.raises(DataError, match="15 joint values of another robot, not the 14"):
        read(tmp_path)


def test_an_hdf5_file_of_something_else_is_refused(tmp_path: Path):
    path = tmp_path / "lift_pot/clean/data/episode0.hdf5"
    path.parent.mkdir(parents=True)
    with h5py.File(path, "w") as file:
        file["qpos"] = np.zeros((3, 14))

    with pytest.raises(DataError, match="holds qpos, neither joint_action nor state and action"):
        read(tmp_path)


def test_the_format_is_told_from_the_folder(tmp_path: Path):
    write_new(tmp_path / "lift_pot/aloha", 0, 4)

    assert detect(tmp_path) == "robotwin"
    assert len(open_any(LeRobotConfig(repo_id="me/twin", root=str(tmp_path))).episodes) == 1


def test_a_folder_of_no_known_format_is_refused(tmp_path: Path):
    with pytest.raises(DataError, match=r"holds neither meta/info\.json of LeRobot nor HDF5 files"):
        detect(tmp_path)
