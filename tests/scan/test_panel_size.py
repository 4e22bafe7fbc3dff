import tracemalloc
import weakref
from collections.abc import Sequence

import numpy as np
import pytest

from etude.core.errors import DataError
from etude.core.types import (
    Columns,
    ContentKey,
    DataSpec,
    EpisodeSpan,
    TaskId,
    WindowBatch,
    WindowSpec,
)
from etude.scan.panel import Chooser
from etude.scan.scan_config import ScanConfig
from etude.scan.units import Units
from etude.testing.fakes import toy_tasks

TASK = TaskId("toy/0")
UNITS = Units(ranges=np.ones(1), moves=np.zeros(1, np.bool_))


class EndlessDataset:
    """A `Dataset` of 10 thousand episodes of 10 thousand frames, each made when it is asked for."""

    def __init__(self) -> None:
        self.read: list[weakref.ref[np.ndarray]] = []
        self.most_alive = 0
        """Most episodes that were in memory when another one was asked for."""
        self.episodes: Sequence[EpisodeSpan] = [
            EpisodeSpan(index=i, task=TASK, start=10_000 * i, stop=10_000 * (i + 1))
            for i in range(10_000)
        ]

    @property
    def spec(self) -> DataSpec:
        return DataSpec(repo_id="endless", fps=10, tasks=toy_tasks(1), state_dim=2, action_dim=1)

    def columns(self, episode: EpisodeSpan) -> Columns:
        self.most_alive = max(self.most_alive, sum(each() is not None for each in self.read))
        along = np.arange(episode.length) / 100 + episode.index
        states = np.stack([along, np.sin(along)], axis=1).astype(np.float32)
        self.read.append(weakref.ref(states))
        return Columns(states=states, actions=np.zeros((episode.length, 1), np.float32))

    def windows(self, rows: np.ndarray, spec: WindowSpec) -> WindowBatch:
        raise DataError("a plan reads no windows")

    def identity(self, episode: EpisodeSpan, *, cameras: Sequence[str] = ()) -> ContentKey:
        raise DataError("a plan asks for no identity")


@pytest.mark.parametrize(
    ("strategy", "of"), [("uniform", 100_000_000), ("sliding", 25_000_000), ("stride", 100_000)]
)
def test_a_hundred_million_windows_are_planned_without_listing_them(strategy: str, of: int):
    dataset = EndlessDataset()
    chooser = Chooser(dataset=dataset, config=ScanConfig(strategy=strategy), horizon=4, units=UNITS)
    tracemalloc.start()

    plan = chooser.plan(TASK, dataset.episodes, most=32)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert plan.of == of
    assert len(plan.choices) == 32
    assert peak < 20_000_000


def test_a_panel_reads_few_episodes_and_forgets_each_before_the_next():
    dataset = EndlessDataset()
    chooser = Chooser(dataset=dataset, config=ScanConfig(), horizon=4, units=UNITS)

    plan = chooser.plan(TASK, dataset.episodes, most=32)

    assert plan.of == 100_000_000
    assert len(plan.choices) == 32
    assert len(dataset.read) <= 32
    assert dataset.most_alive <= 1
