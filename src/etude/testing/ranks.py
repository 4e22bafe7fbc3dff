"""Several ranks in one process, as threads, for everything but real collectives."""

import pickle
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from etude.core.errors import EtudeError

T = TypeVar("T")


class ThreadRank:
    """One of several threads that stand in for processes."""

    def __init__(self, rank: int, meeting: "_Meeting") -> None:
        self._rank = rank
        self._meeting = meeting
        self._gathered = 0

    @property
    def rank(self) -> int:
        """Place among the threads, from 0."""
        return self._rank

    @property
    def size(self) -> int:
        """Number of threads."""
        return self._meeting.size

    def gather(self, value: T) -> list[T]:
        """Return copies of every rank's value, in rank order, as processes would get them.

        Raises:
            EtudeError: A rank has ended, or does not come in time.
        """
        self._gathered += 1
        return self._meeting.exchange(self._gathered, self._rank, value)


def run_ranks(
    size: int, work: Callable[[ThreadRank], T], *, timeout_s: float = 10
) -> Sequence[T | BaseException]:
    """Run `work` on `size` ranks and return what each returned or raised, in rank order.

    A rank that waits in `gather` for one that has ended, or for over `timeout_s`, raises an
    EtudeError, so that a hang shows as a failed test.
    """
    meeting = _Meeting(size, timeout_s)

    def live(rank: int) -> T:
        try:
            return work(ThreadRank(rank, meeting))
        finally:
            meeting.leave(rank)

    with ThreadPoolExecutor(size) as pool:
        futures = [pool.submit(live, rank) for rank in range(size)]
        return [future.exception() or future.result() for future in futures]


class _Meeting:
    """Where the threads exchange values, one numbered round after another."""

    def __init__(self, size: int, timeout_s: float) -> None:
        self.size = size
        self._timeout_s = timeout_s
        self._changed = threading.Condition()
        self._rounds: dict[int, dict[int, bytes]] = {}
        self._left: set[int] = set()

    def exchange(self, number: int, rank: int, value: T) -> list[T]:
        sent = pickle.dumps(value)
        with self._changed:
            values = self._rounds.setdefault(number, {})
            values[rank] = sent
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: len(values) == self.size or bool(self._left - values.keys()),
                timeout=self._timeout_s,
            )
            arrived = dict(values)
            absent = self._left - arrived.keys() or set(range(self.size)) - arrived.keys()
        if len(arrived) < self.size:
            names = ", ".join(map(str, sorted(absent)))
            raise EtudeError(f"rank {rank} waited in vain for rank {names}")
        return [_received(arrived[r]) for r in range(self.size)]

    def leave(self, rank: int) -> None:
        with self._changed:
            self._left.add(rank)
            self._changed.notify_all()


def _received(sent: bytes) -> Any:
    return pickle.loads(sent)  # noqa: S301 - written a moment ago by this process
