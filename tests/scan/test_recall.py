"""What a changed dataset costs: the windows of the episodes that changed, and no others."""

import shutil
from pathlib import Path

import numpy as np

from etude.core.protocols import Dataset
from etude.core.types import ContentKey, TaskId
from etude.scan.logic import TASK_SCAN
from etude.store.cache import SegmentCache
from etude.store.segments import Subject
from etude.testing.fakes import MemoryDataset, MemoryEpisode, toy_tasks
from tiny_dataset import DATA, read, set_value, write_tiny

SUBJECT = Subject(logic=TASK_SCAN.name, weights=ContentKey("w"), inference={"horizon": 1})


def scan(root: Path, dataset: Dataset) -> tuple[list[float], int]:
    """Return the first action of every episode's first two frames, and how many were read."""
    values: list[float] = []
    computed = 0
    with SegmentCache(root, SUBJECT) as cache:
        for episode in dataset.episodes:
            for frame in (0, 1):
                key = cache.key(episode=dataset.identity(episode), draw={"frame": frame, "seed": 0})
                result = cache.get(key)
                if result is None:
                    computed += 1
                    result = {"value": float(dataset.columns(episode).actions[frame, 0])}
                    cache.put(key, result)
                value = result["value"]
                assert isinstance(value, float)
                values.append(value)
    return values, computed


def test_an_edited_value_is_scanned_anew_and_then_recalled(tmp_path: Path) -> None:
    data = write_tiny(tmp_path / "data", [3, 3, 3])
    assert scan(tmp_path / "k", read(data)) == ([0.0, 1.0, 100.0, 101.0, 200.0, 201.0], 6)
    set_value(data / DATA, "action", 3, 0, 2.0)

    assert scan(tmp_path / "k", read(data)) == ([0.0, 1.0, 2.0, 101.0, 200.0, 201.0], 2)
    assert scan(tmp_path / "k", read(data)) == ([0.0, 1.0, 2.0, 101.0, 200.0, 201.0], 0)


def test_an_appended_episode_is_scanned_alone_and_a_deleted_one_is_gone(tmp_path: Path) -> None:
    three, four = ([3] * 3, [3] * 4)
    assert scan(tmp_path / "k", read(write_tiny(tmp_path / "three", three)))[1] == 6

    longer = scan(tmp_path / "k", read(write_tiny(tmp_path / "four", four)))
    shorter = scan(tmp_path / "k", read(tmp_path / "three"))

    assert longer == ([0.0, 1.0, 100.0, 101.0, 200.0, 201.0, 300.0, 301.0], 2)
    assert shorter == ([0.0, 1.0, 100.0, 101.0, 200.0, 201.0], 0)


def test_a_moved_dataset_is_recalled_whole(tmp_path: Path) -> None:
    data = write_tiny(tmp_path / "data", [3, 3])
    before, _ = scan(tmp_path / "k", read(data))
    shutil.move(data, tmp_path / "moved")

    assert scan(tmp_path / "k", read(tmp_path / "moved")) == (before, 0)


def test_two_datasets_of_one_name_share_nothing_where_they_differ(tmp_path: Path) -> None:
    one, two = (write_tiny(tmp_path / name / "data", [3, 3]) for name in ("a", "b"))
    for row in range(6):
        set_value(two / DATA, "action", row, 0, 7.0)
    scan(tmp_path / "k", read(one))

    assert scan(tmp_path / "k", read(two)) == ([7.0] * 4, 4)


def test_one_episode_added_to_a_thousand_costs_one(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    episodes = [
        MemoryEpisode(
            task=TaskId("toy/0"),
            states=random.normal(size=(4, 3)).astype(np.float32),
            actions=random.normal(size=(4, 2)).astype(np.float32),
        )
        for _ in range(1001)
    ]
    tasks = toy_tasks(1)

    assert scan(tmp_path, MemoryDataset(episodes[:1000], tasks=tasks))[1] == 2000
    assert scan(tmp_path, MemoryDataset(episodes, tasks=tasks))[1] == 2
