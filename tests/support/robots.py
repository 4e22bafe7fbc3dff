"""Two robots of 7 and 14 action dimensions, recorded as datasets of their own."""

from pathlib import Path

import numpy as np

from etude.core.types import Task, TaskId
from etude.datasets.writer import RecordedEpisode, write_dataset


def write_robot(folder: Path, *, size: int, lengths: list[int], tasks: int = 1) -> Path:
    """Write episodes whose actions are 1, 2, 3, ... in every dimension; states are one less."""
    episodes: list[RecordedEpisode] = []
    for number, frames in enumerate(lengths):
        counted = np.arange(frames, dtype=np.float32)[:, None] + np.zeros((1, size), np.float32)
        episodes.append(
            RecordedEpisode(task_index=number % tasks, states=counted, actions=counted + 1)
        )
    write_dataset(
        folder,
        fps=10,
        robot_type=f"robot-{size}",
        tasks=[
            Task(id=TaskId(f"x/{i}"), index=i, name=f"{folder.name}-{i}", text=f"do {i}")
            for i in range(tasks)
        ],
        state_names=[f"joint_{i}" for i in range(size)],
        action_names=[f"joint_{i}" for i in range(size)],
        episodes=episodes,
        extra_meta={"settings": {}, "versions": {}},
    )
    return folder
