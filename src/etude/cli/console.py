"""Saying how far long work is: bars on a terminal, else a plain line now and then."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars

from etude.cli.texts import CATALOGUES, duration
from etude.core.protocols import Progress

INTERVAL_S = 30.0
"""Seconds between two plain lines of one phase."""


@contextmanager
def progress(language: str, stream: TextIO) -> Generator[Progress, None, None]:
    """Show progress on `stream` while the context lasts."""
    if not stream.isatty():
        yield PlainProgress(language, stream)
        return
    bars = Bars(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(file=stream),
    )
    with bars:
        yield BarProgress(bars)


class BarProgress:
    """One bar for each phase."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, phase: str, done: int, total: int, note: str = "", /) -> None:
        """Draw that `done` of `total` units of `phase` are finished."""
        if phase not in self._tasks:
            self._tasks[phase] = self._bars.add_task(phase, total=total, note="")
        self._bars.update(self._tasks[phase], completed=done, total=total, note=note)


@dataclass(slots=True)
class _Phase:
    first_done: int
    """Units that were finished before we looked, by an earlier attempt."""
    began: float
    spoke: float
    finished: bool = False


class PlainProgress:
    """A line when a phase begins, every 30 s, and when it ends; fit for a log file."""

    def __init__(
        self, language: str, stream: TextIO, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._language = language
        self._text = CATALOGUES[language]
        self._stream = stream
        self._clock = clock
        self._phases: dict[str, _Phase] = {}

    def __call__(self, phase: str, done: int, total: int, note: str = "", /) -> None:
        """Say that `done` of `total` units of `phase` are finished, if it is time to."""
        now = self._clock()
        state = self._phases.get(phase)
        if state is None or (state.finished and done < total):
            state = self._phases[phase] = _Phase(first_done=done, began=now, spoke=now)
            self._say(self._text["started"].format(phase=phase, total=total))
        if state.finished:
            return
        if done >= total:
            state.finished = True
            elapsed = duration(self._language, now - state.began)
            line = self._text["finished"].format(phase=phase, total=total, elapsed=elapsed)
            self._say(line, note)
        elif now - state.spoke >= INTERVAL_S:
            state.spoke = now
            self._say(self._position(phase, state, done, total, now), note)

    def _position(self, phase: str, state: _Phase, done: int, total: int, now: float) -> str:
        elapsed = now - state.began
        fresh = done - state.first_done
        left = duration(self._language, elapsed / fresh * (total - done)) if fresh > 0 else "?"
        return self._text["at"].format(
            phase=phase,
            done=done,
            total=total,
            share=100 * done // total,
            elapsed=duration(self._language, elapsed),
            left=left,
        )

    def _say(self, line: str, note: str = "") -> None:
        print(f"{line}  {note}".rstrip(), file=self._stream, flush=True)
