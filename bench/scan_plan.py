"""What it takes to plan the windows of a hundred million frames, beside those of a million."""

import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from etude.core.types import (
    Columns,
    ContentKey,
    DataSpec,
    EpisodeSpan,
    TaskId,
    WindowBatch,
    WindowSpec,
)
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.lerobot_v3 import open_dataset
from etude.datasets.recorded import RecordedDataset
from etude.scan.episodes import episodes_to_scan
from etude.scan.groups import action_groups, gripper_dims
from etude.scan.panel import Chooser
from etude.scan.plan import TaskPlan
from etude.scan.scan_config import ScanConfig, parse_groups
from etude.scan.units import Units

GROUPS = ("arm=0-2", "gripper=3")
EPISODE_FRAMES = 1_000
SIZES = (2_000_000, 100_000_000)
"""Frames. The smaller has more episodes of each task than a capped scan draws windows from."""
HORIZON = 4


class EndlessDataset:
    """A dataset of any size: the frames of a real one, over and over, made when asked for."""

    def __init__(self, source: RecordedDataset, *, frames: int) -> None:
        self.spec: DataSpec = source.spec
        self._source = source
        self._spans = [span for span in source.episodes if span.length >= EPISODE_FRAMES]
        count = frames // EPISODE_FRAMES
        self.episodes: Sequence[EpisodeSpan] = tuple(
            EpisodeSpan(
                index=index,
                task=self.spec.tasks[index % len(self.spec.tasks)].id,
                start=index * EPISODE_FRAMES,
                stop=(index + 1) * EPISODE_FRAMES,
            )
            for index in range(count)
        )

    def columns(self, episode: EpisodeSpan) -> Columns:
        found = self._source.columns(self._spans[episode.index % len(self._spans)])
        # Copies, as of a file that is read, so that what a plan keeps shows in its memory.
        return Columns(
            states=found.states[:EPISODE_FRAMES].copy(),
            actions=found.actions[:EPISODE_FRAMES].copy(),
        )

    def windows(self, rows: Int64[np.ndarray, " batch"], spec: WindowSpec) -> WindowBatch:
        raise NotImplementedError

    def identity(self, episode: EpisodeSpan, *, cameras: Sequence[str] = ()) -> ContentKey:
        raise NotImplementedError


def planning(data: Path, *, sizes: Sequence[int] = SIZES) -> dict[str, object]:
    """Return seconds and peak memory of planning the panels of all tasks.

    Args:
        data: Long episodes, which lend their frames.
        sizes: Frames of the datasets that are planned.
    """
    source = open_dataset(LeRobotConfig(root=str(data)))
    rows = [_planned(source, frames) for frames in sizes]
    least, most = rows[0], rows[-1]
    return {"sizes": rows, "peak_ratio": round(most["peak_mb"] / least["peak_mb"], 3)}


def _planned(source: RecordedDataset, frames: int) -> dict[str, float]:
    tracemalloc.start()
    dataset = EndlessDataset(source, frames=frames)
    spans, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    begun = time.perf_counter()
    plans = _plans(dataset)
    seconds = time.perf_counter() - begun
    planned = sum(len(plan.choices) for plan in plans.values())
    of = sum(plan.of for plan in plans.values())
    del plans
    tracemalloc.start()
    kept_plans = _plans(dataset)
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(len(plan.choices) for plan in kept_plans.values()) == planned
    return {
        "frames": frames,
        "windows_of": of,
        "windows_planned": planned,
        "seconds": round(seconds, 2),
        "peak_mb": round(peak / 2**20, 2),
        "kept_mb": round(kept / 2**20, 2),
        "list_of_episodes_mb": round(spans / 2**20, 2),
    }


def _plans(dataset: EndlessDataset) -> dict[TaskId, TaskPlan]:
    """Plan every task as a scan of `windows_per_task` windows does."""
    config = ScanConfig(groups=GROUPS)
    groups = action_groups(dataset.spec, parse_groups(config.groups))
    chooser = Chooser(
        dataset=dataset,
        config=config,
        horizon=HORIZON,
        grippers=gripper_dims(groups),
        units=Units(
            ranges=np.full(dataset.spec.action_dim, 2.0),
            moves=np.arange(dataset.spec.action_dim) < 3,
        ),
    )
    episodes, _ = episodes_to_scan((), dataset.episodes)
    most = 4 * config.windows_per_task
    return {task: chooser.plan(task, spans, most=most) for task, spans in episodes.items()}
