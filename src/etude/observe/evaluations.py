"""Evaluations as their files tell them, and the rates that a report draws from their counts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from etude.core.errors import DataError
from etude.core.statistics import mean, stratified_interval, wilson
from etude.core.types import Interval
from etude.store.atomic import read_json
from etude.store.journal import read_journal


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRate:
    """How often one task was solved."""

    id: str
    name: str
    group: str
    """Published difficulty group, or ""."""
    success: Interval
    at_end: float | None
    """Share of episodes solved at their last step; None where episodes end at first success."""
    mean_steps: float | None
    """Environment steps to the first success, over solved episodes."""

    def at_the_end(self) -> "TaskRate":
        """Return the same task judged by its last step alone."""
        trials = self.success.trials
        return replace(self, success=wilson(round((self.at_end or 0.0) * trials), trials))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One closed-loop evaluation, begun or finished."""

    id: str
    created_at: str
    use: str
    """Plug-in name of the policy; "expert" for the benchmark's scripted experts."""
    step: int | None
    checkpoint: str | None
    simulator: str
    task_ids: tuple[str, ...]
    groups: tuple[str, ...]
    """Names of the published difficulty groups, in the order given; often from easy to hard."""
    n_episodes: int
    first_seed: int
    max_steps: int
    versions: Mapping[str, str]
    to_the_end: bool
    """Whether episodes are played on after the first success."""
    finished: bool
    tasks: tuple[TaskRate, ...]
    """Empty until it is finished."""
    episodes_played: int
    errors: int
    reseeded: int
    steps: int
    seconds: float

    @property
    def expert(self) -> bool:
        return self.use == "expert"


def read_evaluation(folder: Path) -> Evaluation:
    """Read `eval/<id>/`, whose summary.json comes with its end.

    Raises:
        DataError: A file is damaged, or lacks what an evaluation must say.
    """
    manifest = read_json(folder / "manifest.json")
    done = folder / "summary.json"
    summary = read_json(done) if done.exists() else {}
    try:
        return _evaluation(folder, manifest, summary)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"{folder} does not hold an evaluation of schema_version 1: {error!r}",
            hint="Evaluate again, into a fresh folder.",
        ) from error


def _evaluation(
    folder: Path, manifest: Mapping[str, Any], summary: Mapping[str, Any]
) -> Evaluation:
    policy: Mapping[str, Any] = manifest["policy"]
    simulator: Mapping[str, Any] = manifest.get("simulator") or {}
    versions: Mapping[str, Any] = manifest.get("versions") or {}
    step = policy.get("step")
    tasks = tuple(_task(row) for row in summary.get("per_task", ()))
    errors = int(summary.get("errors", 0))
    rows = folder / "results.jsonl"
    trials = sum(task.success.trials for task in tasks)
    return Evaluation(
        id=str(manifest.get("eval_id", folder.name)),
        created_at=str(manifest.get("created_at", "")),
        use=str(policy["use"]),
        step=None if step is None else int(step),
        checkpoint=None if policy.get("checkpoint") is None else str(policy["checkpoint"]),
        simulator=str(simulator.get("use", "")),
        task_ids=tuple(str(task["id"]) for task in manifest["tasks"]),
        groups=tuple(str(name) for name in manifest.get("groups") or ()),
        n_episodes=int(manifest["n_episodes"]),
        first_seed=int(manifest["first_seed"]),
        max_steps=int(manifest["max_steps"]),
        versions={str(k): str(v) for k, v in versions.items()},
        to_the_end=bool(manifest.get("to_the_end", False)),
        finished=bool(summary),
        tasks=tasks,
        episodes_played=trials + errors if summary else sum(1 for _ in read_journal(rows)),
        errors=errors,
        reseeded=int(summary.get("reseeded", 0)),
        steps=int(summary.get("steps", 0)),
        seconds=float(summary.get("seconds", 0.0)),
    )


def _task(row: Mapping[str, Any]) -> TaskRate:
    at_end, steps = row.get("at_end"), row.get("mean_steps_to_success")
    return TaskRate(
        id=str(row["id"]),
        name=str(row["name"]),
        group=str(row.get("group") or ""),
        success=wilson(int(row["successes"]), int(row["trials"])),
        at_end=None if at_end is None else float(at_end),
        mean_steps=None if steps is None else float(steps),
    )


def newest(evaluations: Sequence[Evaluation], *, expert: bool) -> Evaluation | None:
    """Return the last finished evaluation of a policy, or of the scripted experts."""
    found = [e for e in evaluations if e.finished and e.expert == expert]
    return found[-1] if found else None


def same_episodes(one: Evaluation, other: Evaluation) -> bool:
    """Say whether both played the same tasks from the same seeds under the same step limit."""
    return _episodes(one) == _episodes(other)


def _episodes(evaluation: Evaluation) -> tuple[object, ...]:
    return (
        evaluation.simulator,
        sorted(evaluation.task_ids),
        evaluation.n_episodes,
        evaluation.first_seed,
        evaluation.max_steps,
    )


def mean_over(tasks: Sequence[TaskRate]) -> Interval:
    """Return the mean of the tasks' rates, with pooled counts and the interval of that mean."""
    rates = [task.success.rate for task in tasks if task.success.rate is not None]
    pairs = [(task.success.successes, task.success.trials) for task in tasks]
    low, high = stratified_interval(pairs) or (0.0, 1.0)
    return _interval(tasks, rate=mean(rates), low=low, high=high)


def mean_of_groups(evaluation: Evaluation) -> Interval | None:
    """Return the mean of the groups' mean rates, or None unless two or more all have a rate."""
    groups = by_group(evaluation)
    parts = [(part, part.rate) for part in groups.values() if part.rate is not None]
    if len(parts) < 2 or len(parts) < len(evaluation.groups):
        return None
    centre = math.fsum(rate for _, rate in parts) / len(parts)
    # An interval is cut at 0 and 1; its longer side is the whole half-width.
    halves = [max(part.high - rate, rate - part.low) for part, rate in parts]
    half = math.hypot(*halves) / len(parts)
    low, high = max(0.0, centre - half), min(1.0, centre + half)
    grouped = [task for task in evaluation.tasks if task.group in groups]
    return _interval(grouped, rate=centre, low=low, high=high)


def by_group(evaluation: Evaluation) -> dict[str, Interval]:
    """Return the mean rate of every difficulty group that has a task."""
    members = {
        name: [task for task in evaluation.tasks if task.group == name]
        for name in evaluation.groups
    }
    return {name: mean_over(tasks) for name, tasks in members.items() if tasks}


def by_rate(tasks: Sequence[TaskRate]) -> list[TaskRate]:
    """Return the tasks from the lowest rate to the highest; those never tried come first."""
    return sorted(tasks, key=lambda task: (_rate(task), task.name))


def _rate(task: TaskRate) -> float:
    return -1.0 if task.success.rate is None else task.success.rate


def _interval(
    tasks: Sequence[TaskRate], *, rate: float | None, low: float, high: float
) -> Interval:
    return Interval(
        successes=sum(task.success.successes for task in tasks),
        trials=sum(task.success.trials for task in tasks),
        rate=rate,
        low=low,
        high=high,
    )
