"""What has changed between two scans, told by the windows that both have looked at.

Each window is compared with itself, so that it does not matter how hard it is; `scan.change` says
how sure a task's change is. Of many tasks some would differ by chance, so verdicts hold for all of
them at once (Holm's correction); the intervals are those of each task by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from etude.core.errors import ConfigError
from etude.core.statistics import holm
from etude.core.types import TaskId
from etude.scan.change import Change, geometric_mean, mean_change, paired_change
from etude.scan.measure import Measure
from etude.scan.record import RecordedWindow, RecordHead, ScanRecord
from etude.scan.scan_config import ScanConfig
from etude.scan.score import passes

Verdict = Literal["better", "worse", "unresolved"]

LEVEL = 0.05
"""Chance of calling any task changed where none is."""

_Key = tuple[TaskId, str, int]
"""Task, content of the episode, and frame of a window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskComparison:
    """What has changed in one task. A proxy of success, never success."""

    task: TaskId
    name: str
    pairs: int
    """Windows that both scans have looked at; all numbers are about these."""
    only_a: int
    only_b: int
    before: float | None
    """Geometric mean of GMSE and `FLOOR`; None without pairs, as all that follows from it."""
    after: float | None
    ratio: float | None
    """`after` over `before`: under 1 is better."""
    interval: tuple[float, float] | None
    """Of the ratio, at 95 %; None where too few windows say too little."""
    passed_before: int
    """Of the pairs, with the thresholds of the first scan."""
    passed_after: int
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Overall:
    """What has changed in all tasks together, each counting alike."""

    tasks: int
    """Those with an interval; the ratio is their geometric mean."""
    pairs: int
    only_a: int
    only_b: int
    ratio: float | None
    interval: tuple[float, float] | None
    """For these very tasks: only the windows vary."""
    passed_before: int
    passed_after: int
    better: int
    """Tasks with that verdict."""
    worse: int
    unresolved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two scans, the first taken as before and the second as after."""

    tasks: tuple[TaskComparison, ...]
    overall: Overall


@dataclass(slots=True, kw_only=True)
class _Pairs:
    """The windows of one task, and those that both scans have."""

    only_a: int = 0
    only_b: int = 0
    before: list[RecordedWindow] = field(default_factory=list[RecordedWindow])
    after: list[RecordedWindow] = field(default_factory=list[RecordedWindow])

    @property
    def weights(self) -> list[float]:
        """Those of the first scan."""
        return [window.weight for window in self.before]

    @property
    def means(self) -> tuple[float | None, float | None]:
        """Geometric mean of the errors before and after."""
        if not self.before:
            return None, None
        before, after = (
            geometric_mean([window.gmse for window in windows], self.weights)
            for windows in (self.before, self.after)
        )
        return before, after

    @property
    def change(self) -> Change | None:
        """The change from before to after, if enough windows say how much they vary."""
        return paired_change(
            [window.gmse for window in self.before],
            [window.gmse for window in self.after],
            weights=self.weights,
            episodes=[window.episode for window in self.before],
        )


def compare(a: ScanRecord, b: ScanRecord) -> Comparison:
    """Return what has changed from scan `a` to scan `b`.

    Raises:
        ConfigError: They are of different things, or have no window in common.
    """
    _require_alike(a.head, b.head)
    pairs = _pair(a, b)
    if not any(each.before for each in pairs.values()):
        raise ConfigError(
            f"the scans share no window: the first has {len(a.windows)} and the second "
            f"{len(b.windows)}, none of the same frame of the same episode",
            hint="Scan both with the same data, scan.strategy, scan.round, "
            "dataset.hold_out_episodes and seed.",
        )
    names = {task.id: task.name for task in (*b.head.tasks, *a.head.tasks)}
    tau = _tau(a.head)
    changes = {task: each.change for task, each in pairs.items()}
    judged = {task: change for task, change in changes.items() if change is not None}
    raised = dict(zip(judged, holm([each.p for each in judged.values()]), strict=True))
    tasks = tuple(
        _task(task, names[task], each, changes[task], raised.get(task, 1.0), tau=tau)
        for task, each in pairs.items()
    )
    return Comparison(tasks=tasks, overall=_overall(tasks, list(judged.values())))


def _require_alike(a: RecordHead, b: RecordHead) -> None:
    """Refuse scans whose errors do not mean the same.

    Raises:
        ConfigError: Always, unless they do.
    """
    first, second = _facts(a.measure), _facts(b.measure)
    apart = [
        f"{name} {fact} in the first and {second[name]} in the second"
        for name, fact in first.items()
        if fact != second[name]
    ]
    if apart:
        raise ConfigError(
            f"the scans cannot be compared: {'; '.join(apart)}",
            hint="Scan both policies with the same settings and data; what is known is recalled.",
        )


def _facts(measure: Measure) -> dict[str, str]:
    """Return what messages say of a measure, by what they call it."""
    groups = (f"{name}={','.join(map(str, dims))}" for name, dims in measure.groups.items())
    return {
        "dataset": measure.dataset,
        "horizon": str(measure.horizon),
        "action groups": ", ".join(groups),
        "scan.actions": measure.actions,
        "training episodes, which are the unit of errors,": measure.units[:10],
    }


def _pair(a: ScanRecord, b: ScanRecord) -> dict[TaskId, _Pairs]:
    """Return the pairs of every task, in the order of the first scan and then of the second."""
    found = {task.id: _Pairs() for task in (*a.head.tasks, *b.head.tasks)}
    before, after = _merged(a.windows), _merged(b.windows)
    for key, window in before.items():
        pairs = found[window.task]
        if key in after:
            pairs.before.append(window)
            pairs.after.append(after[key])
        else:
            pairs.only_a += 1
    for key, window in after.items():
        found[window.task].only_b += key not in before
    return found


def _merged(windows: Sequence[RecordedWindow]) -> dict[_Key, RecordedWindow]:
    """Return windows by key; those of episodes of equal content are one, with all their weight."""
    found: dict[_Key, RecordedWindow] = {}
    for window in windows:
        key = (window.task, window.content, window.frame)
        known = found.get(key)
        found[key] = replace(known, weight=known.weight + window.weight) if known else window
    return found


def _tau(head: RecordHead) -> float:
    return float(head.settings.get("tau", ScanConfig().tau))


def _task(
    task: TaskId, name: str, pairs: _Pairs, change: Change | None, p: float, *, tau: float
) -> TaskComparison:
    before, after = pairs.means
    return TaskComparison(
        task=task,
        name=name,
        pairs=len(pairs.before),
        only_a=pairs.only_a,
        only_b=pairs.only_b,
        before=before,
        after=after,
        ratio=after / before if before and after else None,
        interval=change.interval if change else None,
        passed_before=sum(passes(window.groups, tau=tau) for window in pairs.before),
        passed_after=sum(passes(window.groups, tau=tau) for window in pairs.after),
        verdict=_verdict(change, p),
    )


def _verdict(change: Change | None, p: float) -> Verdict:
    if change is None or p >= LEVEL:
        return "unresolved"
    return "better" if change.mean < 0 else "worse"


def _overall(tasks: Sequence[TaskComparison], changes: Sequence[Change]) -> Overall:
    change = mean_change(changes)
    verdicts = [task.verdict for task in tasks]
    return Overall(
        tasks=len(changes),
        pairs=sum(task.pairs for task in tasks),
        only_a=sum(task.only_a for task in tasks),
        only_b=sum(task.only_b for task in tasks),
        ratio=change.ratio if change else None,
        interval=change.interval if change else None,
        passed_before=sum(task.passed_before for task in tasks),
        passed_after=sum(task.passed_after for task in tasks),
        better=verdicts.count("better"),
        worse=verdicts.count("worse"),
        unresolved=verdicts.count("unresolved"),
    )
