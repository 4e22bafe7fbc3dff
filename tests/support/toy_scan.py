"""A scan of toy tasks by a policy that copies its state, in this process and in others."""

import itertools
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from etude.compute.queues import StaticQueue
from etude.core.protocols import Dataset, Policy, Ranks, WorkQueue
from etude.core.ranks import Solo
from etude.core.types import ActionChunk, ContentKey, Observation, ScanReport, TaskId
from etude.datasets.split import hold_out
from etude.scan.runner import scan_tasks
from etude.scan.scan_config import ScanConfig
from etude.scan.scoring import Scorer, ScoringParts
from etude.scan.subject import ScanSubject
from etude.store.cache import SegmentCache
from etude.store.segments import Subject
from etude.testing.fakes import MemoryDataset, MemoryEpisode, toy_tasks

TASKS = toy_tasks(3)
GOOD, BAD, WORSE = (task.id for task in TASKS)
PUSH = {BAD: 2.0, WORSE: 3.0}
"""What is added to each action of a task; nothing to those of `GOOD`, which are exactly right."""
WEIGHTS = ContentKey("w")
SUBJECT = Subject(logic="task-scan@1", weights=WEIGHTS, inference={"horizon": 1})


class CopyPolicy:
    """A `Policy` whose action is the beginning of the state, pushed aside in some tasks."""

    key = WEIGHTS
    horizon = 2
    execute = 1

    def __init__(self, push: Mapping[TaskId, float] = PUSH) -> None:
        self._push = push
        self.calls: list[list[Observation]] = []
        self.seeds: list[int] = []

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        self.calls.append(list(observations))
        self.seeds.append(seed)
        return [self._chunk(seen) for seen in observations]

    def _chunk(self, seen: Observation) -> ActionChunk:
        action = seen.state[:2] + np.float32(self._push.get(seen.task, 0.0))
        return ActionChunk(actions=np.stack([action, action]), valid=np.ones(2, np.bool_))


def copied(*, episodes: int = 5, frames: int = 40) -> MemoryDataset:
    """Return demonstrations whose action is the beginning of the state."""
    random = np.random.default_rng(0)
    made: list[MemoryEpisode] = []
    for task in TASKS:
        for _ in range(episodes):
            states = random.normal(size=(frames, 3)).astype(np.float32)
            made.append(MemoryEpisode(task=task.id, states=states, actions=states[:, :2].copy()))
    return MemoryDataset(made, tasks=TASKS)


def late() -> Callable[[], float]:
    """Return a clock by which 100 s have gone after its first reading."""
    readings = itertools.chain([0.0], itertools.repeat(100.0))
    return lambda: next(readings)


@contextmanager
def scanning(
    root: Path,
    config: ScanConfig,
    *,
    cached: Subject = SUBJECT,
    dataset: Dataset | None = None,
    load: Callable[[], Policy] = CopyPolicy,
    ranks: Ranks | None = None,
    queue: WorkQueue | None = None,
    held_out: int = 3,
    clock: Callable[[], float] = time.monotonic,
    told: list[tuple[int, int]] | None = None,
) -> Generator[tuple[ScanSubject, Scorer], None, None]:
    """Lend what a scan is about and what scores it, with results kept under `root`."""
    dataset = dataset or copied()
    ranks = ranks or Solo()
    split = hold_out(dataset.episodes, per_task=held_out, seed=0)
    subject = ScanSubject(
        dataset=dataset, train=split.train, held_out=split.held_out, weights=WEIGHTS, horizon=1
    )

    def progress(phase: str, done: int, total: int, note: str = "", /) -> None:
        if told is not None:
            told.append((done, total))

    with SegmentCache(root, cached, batch_entries=config.batch_size) as cache:
        parts = ScoringParts(
            dataset=dataset,
            load=load,
            cache=cache,
            ranks=ranks,
            queue=queue or StaticQueue(rank=ranks.rank, size=ranks.size),
            progress=progress,
            horizon=1,
            clock=clock,
        )
        yield subject, Scorer(parts, config)


def scan(root: Path, *, config: ScanConfig | None = None, **parts: Any) -> ScanReport:
    """Scan as `etude scan tasks` does, with the parts that `scanning` takes."""
    config = config or ScanConfig(batch_size=8)
    with scanning(root, config, **parts) as (subject, scorer):
        return scan_tasks(subject, config, scorer)
