"""Writing events: one durable journal for each attempt, any number of views that may fail."""

import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from etude.events.reader import journals
from etude.events.schema import Event, PhaseFinished, PhaseStarted, SinkFailed, Warned
from etude.store.journal import Journal, count_torn_bytes


@runtime_checkable
class Sink(Protocol):
    """A view of the event stream, such as a console."""

    def write(self, record: Mapping[str, object]) -> None: ...


class Recorder:
    """One rank's event stream of one attempt, in a journal that nobody else writes.

    Where the attempt before it was killed in the middle of a record, its first event says so.
    """

    def __init__(
        self,
        folder: Path,
        *,
        rank: int = 0,
        sinks: Sequence[Sink] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        earlier = [(attempt, path) for attempt, of, path in journals(folder) if of == rank]
        last, last_path = max(earlier, default=(0, None))
        self.attempt = last + 1
        path = folder / f"rank-{rank:05d}.{self.attempt:04d}.jsonl"
        self._journal = Journal(path, sync=False)
        self._rank = rank
        self._sinks = list(sinks)
        self._clock = clock
        self._seq = 0
        if last_path is not None and (torn := count_torn_bytes(last_path)):
            self.emit(
                Warned(message=f"{last_path.name} ends in {torn} torn bytes; one record is lost")
            )

    def emit(self, event: Event) -> None:
        """Record `event`, then show it to every view that still works."""
        record = {
            "seq": self._seq,
            "t": self._clock(),
            "attempt": self.attempt,
            "rank": self._rank,
            "kind": event.kind,
            **{name: _strict(value) for name, value in event.fields().items()},
        }
        self._seq += 1
        self._journal.append(record)
        failures: list[SinkFailed] = []
        for sink in list(self._sinks):
            try:
                sink.write(record)
            except Exception as error:  # noqa: BLE001 - a view must never stop a run
                self._sinks.remove(sink)
                failures.append(SinkFailed(sink=type(sink).__name__, reason=repr(error)))
        # Only now, so that every view sees the records in one order.
        for failure in failures:
            self.emit(failure)

    @contextmanager
    def phase(self, name: str) -> Generator[None, None, None]:
        """Mark the enclosed work as a phase and time it."""
        start = self._clock()
        self.emit(PhaseStarted(phase=name))
        yield
        self.emit(PhaseFinished(phase=name, seconds=round(self._clock() - start, 3)))

    def close(self) -> None:
        """Release the journal."""
        self._journal.close()


def _strict(value: object) -> object:
    """Return `value` with every number that JSON cannot say spelled as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, list | tuple):
        return [_strict(item) for item in cast("Sequence[object]", value)]
    return value
