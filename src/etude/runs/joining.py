"""Joining the other processes of a command; one that is alone needs no torch for it."""

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

from etude.compute.launch import read_launch
from etude.compute.world_config import WorldConfig
from etude.core.protocols import Ranks, WorkQueue
from etude.core.ranks import Solo
from etude.core.types import WorkItem


class WholeQueue:
    """Deals everything to the only process, the costliest first, as queues of several do."""

    def items(self, work: Sequence[WorkItem]) -> Iterator[WorkItem]:
        """Yield all of `work`."""
        return iter(sorted(work, key=lambda item: (-item.cost, item.key)))


@contextmanager
def join_with_queue(config: WorldConfig) -> Generator[tuple[Ranks, WorkQueue], None, None]:
    """Be a rank among those that the launcher started, or the only process.

    Raises:
        ConfigError: The environment contradicts itself, or that of another rank.
        EtudeError: A rank does not come.
    """
    launch = read_launch(os.environ)
    if launch is None or launch.size == 1:
        yield Solo(), WholeQueue()
        return
    from etude.compute.queues import open_queue
    from etude.compute.world import join

    with join(config) as ranks:
        yield ranks, open_queue(ranks)
