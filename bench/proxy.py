"""How well open-loop scores follow closed-loop success, over policies of very different quality.

Every policy of `checkpoints.py` is asked at every frame of demonstrations that none was trained on.
Scores of tasks are compared with success rates: across policies (means over tasks), across the
tasks of one policy, and across policies for one task. Scores are chosen on one half of the policies
and reported on the other as well.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64

from checkpoints import EPISODES, WORK, Checkpoint, checkpoints, held_out_data, success_of
from etude.core.protocols import Dataset
from etude.core.types import EpisodeSpan, Observation, TaskId, WindowChoice, WindowSpec
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.lerobot_v3 import open_dataset
from etude.policies.chunk_policy import load_chunk_policy
from etude.scan.fold import WORST
from etude.scan.groups import action_groups, gripper_dims
from etude.scan.panel import Chooser
from etude.scan.scan_config import ScanConfig, parse_groups
from etude.scan.score import Judge
from etude.scan.strata import STRATA, importance, robot_path, strata_of
from etude.scan.units import Units, measure_units
from proxy_figures import TaskWindows, correlations, figures, fit_tau, reliability
from proxy_scores import SCORES, Predictions
from result import publish

HORIZON = 8
EXECUTED = 4
GROUPS = ("arm=0-2", "gripper=3")
WINDOWS = 32
"""Of each task's panel."""
PANEL, DENSE = "GMSE of the panel", "GMSE of every frame"
PASSING = 0.875
"""Half-way between the pass rates at which a task passes and fails."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Held:
    """The demonstrations that all policies are asked about."""

    dataset: Dataset
    judge: Judge
    told: Predictions
    """Without predictions."""
    choices: Sequence[WindowChoice]
    """Every frame, in order."""
    panels: Sequence[Sequence[int]]
    """The places in `choices` of each task's panel."""
    weights: Sequence[Sequence[float]]


def held_out(windows: int) -> Held:
    """Read the demonstrations and choose a panel of each task."""
    dataset = open_dataset(LeRobotConfig(root=str(held_out_data())))
    groups = action_groups(dataset.spec, parse_groups(GROUPS))
    units = measure_units(dataset, dataset.episodes, actions="auto")
    judge = Judge(dataset, groups=groups, units=units, horizon=EXECUTED)
    config = ScanConfig(groups=GROUPS, windows_per_task=windows)
    chooser = Chooser(
        dataset=dataset,
        config=config,
        horizon=EXECUTED,
        grippers=gripper_dims(groups),
        units=units,
    )
    by_task: dict[TaskId, list[EpisodeSpan]] = {task.id: [] for task in dataset.spec.tasks}
    for episode in dataset.episodes:
        by_task[episode.task].append(episode)
    starts = {episode.index: episode.start for episode in dataset.episodes}
    plans = [chooser.plan(task, spans, most=windows) for task, spans in by_task.items()]
    return Held(
        dataset=dataset,
        judge=judge,
        told=_recorded(dataset, units),
        choices=[
            WindowChoice(
                task=span.task, episode=span.index, frame=frame, stratum="all", weight=1.0, seed=0
            )
            for span in dataset.episodes
            for frame in range(span.length)
        ],
        panels=[[starts[c.episode] + c.frame for c in plan.choices] for plan in plans],
        weights=[plan.weights(plan.choices) for plan in plans],
    )


def _recorded(dataset: Dataset, units: Units) -> Predictions:
    rows = np.arange(dataset.episodes[-1].stop)
    windows = dataset.windows(rows, WindowSpec(action_offsets=tuple(range(-1, HORIZON))))
    frames = np.concatenate([np.arange(span.length) for span in dataset.episodes])
    strata: list[Any] = []
    for span in dataset.episodes:
        actions = dataset.columns(span).actions.astype(np.float64)
        path = robot_path(actions, moves=units.moves, grippers=(3,))
        strata += strata_of([path], [actions[:, 3:]], gripper_ranges=units.ranges[3:])
    actions = windows.actions.astype(np.float64)
    return Predictions(
        predicted=actions[:, 1:],
        recorded=actions[:, 1:],
        valid=windows.actions_valid[:, 1:],
        tasks=windows.tasks,
        frames=frames,
        strata=np.concatenate(strata).astype(np.int64),
        last=actions[:, 0],
    )


def predictions(checkpoint: Checkpoint, held: Held) -> Predictions:
    """Ask a policy at every frame, or read what an earlier call has kept."""
    kept = WORK / "predictions" / f"{checkpoint.run.name}.npy"
    if not kept.exists():
        kept.parent.mkdir(exist_ok=True)
        np.save(kept, _ask(checkpoint.folder, held.dataset))
    return replace(held.told, predicted=np.load(kept).astype(np.float64))


def _ask(folder: Path, dataset: Dataset) -> np.ndarray:
    policy = load_chunk_policy(folder)
    windows = dataset.windows(np.arange(dataset.episodes[-1].stop), WindowSpec(action_offsets=(0,)))
    tasks = [dataset.spec.tasks[place] for place in windows.tasks.tolist()]
    seen = [
        Observation(task=task.id, state=state, instruction=task.text)
        for task, state in zip(tasks, windows.states[:, 0], strict=True)
    ]
    chunks = [policy.act(seen[at : at + 1024], seed=0) for at in range(0, len(seen), 1024)]
    return np.stack([chunk.actions for call in chunks for chunk in call])


def program_scores(
    held: Held, told: Predictions
) -> tuple[dict[str, Float64[np.ndarray, " tasks"]], list[TaskWindows]]:
    """Return the scores that a scan gives, and the worst group's ratio of each task's windows."""
    squared = told.squared().tolist()
    scores = held.judge.scores(held.choices, squared, squared)
    gmse = np.minimum([score.gmse for score in scores], WORST)
    worst = np.array([max(score.groups.values()) for score in scores])
    counts = np.array([importance(name) for name in STRATA])[told.strata]
    mine = [np.flatnonzero(told.tasks == task) for task in range(len(held.panels))]
    panel = [
        np.average(gmse[list(rows)], weights=counts[list(rows)] * np.array(weights))
        for rows, weights in zip(held.panels, held.weights, strict=True)
    ]
    dense = np.array([np.average(gmse[rows], weights=counts[rows]) for rows in mine])
    told_apart = [TaskWindows(worst=worst[rows], weights=counts[rows]) for rows in mine]
    return {PANEL: np.array(panel), DENSE: dense}, told_apart


def main() -> None:
    """Print one JSON object and keep it in bench/results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", type=int, default=len(checkpoints()))
    given = parser.parse_args()
    held = held_out(WINDOWS)
    names = [task.name for task in held.dataset.spec.tasks]
    scores: dict[str, list[Float64[np.ndarray, " tasks"]]] = {}
    success: list[list[float]] = []
    worst: list[list[TaskWindows]] = []
    chosen = checkpoints()[: given.policies]
    for checkpoint in chosen:
        rates = {task["name"]: task["rate"] for task in success_of(checkpoint)["per_task"]}
        success.append([rates[name] for name in names])
        told = predictions(checkpoint, held)
        ours, ratios = program_scores(held, told)
        worst.append(ratios)
        for name, found in {**ours, **{name: each(told) for name, each in SCORES.items()}}.items():
            scores.setdefault(name, []).append(found)
    tables = {name: np.stack(rows) for name, rows in scores.items()}
    publish("proxy", results(tables, np.array(success), worst, chosen))


def results(
    tables: Mapping[str, Float64[np.ndarray, "policies tasks"]],
    success: Float64[np.ndarray, "policies tasks"],
    worst: Sequence[Sequence[TaskWindows]],
    chosen: Sequence[Checkpoint],
) -> dict[str, object]:
    """Return all figures: of all policies, and of two halves that share no policy."""
    halves = {"chosen_on": slice(0, None, 2), "reported_on": slice(1, None, 2)}
    return {
        "policies": len(chosen),
        "tasks": success.shape[1],
        "episodes_a_task": EPISODES,
        "success": {
            c.run.name: round(float(s.mean()), 4) for c, s in zip(chosen, success, strict=True)
        },
        "reliability_across_tasks": round(reliability(success, episodes=EPISODES), 3),
        "scores": {
            name: {
                **figures(table, success),
                "halves": {
                    half: rounded(correlations(table[part], success[part]))
                    for half, part in halves.items()
                },
            }
            for name, table in tables.items()
        },
        "threshold": {
            half: fit_tau(worst[part], success[part], passing=PASSING)
            for half, part in halves.items()
        },
    }


def rounded(values: Mapping[str, float]) -> dict[str, float]:
    """Return values with three digits."""
    return {name: round(value, 3) for name, value in values.items()}


if __name__ == "__main__":
    main()
