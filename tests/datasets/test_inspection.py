import json
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from etude.datasets.faults import Fault
from etude.datasets.inspection import Inspection, inspect_dataset
from etude.datasets.lerobot_config import LeRobotConfig
from filmed_dataset import CAMERA, VIDEO, write_filmed
from robotwin_data import write_old
from tiny_dataset import DATA, EPISODES, TASKS, change, change_info, set_value, write_tiny

REAL = Path(__file__).parents[1] / "data"


def inspected(folder: Path) -> Inspection:
    return inspect_dataset(LeRobotConfig(repo_id="me/set", root=str(folder)))


def errors(folder: Path) -> list[Fault]:
    return [fault for fault in inspected(folder).faults if fault.severity == "error"]


@pytest.mark.parametrize("name", ["lerobot_v30", "lerobot_v21"])
def test_nothing_is_wrong_with_what_lerobot_wrote_but_texts_that_look_alike(name: str):
    found = inspected(REAL / name)

    assert [(fault.id, fault.severity) for fault in found.faults] == [("tasks-alike", "warning")]
    assert found.recording is not None


def delete_video(folder: Path) -> None:
    (folder / VIDEO).unlink()


def cut_video(folder: Path) -> None:
    (folder / VIDEO).write_bytes((folder / VIDEO).read_bytes()[:500])


def strange_codec(folder: Path) -> None:
    (folder / VIDEO).write_bytes((folder / VIDEO).read_bytes().replace(b"avc1", b"zzzz"))


def other_fps(folder: Path) -> None:
    change_info(folder, fps=20)


def swap_times(folder: Path) -> None:
    times = pq.read_table(folder / DATA)["timestamp"].to_pylist()
    times[2], times[3] = times[3], times[2]
    change(folder / DATA, timestamp=pa.array(times, pa.float32()))


def cut_data(folder: Path) -> None:
    (folder / DATA).write_bytes((folder / DATA).read_bytes()[:700])


def drop_an_episode(folder: Path) -> None:
    pq.write_table(pq.read_table(folder / EPISODES).slice(0, 1), folder / EPISODES)


def spoil_a_value(folder: Path) -> None:
    set_value(folder / DATA, "action", 7, 1, float("nan"))


def lose_the_tasks(folder: Path) -> None:
    (folder / TASKS).unlink()


def link_nowhere(folder: Path) -> None:
    (folder / DATA).unlink()
    (folder / DATA).symlink_to("gone.parquet")


def drop_the_actions(folder: Path) -> None:
    change(folder / DATA, action=None)


def drop_the_rate(folder: Path) -> None:
    change_info(folder, fps=None)


def cut_info(folder: Path) -> None:
    path = folder / "meta/info.json"
    path.write_bytes(path.read_bytes()[:40])


def name_a_task_twice(folder: Path) -> None:
    rows = pq.read_table(folder / TASKS)
    pq.write_table(pa.concat_tables([rows, rows]), folder / TASKS)


def begin_at_one(folder: Path) -> None:
    change(folder / DATA, frame_index=pa.array([0, 1, 2, 3, 4, 1, 2, 3, 4]))


def give_it_an_unknown_task(folder: Path) -> None:
    change(folder / DATA, task_index=pa.array([0] * 5 + [7] * 4))


def name_the_wrong_file(folder: Path) -> None:
    table = pq.read_table(folder / DATA)
    pq.write_table(table.slice(0, 5), folder / DATA)
    pq.write_table(table.slice(5), folder / "data/chunk-000/file-001.parquet")


@pytest.mark.parametrize(
    ("spoil", "kind", "address", "said"),
    [
        (lose_the_tasks, "unreadable", TASKS, "tasks.parquet is not there"),
        (link_nowhere, "unreadable", DATA, "is a link to gone.parquet, which is not there"),
        (drop_the_actions, "unreadable", DATA, "has no column action"),
        (drop_the_rate, "unreadable", "meta/info.json", "fps is None, not a number"),
        (cut_info, "unreadable", "meta/info.json", "meta/info.json"),
        (name_a_task_twice, "unreadable", TASKS, "task_index 0 stands there twice"),
        (begin_at_one, "frame-index", "episode 1", "episode 1, frame 0: frame_index is 1"),
        (give_it_an_unknown_task, "task-unlisted", "episode 1", "is of task 7"),
        (
            name_the_wrong_file,
            "episode-misplaced",
            "episode 1",
            "expected 4 rows, found 0; more in data/chunk-000/file-001.parquet",
        ),
        (delete_video, "video-unreadable", VIDEO, "is not there"),
        (cut_video, "video-unreadable", VIDEO, "is not a whole video"),
        (strange_codec, "codec-unknown", VIDEO, "cannot decode"),
        (other_fps, "video-fps", VIDEO, "has 10 frames a second, info.json says 20"),
        (
            swap_times,
            "timestamp-order",
            "episode 0",
            "episode 0, frame 3: timestamp is 0.2 s, not after 0.3 s of the frame before",
        ),
        (cut_data, "unreadable", DATA, "is not a whole Parquet file"),
        (
            spoil_a_value,
            "not-finite",
            "episode 1, frame 2, column action, dimension 1",
            "episode 1, frame 2: column action, dimension 1 is nan",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_fault_has_its_id_its_address_and_a_remedy(
    tmp_path: Path, spoil: Callable[[Path], None], kind: str, address: str, said: str
):
    folder = write_filmed(tmp_path / "set", [5, 4])
    spoil(folder)

    [fault] = errors(folder)

    assert fault.id == kind
    assert fault.address == address
    assert said in fault.message
    assert fault.fix.endswith(".")


def test_counts_that_disagree_are_two_faults_with_their_numbers(tmp_path: Path):
    folder = write_filmed(tmp_path / "set", [5, 4])
    drop_an_episode(folder)

    assert [(fault.id, fault.message) for fault in errors(folder)] == [
        ("counts", "episodes: info.json says 2, meta/episodes 1, the data files 2"),
        ("counts", "frames: info.json says 9, meta/episodes 5, the data files 9"),
    ]


def test_a_picture_that_is_missing_is_counted(tmp_path: Path):
    folder = write_filmed(tmp_path / "set", [10, 4], without=[(0, 9)])

    [fault] = errors(folder)

    assert fault.id == "picture-missing"
    assert fault.address == f"episode 0, {CAMERA}"
    assert fault.message == (
        f"episode 0, {CAMERA}: 10 rows, but 9 of their pictures in {VIDEO}; "
        "the first one missing is of frame 9 at 0.9000 s"
    )
    assert "--dataset.video_tolerance_frames 1" in fault.fix


def test_faults_of_several_kinds_are_told_at_once(tmp_path: Path):
    folder = write_filmed(tmp_path / "set", [5, 4])
    spoil_a_value(folder)
    cut_video(folder)

    assert [fault.id for fault in errors(folder)] == ["not-finite", "video-unreadable"]


def test_one_episode_tells_all_that_is_wrong_with_it(tmp_path: Path):
    folder = write_filmed(tmp_path / "set", [5, 4])
    for dimension in (0, 1):
        set_value(folder / DATA, "action", 6, dimension, float("nan"))
    set_value(folder / DATA, "observation.state", 8, 3, float("inf"))
    change(folder / DATA, task_index=pa.array([0] * 8 + [1]))

    assert [fault.message for fault in errors(folder)] == [
        "episode 1 mixes the tasks [0, 1]",
        "episode 1, frame 3: column observation.state, dimension 3 is inf",
        "episode 1, frame 1: column action, dimension 0 is nan; 1 more values are not finite",
    ]


def test_two_parts_that_cannot_be_read_do_not_hide_each_other(tmp_path: Path):
    folder = write_tiny(tmp_path / "set", [5, 4])
    cut_data(folder)
    (folder / "meta/tasks.parquet").write_bytes(b"PAR1")

    assert [fault.address for fault in errors(folder)] == [
        "meta/tasks.parquet",
        DATA,
    ]


def test_a_camera_that_an_hdf5_file_lacks_is_named(tmp_path: Path):
    write_old(tmp_path / "lift_pot/clean", 0, 4)
    bare = write_old(tmp_path / "lift_pot/clean", 1, 4)
    with h5py.File(bare, "a") as file:
        del file["observation/head_camera"]

    [fault] = errors(tmp_path)

    assert (fault.id, fault.address) == ("camera-missing", "episode 1, head_camera")


def test_an_info_file_that_contradicts_itself_is_a_warning(tmp_path: Path):
    folder = write_filmed(tmp_path / "set", [5])
    info = json.loads((folder / "meta/info.json").read_text())
    info["features"][CAMERA]["info"] = {"video.fps": 30}
    change_info(folder, features=info["features"])

    [fault] = inspected(folder).faults

    assert fault.severity == "warning"
    assert fault.message == f"info.json says 10 frames a second, but 30 of {CAMERA}"


def test_a_folder_that_is_no_dataset_is_one_fault(tmp_path: Path):
    shutil.copy(REAL / "README.md", tmp_path)

    found = inspected(tmp_path)

    assert (found.format, found.recording) == ("", None)
    assert [(fault.id, fault.address) for fault in found.faults] == [("unreadable", str(tmp_path))]


def test_a_truncated_hdf5_file_is_named_and_the_others_are_read(tmp_path: Path):
    write_old(tmp_path / "lift_pot/clean", 0, 4)
    torn = write_old(tmp_path / "lift_pot/clean", 1, 4)
    torn.write_bytes(torn.read_bytes()[:900])

    [fault] = errors(tmp_path)

    assert (fault.id, fault.address) == ("unreadable", "lift_pot/clean/data/episode1.hdf5")
    assert "is not a whole HDF5 file" in fault.message
