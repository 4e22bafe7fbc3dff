"""How a run steered itself: where every task ended, what it was drawn with, and what changed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from etude.observe.run_files import RunFiles
from etude.observe.texts import Text, duration, percent, text

WIDTH, HEIGHT = 120.0, 20.0
"""Of the frame that a task's shares are drawn in."""
STATUSES = ("passed", "training", "exhausted", "untried")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One task at the end of what is known."""

    name: str
    status: str
    label: Text
    since: int
    """Training step since which it is so; negative where that lies before the run."""
    reason: str
    score: str
    """Error of the newest look that gave one, or ""."""
    looks: int
    """How often this run looked at it."""
    first: Text | None
    last: Text | None
    """Share of the first and the last plan; None where there was none."""
    line: str
    """Its shares over the run, as SVG `points`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A task's change of status."""

    step: int
    name: str
    before: Text
    after: Text
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """Everything that the report says about it."""

    facts: tuple[Text, ...]
    standings: tuple[Standing, ...]
    changes: tuple[Change, ...]
    even: float
    """Height at which an even share is drawn."""


def steering(files: RunFiles) -> Steering | None:
    """Return how the run steered what it practised; None where it did not."""
    summary = files.summary
    if not (summary.plans or summary.scores or files.task_states or summary.weighed):
        return None
    tasks: Sequence[Mapping[str, Any]] = files.run.get("tasks") or ()
    shares = {step: _numbers(plan.get("weights")) for step, plan in summary.plans.items()}
    highest = max((share for row in shares.values() for share in row), default=1.0) or 1.0
    names = {str(task["id"]): str(task.get("name") or task["id"]) for task in tasks}
    standings = _standings(files, names, shares, highest)
    return Steering(
        facts=tuple(_facts(files, standings)),
        standings=standings if summary.plans or summary.scores or files.task_states else (),
        changes=tuple(_changes(files, names)),
        even=HEIGHT - HEIGHT / max(len(tasks), 1) / highest,
    )


def status_label(status: str, *, proxy: bool) -> Text:
    """Return a status as a person reads it."""
    known = text(f"status_{status}") if status in STATUSES else Text(en=status, zh=status)
    return text("by_proxy", status=known) if proxy else known


def _standings(
    files: RunFiles,
    names: Mapping[str, str],
    shares: Mapping[int, Sequence[float]],
    highest: float,
) -> tuple[Standing, ...]:
    states = _states(files)
    looks, scores = _looks(files, list(names))
    return tuple(
        _standing(
            states.get(task, {}),
            name=name,
            score=scores.get(task, ""),
            looks=looks[task],
            shares={step: row[place] for step, row in shares.items() if place < len(row)},
            highest=highest,
        )
        for place, (task, name) in enumerate(names.items())
    )


def _standing(
    state: Mapping[str, Any],
    *,
    name: str,
    score: str,
    looks: int,
    shares: Mapping[int, float],
    highest: float,
) -> Standing:
    status = str(state.get("status", "untried"))
    known = list(shares.values())
    return Standing(
        name=name,
        status=status if status in STATUSES else "untried",
        label=status_label(status, proxy=bool(state.get("proxy"))),
        since=int(state.get("since_step", 0)),
        reason=str(state.get("reason", "")),
        score=score,
        looks=looks,
        first=percent(known[0]) if known else None,
        last=percent(known[-1]) if known else None,
        line=_line(shares, highest),
    )


def _states(files: RunFiles) -> dict[str, Mapping[str, Any]]:
    """Return what the newest checkpoint says of each task, and what has changed since."""
    document = files.task_states
    rows: Sequence[Mapping[str, Any]] = document.get("tasks") or ()
    found: dict[str, Mapping[str, Any]] = {str(row.get("id")): row for row in rows}
    saved_at = int(document.get("step", -1))
    for step, changed in sorted(files.summary.transitions.items()):
        for task, row in changed.items() if step > saved_at else ():
            found[task] = {
                "status": row.get("after"),
                "proxy": row.get("proxy") and row.get("after") == "passed",
                "since_step": step,
                "reason": row.get("reason", ""),
            }
    return found


def _looks(files: RunFiles, tasks: Sequence[str]) -> tuple[Counter[str], dict[str, str]]:
    """Return how often each task was looked at, and its newest score."""
    looks: Counter[str] = Counter()
    scores: dict[str, str] = {}
    rows = (row for by_step in files.summary.scores.values() for row in by_step.values())
    for row in sorted(rows, key=lambda row: int(row["step"])):
        trials: Sequence[Any] = row.get("trials") or ()
        found: Sequence[Any] = row.get("scores") or ()
        looks.update(task for task, one in zip(tasks, trials, strict=False) if one is not None)
        for task, score in zip(tasks, found, strict=False):
            if isinstance(score, int | float):
                scores[task] = f"{score:.3g}"
    return looks, scores


def _line(shares: Mapping[int, float], highest: float) -> str:
    """Return the steps of a share: each plan holds until the next one."""
    if not shares:
        return ""
    last = max(max(shares), 1)
    points: list[tuple[float, float]] = []
    for step, share in shares.items():
        x, y = WIDTH * step / last, HEIGHT * (1 - share / highest)
        points += [(x, points[-1][1]), (x, y)] if points else [(x, y)]
    points.append((WIDTH, points[-1][1]))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _facts(files: RunFiles, standings: Sequence[Standing]) -> list[Text]:
    """Return sentences about all tasks together."""
    summary = files.summary
    facts: list[Text] = []
    if summary.plans or summary.scores or files.task_states:
        counts = Counter(each.status for each in standings)
        facts.append(text("states_counted", n=len(standings), **{s: counts[s] for s in STATUSES}))
    if summary.plans:
        rule = str(list(summary.plans.values())[-1].get("rule", ""))
        facts.append(text("plans_counted", n=len(summary.plans), rule=rule))
    rows = [row for by_step in summary.scores.values() for row in by_step.values()]
    if rows:
        seconds = sum(float(row.get("seconds", 0.0)) for row in rows)
        facts.append(text("looks_counted", n=len(rows), time=duration(seconds)))
    for step, row in summary.weighed.items():
        facts.append(text("windows_weighed", step=step, record=str(row.get("record", ""))))
    return facts


def _changes(files: RunFiles, names: Mapping[str, str]) -> list[Change]:
    """Return every change of status, in order."""
    return [
        Change(
            step=step,
            name=names.get(task, task),
            before=status_label(str(row.get("before")), proxy=False),
            after=status_label(str(row.get("after")), proxy=_by_proxy(row)),
            reason=str(row.get("reason", "")),
        )
        for step, changed in sorted(files.summary.transitions.items())
        for task, row in changed.items()
    ]


def _by_proxy(row: Mapping[str, Any]) -> bool:
    return bool(row.get("proxy")) and row.get("after") == "passed"


def _numbers(values: Any) -> list[float]:
    return [float(value) for value in values or ()]
