"""Losses that tasks could reach: those of a run that drew all tasks alike, or of a file."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from etude.core.errors import ConfigError
from etude.core.protocols import Ranks
from etude.core.ranks import together
from etude.core.types import Task, TaskId
from etude.events.reader import read_events
from etude.events.summary import summarise
from etude.runs.run_config import RunConfig
from etude.store.atomic import read_json
from etude.store.layout import RunFolder

LAST = 0.25
"""Part of a run's steps, its last, over which losses are averaged."""
RULE = "excess_loss"
"""The built-in rule that compares with them."""


def read_references(place: str, tasks: Sequence[Task], ranks: Ranks) -> dict[TaskId, float]:
    """Return the loss of every task that has one; all ranks call it and are told the same.

    Args:
        place: A run, or a JSON file of one object with a loss for each task's id; empty for none.
        tasks: Of the run that is to begin.
        ranks: Who trains together.

    Raises:
        ConfigError: Nothing is there, it has no loss of these tasks, or a value is no loss.
        DataError: It is damaged.
    """
    if not place:
        return {}
    return together(ranks, lambda: _read(Path(place), tasks) if ranks.rank == 0 else {})[0]


def doubt_of_rule(config: RunConfig, references: Mapping[TaskId, float]) -> str:
    """Return what the user should know of what the rule compares with; empty for nothing."""
    if config.curriculum.use != RULE or references:
        return ""
    return (
        "curriculum.use is excess_loss without curriculum.reference: the excess of a task is what "
        "it has lost again of its best score, not what it could still gain"
    )


def _read(place: Path, tasks: Sequence[Task]) -> dict[TaskId, float]:
    if not place.exists():
        raise ConfigError(
            f"curriculum.reference is {place}, where there is nothing",
            hint="Name a run that has been trained, e.g. runs/mt50, or a JSON file of losses.",
        )
    losses = _of_run(place) if place.is_dir() else _of_file(place)
    found = {task.id: losses[task.id] for task in tasks if task.id in losses}
    if not found:
        raise ConfigError(
            f"curriculum.reference is {place}, which has a loss of none of the {len(tasks)} tasks",
            hint=f"Name losses by the ids of this dataset's tasks, e.g. {tasks[0].id}.",
        )
    return found


def _of_run(folder: Path) -> dict[str, float]:
    """Return the mean loss of each task over the last part of a run."""
    run = RunFolder(folder)
    if not run.manifest.exists():
        raise ConfigError(
            f"curriculum.reference is {folder}, a folder that is no run",
            hint="Name a run that has been trained, e.g. runs/mt50, or a JSON file of losses.",
        )
    told: Sequence[Mapping[str, Any]] = read_json(run.manifest)["tasks"]
    ids = [str(task["id"]) for task in told]
    rows = summarise(read_events(run.events)).task_losses
    first = max(rows, default=0) * (1.0 - LAST)
    sums, samples = dict.fromkeys(ids, 0.0), dict.fromkeys(ids, 0)
    for row in (row for step, row in rows.items() if step > first):
        for task, loss, count in zip(ids, row["losses"], row["samples"], strict=True):
            if isinstance(loss, int | float) and math.isfinite(loss):
                sums[task] += loss * count
                samples[task] += count
    return {task: sums[task] / count for task, count in samples.items() if count}


def _of_file(path: Path) -> dict[str, float]:
    losses: dict[str, float] = {}
    for task, loss in read_json(path).items():
        known = isinstance(loss, int | float) and not isinstance(loss, bool)
        if not known or not math.isfinite(loss) or loss < 0:
            raise ConfigError(
                f"{path}: the loss of {task} is {loss!r}, not a number of at least 0",
                hint='Write one object, e.g. {"mt50/0": 0.12, "mt50/1": 0.3}.',
            )
        losses[task] = float(loss)
    return losses
