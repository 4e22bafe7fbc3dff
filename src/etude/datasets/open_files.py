"""Files that stay open: a bounded number of them, and never another process's."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Generic, Protocol, TypeVar, runtime_checkable

OPEN_FILES = 128
"""Files open at once, far below what a process may open."""
OPEN_BYTES = 192 << 20
"""Memory that they may hold together, as far as they know."""


@runtime_checkable
class OpenFile(Protocol):
    """Something that is given back when it is no longer used."""

    @property
    def held_bytes(self) -> int:
        """About how much memory it takes as long as it is open."""
        ...

    def close(self) -> None: ...


F = TypeVar("F", bound=OpenFile)


class OpenFiles(Generic[F]):
    """The latest files that this process has asked for, at most `limit` and of bounded memory.

    A process that was forked opens files of its own, and one that gets a copy does too.
    """

    def __init__(
        self,
        opener: Callable[[Path], F],
        *,
        limit: int = OPEN_FILES,
        limit_bytes: int = OPEN_BYTES,
    ) -> None:
        self._opener = opener
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._inherited: OrderedDict[Path, F] | None = None
        self._own()

    def __reduce__(self) -> tuple[object, ...]:
        """Send no open file to another process."""
        opener = partial(
            OpenFiles[F], self._opener, limit=self._limit, limit_bytes=self._limit_bytes
        )
        return (opener, ())

    @contextmanager
    def lend(self, path: Path) -> Generator[F, None, None]:
        """Lend an open file to one thread at a time.

        Raises:
            EtudeError: The opener refuses the file.
        """
        if os.getpid() != self._process:
            # They may not even be closed here: their threads and locks are the parent's.
            self._inherited = self._open
            self._own()
        with self._lock:
            yield self._file(path)

    def holds(self, path: Path) -> bool:
        """Return whether a file is open now, so that asking for it costs little."""
        return os.getpid() == self._process and path in self._open

    @property
    def opened(self) -> int:
        """How many times this process has opened a file."""
        return self._opened

    def close(self) -> None:
        """Close all files; the next one asked for is opened anew."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

    def _own(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._open: OrderedDict[Path, F] = OrderedDict()
        self._opened = 0

    def _file(self, path: Path) -> F:
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        file = self._opener(path)
        self._opened += 1
        held = file.held_bytes + sum(other.held_bytes for other in self._open.values())
        while self._open and (len(self._open) >= self._limit or held > self._limit_bytes):
            _, oldest = self._open.popitem(last=False)
            held -= oldest.held_bytes
            oldest.close()
        self._open[path] = file
        return file
