"""Dealing work to ranks."""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence

from torch.distributed import DistError, Store

from etude.compute.world import World
from etude.core.errors import EtudeError
from etude.core.kill_points import kill_point
from etude.core.protocols import Ranks, WorkQueue
from etude.core.types import WorkItem
from etude.store.content import content_key

_SPLIT = 4
"""A batch holds at most one part in this many of what would be a rank's fair share of the rest."""


class StaticQueue:
    """Deals the costliest item first to the least loaded rank; needs no communication.

    Source: Graham, "Bounds on multiprocessing timing anomalies", 1969 (longest processing time).
    """

    def __init__(self, *, rank: int, size: int) -> None:
        self._rank = rank
        self._size = size

    def share(self, work: Sequence[WorkItem]) -> tuple[WorkItem, ...]:
        """Return what this rank will be dealt of `work`."""
        # By load, then by number of items, so that items without cost spread as well.
        loads = [(0, 0, rank) for rank in range(self._size)]
        mine: list[WorkItem] = []
        for item in _costliest_first(work):
            load, count, rank = loads[0]
            heapq.heapreplace(loads, (load + item.cost, count + 1, rank))
            if rank == self._rank:
                mine.append(item)
        return tuple(mine)

    def items(self, work: Sequence[WorkItem]) -> Iterator[WorkItem]:
        """Yield this rank's share of `work`, which must be the same list on every rank."""
        return iter(self.share(work))


class StoreQueue:
    """Hands the costliest items left to whichever rank asks first.

    It balances what costs cannot predict. Small items are handed out several at a time, fewer
    towards the end. Nothing outlives the store: after the death of a rank, a new call of the same
    command deals anew whatever its cache does not hold.

    Source: Polychronopoulos and Kuck, "Guided self-scheduling", 1987.
    """

    def __init__(self, store: Store, *, name: str, size: int, most: int = 64) -> None:
        """Share the counters called `name`, which no other queue may use, among `size` ranks.

        Args:
            store: The same for all ranks.
            name: The same on all ranks.
            size: Number of ranks.
            most: Items handed out at a time, at most.
        """
        self._store = store
        self._name = name
        self._size = size
        self._most = most
        self._rounds = 0

    def items(self, work: Sequence[WorkItem]) -> Iterator[WorkItem]:
        """Yield this rank's share of `work`; every rank calls it equally often.

        Raises:
            EtudeError: Another rank was given other work, or the process that holds the store died.
            ValueError: Two items have the same key.
        """
        # Counted here and not when the first item is taken: a rank may never take one.
        self._rounds += 1
        name = f"queue/{self._name}/{self._rounds}"
        ordered = _costliest_first(work)
        self._agree(name, ordered)
        return self._take(name, ordered)

    def _agree(self, name: str, ordered: Sequence[WorkItem]) -> None:
        mine = content_key("work/1", [[item.key, item.cost] for item in ordered])
        try:
            first = self._store.compare_set(f"{name}/work", "", mine).decode()
        except DistError as error:
            raise _store_lost() from error
        if first != mine:
            raise EtudeError(
                f"the {len(ordered)} work items of this rank are not those of the others",
                hint="Let all ranks read the same dataset, checkpoint and cache.",
            )

    def _take(self, name: str, ordered: Sequence[WorkItem]) -> Iterator[WorkItem]:
        batches = _batches(ordered, size=self._size, most=self._most)
        while True:
            try:
                taken = self._store.add(f"{name}/taken", 1)
            except DistError as error:
                raise _store_lost() from error
            if taken > len(batches):
                return
            for item in ordered[batches[taken - 1]]:
                kill_point("queue.item_dealt")
                yield item


def open_queue(ranks: Ranks) -> WorkQueue:
    """Return the queue that suits `ranks`; every rank opens its queues in the same order."""
    if isinstance(ranks, World):
        return StoreQueue(ranks.store, name=ranks.next_name(), size=ranks.size)
    return StaticQueue(rank=ranks.rank, size=ranks.size)


def _costliest_first(work: Sequence[WorkItem]) -> list[WorkItem]:
    """Return `work` in one order, whatever the order given.

    Raises:
        ValueError: Two items have the same key.
    """
    ordered = sorted(work, key=lambda item: (-item.cost, item.key))
    repeated = [key for key, count in Counter(i.key for i in ordered).items() if count > 1]
    if repeated:
        raise ValueError(f"the work holds more than once: {', '.join(sorted(repeated)[:5])}")
    return ordered


def _batches(ordered: Sequence[WorkItem], *, size: int, most: int) -> list[slice]:
    """Return the places of the items that are handed out together."""
    left = sum(max(item.cost, 1) for item in ordered)
    batches: list[slice] = []
    begin, held, limit = 0, 0, left / (_SPLIT * size)
    for place, item in enumerate(ordered):
        cost = max(item.cost, 1)
        if place > begin and (held + cost > limit or place - begin == most):
            batches.append(slice(begin, place))
            left -= held
            begin, held, limit = place, 0, left / (_SPLIT * size)
        held += cost
    return [*batches, slice(begin, len(ordered))] if ordered else []


def _store_lost() -> EtudeError:
    return EtudeError(
        "the rank or launcher that deals the work is gone",
        hint="Run the same command again; what was finished is kept.",
    )
