"""Windows that stay wrong while their task improves: mislabelled, or nothing that can be learned.

A window is visited by every scan that scores it. What a policy answers does not change between two
scans of one training step, so those are one visit, the latest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from etude.core.types import TaskId, WindowScore
from etude.scan.difficulty import mean_error
from etude.scan.fold import weighted_quantile
from etude.scan.sample_weights import HARDEST, Window

VISITS = 3
"""So many visits in a row with an error among the task's largest make a window suspect."""
KEEPING_UP = 0.5
"""A window keeps up with its task if its error falls by this share of what the task's mean does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastScan:
    """What one sample scan scored, and when."""

    step: int
    """Training steps behind the policy that was scanned."""
    round: int
    windows: tuple[WindowScore, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A window to look at, and to draw no more often than any other."""

    task: TaskId
    episode: int
    frame: int
    stratum: str
    visits: int
    """How many visits in a row, up to the latest, found its error among the task's largest."""
    gmse: float
    """Its error on the latest visit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visit:
    """What one scan says about one window and its task."""

    score: WindowScore
    large: bool
    """Whether the error was over the 95th percentile of the task's."""
    mean: float
    """Of the task's errors in the same scan."""


def find_suspects(scans: Sequence[PastScan]) -> dict[TaskId, tuple[Suspect, ...]]:
    """Return the suspect windows of each task that has any, by episode and frame.

    Suspect is a window whose latest `VISITS` visits all found it over the 95th percentile of its
    task's errors, if the task's mean error went down from the first of them to the last, and the
    window's own by less than `KEEPING_UP` of that. What is merely hard gets better with the rest.

    Args:
        scans: All sample scans of a run, in whatever order.
    """
    visits: dict[tuple[TaskId, Window], dict[int, _Visit]] = {}
    for scan in _in_order(scans):
        for task, scores in by_task(scan.windows).items():
            for window, visit in _visits(scores).items():
                visits.setdefault((task, window), {})[scan.step] = visit
    found: dict[TaskId, list[Suspect]] = {}
    for (task, _), by_step in sorted(visits.items()):
        row = list(by_step.values())
        if _is_suspect(row):
            found.setdefault(task, []).append(_suspect(row))
    return {task: tuple(members) for task, members in found.items()}


def before(scans: Sequence[PastScan], present: PastScan) -> list[PastScan]:
    """Return the scans of an earlier step, or an earlier round of the same, oldest first."""
    return [scan for scan in _in_order(scans) if _time(scan) < _time(present)]


def strata_by_task(scan: PastScan) -> dict[TaskId, frozenset[str]]:
    """Return the strata of which a scan scored a window, by task."""
    return {
        task: frozenset(score.choice.stratum for score in scores)
        for task, scores in by_task(scan.windows).items()
    }


def by_task(scores: Sequence[WindowScore]) -> dict[TaskId, list[WindowScore]]:
    """Return the scores of each task, in their order."""
    tasks: dict[TaskId, list[WindowScore]] = {}
    for score in scores:
        tasks.setdefault(score.choice.task, []).append(score)
    return tasks


def _in_order(scans: Sequence[PastScan]) -> list[PastScan]:
    return sorted(scans, key=_time)


def _time(scan: PastScan) -> tuple[int, int]:
    return scan.step, scan.round


def _visits(scores: Sequence[WindowScore]) -> dict[Window, _Visit]:
    """Return what one scan says about each window of one task."""
    weights = [score.choice.weight for score in scores]
    largest = weighted_quantile([score.gmse for score in scores], weights, HARDEST)
    mean = mean_error(scores)
    return {
        score.choice.place: _Visit(score=score, large=score.gmse > largest, mean=mean)
        for score in scores
    }


def _is_suspect(visits: Sequence[_Visit]) -> bool:
    latest = visits[-VISITS:]
    if len(latest) < VISITS or not all(visit.large for visit in latest):
        return False
    first, last = latest[0], latest[-1]
    left, usual = last.score.gmse / first.score.gmse, last.mean / first.mean
    return usual < 1 and 1 - left < KEEPING_UP * (1 - usual)


def _suspect(visits: Sequence[_Visit]) -> Suspect:
    choice = visits[-1].score.choice
    streak = 0
    while streak < len(visits) and visits[-1 - streak].large:
        streak += 1
    return Suspect(
        task=choice.task,
        episode=choice.episode,
        frame=choice.frame,
        stratum=choice.stratum,
        visits=streak,
        gmse=visits[-1].score.gmse,
    )
