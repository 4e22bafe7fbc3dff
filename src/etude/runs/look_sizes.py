"""How much is looked at, so that looking takes no more than its share of the time."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

FIRST_TASKS = 4
"""Tasks of the very first look of a kind, from which it is learned how long one takes."""
NEWEST = 0.5
"""How much the newest look counts in what a look is expected to take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much of a look there is time for."""

    tasks: int
    each: int
    """Windows or episodes of each task."""


class LookClock:
    """Measures training and scoring, and fits the next look to what is left.

    What a look may take is a share of all training so far, less all scoring so far, so that a look
    which took too long is made up for by the next ones.
    """

    def __init__(self, *, max_share: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self._max_share = max_share
        self._clock = clock
        self._mark: float = clock()
        self.trained_s = 0.0
        self.scored_s = 0.0
        self.unit_s: dict[str, float] = {}
        """Seconds that one window or episode takes, by kind of look."""
        self._started: set[str] = set()
        self._only_start: set[str] = set()
        """Kinds of which nothing but the start-up has been measured."""

    def begin(self) -> None:
        """Count what has passed since the last mark as training."""
        now = self._clock()
        self.trained_s += now - self._mark
        self._mark = now

    def end(self, kind: str, units: int) -> float:
        """Count what has passed as one look of `units` windows or episodes; return its seconds."""
        now = self._clock()
        spent = now - self._mark
        self._mark = now
        self.scored_s += spent
        if units:
            self._learn(kind, spent / units)
        return spent

    def _learn(self, kind: str, newest: float) -> None:
        """Take in what a unit has taken. The first look of a process also starts things up."""
        if kind not in self._started:
            self._started.add(kind)
            if kind not in self.unit_s:
                self.unit_s[kind] = newest
                self._only_start.add(kind)
        elif kind in self._only_start:
            self._only_start.remove(kind)
            self.unit_s[kind] = newest
        else:
            self.unit_s[kind] = NEWEST * newest + (1 - NEWEST) * self.unit_s[kind]

    def skip(self) -> None:
        """Count what has passed neither as training nor as a look."""
        self._mark = self._clock()

    def fit(self, kind: str, *, tasks: int, least: int, most: int, part: float = 1.0) -> Size:
        """Return how many tasks there is time for, and how much of each.

        Each task gets less before tasks are left out.

        Args:
            kind: Of the look.
            tasks: Those that are to be looked at.
            least: Fewest windows or episodes of a task.
            most: Most of them.
            part: Share of the time left that this look may take.
        """
        if self._max_share >= 1 or not tasks:
            return Size(tasks=tasks, each=most)
        if kind not in self.unit_s:
            return Size(tasks=min(tasks, FIRST_TASKS), each=least)
        left = part * (self._max_share * self.trained_s - self.scored_s)
        units = max(0, int(left / max(self.unit_s[kind], 1e-9)))
        each = min(most, max(least, units // tasks))
        return Size(tasks=min(tasks, units // each), each=each)

    def to_dict(self) -> dict[str, object]:
        """Return what `restore` needs."""
        return {
            "trained_s": self.trained_s,
            "scored_s": self.scored_s,
            "unit_s": dict(self.unit_s),
        }

    def restore(self, saved: Mapping[str, object]) -> None:
        """Go on with times that an earlier attempt has measured."""
        found = {name: saved.get(name, 0.0) for name in ("trained_s", "scored_s")}
        self.trained_s, self.scored_s = (
            float(value) if isinstance(value, int | float) else 0.0 for value in found.values()
        )
        units = saved.get("unit_s")
        if isinstance(units, dict):
            self.unit_s = {str(kind): float(each) for kind, each in units.items()}  # pyright: ignore
