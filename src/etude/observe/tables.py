"""The rows of a report's tables and of its forest plot."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from etude.core.types import Interval
from etude.observe.charts import Point
from etude.observe.evaluations import Evaluation, TaskRate, by_group, by_rate, mean_over
from etude.observe.run_files import RunFiles
from etude.observe.texts import Text, duration, has_text, text


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """One task in the forest plot and in the table beneath it."""

    name: str
    group: Text | str
    success: Interval
    expert: Interval | None
    mean_steps: float | None
    error: str
    """Last held-out open-loop error, or "" where none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One difficulty group."""

    name: Text | str
    success: Interval
    expert: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRow:
    """One part of the run's life."""

    name: Text | str
    time: Text
    share: float
    """Per cent of all timed phases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRow:
    """The demonstrations of one task."""

    name: str
    episodes: str
    frames: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRow:
    """One finished evaluation."""

    evaluation: Evaluation
    success: Interval


def task_rows(files: RunFiles, shown: Evaluation, expert: Evaluation | None) -> list[TaskRow]:
    """Return one row for each task, the lowest rate first."""
    experts = {task.id: task.success for task in expert.tasks} if expert else {}
    errors = _last_errors(files)
    return [
        TaskRow(
            name=task.name,
            group=group_name(task.group),
            success=task.success,
            expert=experts.get(task.id),
            mean_steps=task.mean_steps,
            error=errors.get(task.id, ""),
        )
        for task in by_rate(shown.tasks)
    ]


def group_rows(shown: Evaluation, expert: Evaluation | None) -> list[GroupRow]:
    """Return one row for each published difficulty group."""
    names = {task.id: task.group for task in shown.tasks}
    regrouped: dict[str, list[TaskRate]] = {}
    for task in expert.tasks if expert else ():
        regrouped.setdefault(names.get(task.id, ""), []).append(task)
    return [
        GroupRow(
            name=group_name(group),
            success=success,
            expert=mean_over(regrouped[group]) if group in regrouped else None,
        )
        for group, success in by_group(shown).items()
    ]


def phase_rows(phases: Mapping[str, float]) -> list[PhaseRow]:
    """Return one row for each timed phase, in the order in which they first ended."""
    whole = math.fsum(phases.values()) or 1.0
    return [
        PhaseRow(
            name=text(f"phase_{name}") if has_text(f"phase_{name}") else name,
            time=duration(seconds),
            share=100 * seconds / whole,
        )
        for name, seconds in phases.items()
    ]


def recorded_rows(data: Mapping[str, Any]) -> list[RecordedRow]:
    """Return one row for each task of the dataset."""
    tasks: Sequence[Mapping[str, Any]] = data.get("tasks") or ()
    return [
        RecordedRow(
            name=str(task.get("name") or task.get("id", "")),
            episodes=str(task.get("episodes", "–")),
            frames=str(task.get("frames", "–")),
        )
        for task in tasks
    ]


def evaluation_rows(files: RunFiles) -> list[EvaluationRow]:
    """Return the finished evaluations, oldest first."""
    finished = [e for e in files.evaluations if e.finished]
    return [EvaluationRow(evaluation=e, success=mean_over(e.tasks)) for e in finished]


def warning_rows(files: RunFiles) -> list[Text | str]:
    """Return every warning once, with how often it was given."""
    rows: list[Text | str] = [text("damaged", what=damage) for damage in files.damages]
    rows += [text("sink_failed", what=what) for what in dict.fromkeys(files.sink_failures)]
    for message, times in Counter(files.summary.warnings).items():
        again = Text(en=f"{message} ", zh=f"{message}") + text("warning_times", n=times)
        rows.append(message if times == 1 else again)
    return rows


def loss_points(files: RunFiles) -> list[Point]:
    """Return the logged training losses."""
    return [
        Point(step=step, value=_finite(record.get("loss")))
        for step, record in files.summary.losses.items()
    ]


def held_out_points(files: RunFiles) -> list[Point]:
    """Return the mean over tasks of every logged held-out error.

    A task without held-out episodes takes no part; one whose error is not finite makes the mean
    not finite.
    """
    points: list[Point] = []
    for step, record in files.summary.held_out.items():
        values = [_finite(error) for error in _errors(record) if error is not None]
        finite = [value for value in values if value is not None]
        if values:
            whole = len(finite) == len(values)
            points.append(
                Point(step=step, value=math.fsum(finite) / len(finite) if whole else None)
            )
    return points


def group_name(group: str) -> Text | str:
    """Return the name of a difficulty group in both languages where we know it."""
    return text(f"group_{group}") if has_text(f"group_{group}") else group


def _last_errors(files: RunFiles) -> dict[str, str]:
    """Return the latest held-out error by task id; rows are in the order of the run's tasks."""
    if not files.summary.held_out:
        return {}
    tasks: Sequence[Mapping[str, Any]] = files.run.get("tasks") or ()
    errors = _errors(list(files.summary.held_out.values())[-1])
    shown: dict[str, str] = {}
    for task, error in zip(tasks, errors, strict=False):
        value = _finite(error)
        shown[str(task["id"])] = "" if error is None else ("▽" if value is None else f"{value:.3g}")
    return shown


def _errors(record: Mapping[str, Any]) -> Sequence[Any]:
    return record.get("errors") or ()


def _finite(raw: Any) -> float | None:
    """Return a logged number, or None where it is spelled NaN or Infinity."""
    value = math.nan if raw is None else float(raw)
    return value if math.isfinite(value) else None
