import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from etude.core.errors import DataError, StateError
from etude.core.types import Task, TaskId
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.lerobot_v3 import open_dataset
from etude.datasets.recorded import RecordedDataset
from etude.datasets.writer import RecordedEpisode, write_dataset

SAMPLE = Path(__file__).parents[1] / "data/lerobot_v30"
TASKS = tuple(
    Task(id=TaskId(f"tiny/{i}"), index=i, name=name, text=text)
    for i, (name, text) in enumerate([("reach-v3", "reach the red ball"), ("push-v3", "推开方块")])
)


def episode(number: int, frames: int, *, task: int = 0, success: bool = True) -> RecordedEpisode:
    states = np.zeros((frames, 3), np.float32)
    states[:, 0] = 100 * number + np.arange(frames)
    return RecordedEpisode(
        task_index=task,
        states=states,
        actions=states[:, :2] + 1,
        success=np.arange(frames) == frames - 1 if success else None,
    )


def write(folder: Path, episodes: list[RecordedEpisode], **changed: object) -> None:
    settings: dict[str, object] = {
        "fps": 80,
        "robot_type": "sawyer",
        "tasks": TASKS,
        "state_names": ["x", "y", "z"],
        "action_names": ["dx", "dy"],
        "extra_meta": {"benchmark": "tiny", "seed": 7},
        **changed,
    }
    write_dataset(folder, episodes=episodes, **settings)  # type: ignore[arg-type]


def read(folder: Path) -> RecordedDataset:
    return open_dataset(LeRobotConfig(repo_id="me/tiny", root=str(folder)))


def described(folder: Path) -> str:
    """Name every file, and every column with its type and metadata."""
    lines = [*sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()), ""]
    for path in sorted(folder.rglob("*.parquet")):
        schema = pq.read_schema(path)
        lines.append(f"{path.relative_to(folder)}: {pq.read_metadata(path).num_row_groups} groups")
        lines += [f"  {field.name}: {field.type}" for field in schema]
        lines += [f"  {k.decode()} = {v.decode()}" for k, v in (schema.metadata or {}).items()]
        lines.append("")
    return "\n".join([*lines, (folder / "meta/info.json").read_text()])


def types(path: Path) -> dict[str, str]:
    """Name the type of each column, leaving out pictures and the length of vectors."""
    return {
        field.name: str(field.type).partition("[")[0]
        for field in pq.read_schema(path)
        if "images" not in field.name
    }


def test_what_was_recorded_is_read_back(tmp_path: Path):
    write(tmp_path / "set", [episode(0, 4), episode(1, 3, task=1), episode(2, 1)])

    dataset = read(tmp_path / "set")

    assert [(e.task, e.start, e.stop) for e in dataset.episodes] == [
        ("tiny/0", 0, 4),
        ("tiny/1", 4, 7),
        ("tiny/0", 7, 8),
    ]
    assert dataset.spec.tasks == TASKS
    assert (dataset.spec.fps, dataset.spec.state_dim, dataset.spec.action_dim) == (80, 3, 2)
    columns = dataset.columns(dataset.episodes[1])
    assert columns.states[:, 0].tolist() == [100, 101, 102]
    assert columns.actions[:, 0].tolist() == [101, 102, 103]


def test_files_and_columns_are_those_of_the_golden_file(
    tmp_path: Path, golden: Callable[[str, str], None]
):
    write(tmp_path / "set", [episode(0, 4), episode(1, 3, task=1)])

    golden("lerobot_v3_tiny.txt", described(tmp_path / "set"))


@pytest.mark.parametrize(
    "file", ["data/chunk-000/file-000.parquet", "meta/episodes/chunk-000/file-000.parquet"]
)
def test_columns_are_those_that_lerobot_itself_writes(tmp_path: Path, file: str):
    write(tmp_path / "set", [episode(0, 4, success=False)])

    ours, theirs = types(tmp_path / "set" / file), types(SAMPLE / file)

    assert list(ours.items()) == list(theirs.items())


def test_info_has_the_fields_that_lerobot_itself_writes(tmp_path: Path):
    write(tmp_path / "set", [episode(0, 4, success=False)])

    ours, theirs = (
        json.loads((folder / "meta/info.json").read_text()) for folder in (tmp_path / "set", SAMPLE)
    )

    assert list(ours) == list(theirs)
    assert [k for k in theirs["features"] if "images" not in k] == list(ours["features"])
    assert ours["features"]["action"] == {"dtype": "float32", "shape": [2], "names": ["dx", "dy"]}
    assert ours["features"]["index"] == theirs["features"]["index"]


def test_statistics_agree_with_lerobots_where_its_own_are_exact(tmp_path: Path):
    theirs = open_dataset(LeRobotConfig(repo_id="me/lerobot_v30", root=str(SAMPLE)))
    write(
        tmp_path / "set",
        [
            RecordedEpisode(
                task_index=int(e.task[-1]),
                states=theirs.columns(e).states,
                actions=theirs.columns(e).actions,
            )
            for e in theirs.episodes
        ],
        fps=15,
        tasks=theirs.spec.tasks,
        state_names=[str(i) for i in range(14)],
        action_names=[str(i) for i in range(14)],
    )

    said, expected = (
        json.loads((folder / "meta/stats.json").read_text())
        for folder in (tmp_path / "set", SAMPLE)
    )

    for feature, values in said.items():
        for statistic in ("min", "max", "count"):
            assert values[statistic] == pytest.approx(expected[feature][statistic])
        for statistic in ("mean", "std"):
            assert values[statistic] == pytest.approx(
                expected[feature][statistic], rel=1e-6, abs=1e-6
            )


def test_quantiles_of_the_whole_are_those_of_all_frames(tmp_path: Path):
    quiet, loud = (np.full((n, 1), v, np.float32) for n, v in ((90, 0), (10, 100)))
    episodes = [RecordedEpisode(task_index=0, states=v, actions=v) for v in (quiet, loud)]

    write(tmp_path / "set", episodes, state_names=["x"], action_names=["dx"])

    statistics = json.loads((tmp_path / "set/meta/stats.json").read_text())["action"]
    assert (statistics["q99"], statistics["mean"], statistics["std"]) == ([100], [10], [30])
    assert read(tmp_path / "set").spec.action_dim == 1


def test_a_full_file_is_followed_by_another(tmp_path: Path):
    noise = np.random.default_rng(0).normal(size=(8, 10_000, 5)).astype(np.float32)
    episodes = [RecordedEpisode(task_index=0, states=n[:, :3], actions=n[:, 3:]) for n in noise]

    write(tmp_path / "set", episodes, data_file_mb=1)

    sizes = [p.stat().st_size for p in sorted((tmp_path / "set/data").rglob("*.parquet"))]
    assert len(sizes) == 4
    assert max(sizes) <= 1024 * 1024
    dataset = read(tmp_path / "set")
    for span, values in zip(dataset.episodes, noise, strict=True):
        assert np.array_equal(dataset.columns(span).states, values[:, :3])


def test_where_the_data_came_from_is_kept(tmp_path: Path):
    write(tmp_path / "set", [episode(0, 4)])

    kept = json.loads((tmp_path / "set/meta/etude.json").read_text())
    assert kept == {"benchmark": "tiny", "seed": 7}


def test_equal_episodes_give_equal_bytes(tmp_path: Path):
    for name in ("one", "two"):
        write(tmp_path / name, [episode(0, 4), episode(1, 3)])

    one, two = (
        {
            p.relative_to(root): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in root.rglob("*")
            if p.is_file()
        }
        for root in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two


def test_an_existing_folder_is_never_touched(tmp_path: Path):
    (tmp_path / "set").mkdir()

    with pytest.raises(StateError, match="set exists already"):
        write(tmp_path / "set", [episode(0, 4)])

    assert list(tmp_path.rglob("*")) == [tmp_path / "set"]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (episode(1, 0), "episode 1 has 0 frames"),
        (episode(1, 3, task=2), "episode 1 is of task 2, not one of 2 tasks"),
        (episode(1, 3, success=False), "episode 1 has no success column, unlike the dataset"),
        (
            RecordedEpisode(
                task_index=0,
                states=np.zeros((3, 4), np.float32),
                actions=np.zeros((3, 2), np.float32),
                success=np.ones(3, np.bool_),
            ),
            r"episode 1: observation.state is float32 \[3, 4\], not float32 \[3, 3\]",
        ),
        (
            RecordedEpisode(
                task_index=0,
                states=np.zeros((3, 3), np.float32),
                actions=np.array([[0, 0], [0, 0], [np.nan, 0]], np.float32),
                success=np.ones(3, np.bool_),
            ),
            "episode 1, frame 2: action is not finite",
        ),
    ],
    ids=["empty", "task", "success", "shape", "nan"],
)
def test_an_episode_that_does_not_fit_leaves_nothing_behind(
    tmp_path: Path, bad: RecordedEpisode, message: str
):
    with pytest.raises(DataError, match=message):
        write(tmp_path / "set", [episode(0, 4), bad])

    assert list(tmp_path.iterdir()) == []


def test_no_episode_is_no_dataset(tmp_path: Path):
    with pytest.raises(DataError, match="without an episode"):
        write(tmp_path / "set", [])

    assert list(tmp_path.iterdir()) == []


def test_tasks_must_be_numbered_by_their_place(tmp_path: Path):
    with pytest.raises(DataError, match="'push-v3' has index 1, not its place 0"):
        write(tmp_path / "set", [episode(0, 4)], tasks=TASKS[1:])


PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from etude.core.types import Task, TaskId
from etude.datasets.writer import RecordedEpisode, write_dataset

values = np.arange(12, dtype=np.float32).reshape(4, 3)
write_dataset(
    Path(sys.argv[1]), fps=80, robot_type="sawyer",
    tasks=[Task(id=TaskId("tiny/0"), index=0, name="reach-v3", text="reach")],
    state_names="xyz", action_names="abc", extra_meta={},
    episodes=[RecordedEpisode(task_index=0, states=values, actions=values)],
)
"""


@pytest.mark.parametrize(
    ("point", "there"),
    [("dataset.data_written", False), ("dataset.files_written", False), ("dataset.in_place", True)],
)
def test_a_kill_leaves_the_whole_dataset_or_none(tmp_path: Path, point: str, *, there: bool):
    folder = tmp_path / "set"
    command = [sys.executable, "-c", PROGRAM, str(folder)]

    killed = subprocess.run(command, env={**os.environ, "ETUDE_KILL_AT": point}, check=False)

    assert killed.returncode == -9
    assert folder.exists() == there
    if not there:
        subprocess.run(command, check=True)
    assert read(folder).columns(read(folder).episodes[0]).states[3].tolist() == [9, 10, 11]
    assert list(tmp_path.iterdir()) == [folder]
