"""Demonstrations as long as those of a real robot: successes of one task, end to end.

Meta-World's experts are done after about a hundred steps. Here their successes follow each other
until an episode has a thousand frames. Between two of them the scene jumps to another start.
"""

import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from etude.core.processes import one_thread_each
from etude.core.types import Task
from etude.datasets.writer import RecordedEpisode, write_dataset
from etude.evaluate.environments import Builder, build_benchmark
from etude.runs.demos_config import DemosConfig
from etude.runs.recording import Demonstration, record_task
from etude.simulators.metaworld_config import PLUGIN, MetaworldConfig

HELD_OUT = 5
EPISODES = HELD_OUT + 2
"""Of each task; the further ones give a scan its units."""
FRAMES = 1_000
"""Least length of an episode."""
FIRST_SEED = 600_000
"""Beyond the seeds of all other demonstrations and evaluations."""
AT_ONCE = 25
"""Demonstrations that are recorded before it is counted how many more it takes."""
NOISE = 0.3
PROCESSES = 2
BUILDER: Builder = (PLUGIN.build, MetaworldConfig())


def long_data(folder: Path, *, tasks: int = 50, frames: int = FRAMES) -> Path:
    """Return the folder of the dataset, recorded if need be.

    Args:
        folder: Where it lies or is to lie.
        tasks: How many of the tasks it has, counted from the first.
        frames: Least length of an episode.
    """
    if folder.exists():
        return folder
    benchmark = build_benchmark(BUILDER)
    chosen = [replace(task, index=place) for place, task in enumerate(benchmark.tasks)][:tasks]
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_dataset(
        folder,
        fps=benchmark.fps,
        robot_type="metaworld",
        tasks=chosen,
        state_names=[f"state_{number}" for number in range(benchmark.state_dim)],
        action_names=[f"action_{number}" for number in range(benchmark.action_dim)],
        episodes=_recorded(list(benchmark.tasks)[:tasks], frames),
        extra_meta={"first_seed": FIRST_SEED, "noise": NOISE, "least_frames": frames},
    )
    return folder


def chains(task: Task, frames: int) -> list[RecordedEpisode]:
    """Return the episodes of a task, each as few demonstrations as make it long enough."""
    benchmark = build_benchmark(BUILDER)
    done: list[RecordedEpisode] = []
    links: list[Demonstration] = []
    seed = FIRST_SEED
    while len(done) < EPISODES:
        config = DemosConfig(episodes=AT_ONCE, noise=NOISE, seed=seed)
        recording = record_task(benchmark, task, config)
        if not recording.demonstrations:
            sys.exit(f"{task.name} was not solved in {recording.attempts} attempts")
        seed += recording.attempts
        for link in recording.demonstrations:
            links.append(link)
            if sum(len(each.states) for each in links) >= frames:
                done.append(_chained(task, links))
                links = []
    return done[:EPISODES]


def _recorded(tasks: Sequence[Task], frames: int) -> Iterator[RecordedEpisode]:
    context = multiprocessing.get_context("spawn")
    with one_thread_each(), ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        for place, episodes in enumerate(pool.map(chains, tasks, [frames] * len(tasks))):
            print(f"{tasks[place].name}: {len(episodes)} long episodes", file=sys.stderr)
            for episode in episodes:
                yield replace(episode, task_index=place)


def _chained(task: Task, links: Sequence[Demonstration]) -> RecordedEpisode:
    return RecordedEpisode(
        task_index=task.index,
        states=np.concatenate([link.states for link in links]),
        actions=np.concatenate([link.actions for link in links]),
        success=np.concatenate([link.success for link in links]),
    )
