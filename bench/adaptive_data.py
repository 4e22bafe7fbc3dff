"""Demonstrations for the regimes in which rules are compared."""

import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from etude.core.types import EpisodeSpan
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.lerobot_v3 import LeRobotDataset, open_dataset
from etude.datasets.writer import RecordedEpisode, write_dataset
from etude.runs.demo_provenance import PROVENANCE_FILE
from etude.simulators.groups import DIFFICULTY_GROUPS
from etude.store.atomic import read_json

ROOT = Path(__file__).parents[1]
WORK = ROOT / "bench" / "work" / "adaptive"
DEMOS = 50
"""Demonstrations of a task where there are enough of them."""
FEWEST = 2
"""Demonstrations of the task that has the fewest, where data are unequal."""
NEW = 6
"""Tasks that a policy meets which knows the others."""
CORRUPTED = 2
"""Tasks whose actions are shuffled."""
NAMES = sorted(name for names in DIFFICULTY_GROUPS.values() for name in names)
"""Of all tasks, in the order of their numbers."""

Change = Callable[[RecordedEpisode], RecordedEpisode]


def etude(command: str, settings: Sequence[str]) -> dict[str, Any]:
    """Run a command on the recipe of the main job and return what it prints."""
    words = [sys.executable, "-m", "etude", command, "recipes/mt50.toml", *settings, "--json"]
    done = subprocess.run(words, stdout=subprocess.PIPE, cwd=ROOT, check=True)
    return json.loads(done.stdout)


def all_demonstrations() -> Path:
    """Return the folder of the demonstrations of all tasks, recorded if need be."""
    folder = WORK / f"data-{DEMOS}"
    if not folder.exists():
        etude("demos", ("--dataset.root", str(folder), "--demos.episodes", str(DEMOS)))
    return folder


def new_tasks(seed: int) -> list[int]:
    """Return which tasks are new; over all seeds, each of the harder ones is about equally often.

    Easy ones are learned in 50 steps from what the policy knows of others, whatever is drawn.
    """
    harder = [place for place, name in enumerate(NAMES) if name not in DIFFICULTY_GROUPS["easy"]]
    order = random.Random("new").sample(harder, len(harder))
    return sorted(order[(seed * NEW + place) % len(order)] for place in range(NEW))


def corrupted_tasks(seed: int, tasks: int = 50) -> list[int]:
    """Return the tasks whose actions are shuffled, others for every seed."""
    order = random.Random("corrupted").sample(range(tasks), tasks)
    return sorted(order[(seed * CORRUPTED + place) % tasks] for place in range(CORRUPTED))


def unequal_counts(seed: int, tasks: int = 50) -> list[int]:
    """Return how many demonstrations each task has: evenly spread on a logarithmic scale."""
    places = random.Random(f"unequal {seed}").sample(range(tasks), tasks)
    return [round(FEWEST * (DEMOS / FEWEST) ** (place / (tasks - 1))) for place in places]


def known_part(seed: int) -> Path:
    """Return the demonstrations of the tasks that are not new."""
    new = new_tasks(seed)
    return _subset(f"data-known-{seed}", lambda task: 0 if task in new else DEMOS)


def unequal_part(seed: int) -> Path:
    """Return demonstrations of which some tasks have few and some have many."""
    counts = unequal_counts(seed)
    return _subset(f"data-unequal-{seed}", lambda task: counts[task])


def corrupted_part(seed: int) -> Path:
    """Return all demonstrations, with shuffled actions in two tasks."""
    bad, generator = corrupted_tasks(seed), np.random.default_rng(seed)

    def shuffled(episode: RecordedEpisode) -> RecordedEpisode:
        if episode.task_index not in bad:
            return episode
        return replace(episode, actions=generator.permutation(episode.actions))

    return _subset(f"data-corrupted-{seed}", lambda _: DEMOS, change=shuffled)


def _subset(name: str, counts: Callable[[int], int], change: Change | None = None) -> Path:
    folder = WORK / name
    if folder.exists():
        return folder
    dataset = open_dataset(LeRobotConfig(root=str(all_demonstrations())))
    told = read_json(all_demonstrations() / PROVENANCE_FILE)
    places = {task.id: task.index for task in dataset.spec.tasks}
    taken: dict[int, int] = {}
    chosen: list[tuple[int, EpisodeSpan]] = []
    for span in dataset.episodes:
        place = places[span.task]
        taken[place] = taken.get(place, 0) + 1
        if taken[place] <= counts(place):
            chosen.append((place, span))
    recorded = (_episode(dataset, place, span) for place, span in chosen)
    write_dataset(
        folder,
        fps=round(dataset.spec.fps),
        robot_type="metaworld",
        tasks=dataset.spec.tasks,
        state_names=[f"state_{number}" for number in range(dataset.spec.state_dim)],
        action_names=[f"action_{number}" for number in range(dataset.spec.action_dim)],
        episodes=map(change, recorded) if change else recorded,
        extra_meta={name: told[name] for name in ("settings", "versions")},
    )
    return folder


def _episode(dataset: LeRobotDataset, place: int, span: EpisodeSpan) -> RecordedEpisode:
    columns = dataset.columns(span)
    return RecordedEpisode(task_index=place, states=columns.states, actions=columns.actions)
