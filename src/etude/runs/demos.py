"""Recording a benchmark's scripted experts as a dataset, once, whatever interrupts it."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from etude.core.errors import SimulatorError
from etude.core.kill_points import kill_point
from etude.core.protocols import Benchmark, Progress
from etude.core.types import Task
from etude.datasets.writer import RecordedEpisode, write_dataset
from etude.evaluate.environments import Builder, build_benchmark
from etude.runs.demo_provenance import identity_of, provenance_of, read_provenance, settings_of
from etude.runs.demo_shards import DemoShards
from etude.runs.demo_workers import RecordingJob, TaskOutcome, record_tasks
from etude.runs.demos_config import DemosConfig
from etude.runs.recording import TaskRecording
from etude.store.layout import RunFolder

PHASE = "demonstrations"


@dataclass(frozen=True, slots=True, kw_only=True)
class DemosOutcome:
    """A complete dataset of demonstrations."""

    folder: Path
    episodes: int
    frames: int
    attempts: int
    """Episodes that were tried for it, failed ones included."""
    seconds: float
    """What this call took."""
    reused: bool
    """It was there already."""


def record_demos(
    config: DemosConfig,
    *,
    simulator: str,
    builder: Builder,
    folder: Path,
    progress: Progress,
    stopping: Callable[[], bool] = lambda: False,
) -> DemosOutcome:
    """Record every task of a benchmark into the dataset `folder`, or find it recorded already.

    The dataset is the same to the byte for any number of processes, and after any kill: what is
    finished stands in a sibling folder, `.<name>.recording`, until the dataset is in place.

    Args:
        simulator: The benchmark's plug-in name, for the record.
        builder: Builds the benchmark, here and in each recording process.
        stopping: Asked twice a second whether to give up.

    Raises:
        StateError: `folder` is something else, or another process records it.
        SimulatorError: Tasks missed their quota, or a recording process died.
        Interrupted: `stopping` said so.
        StorageError: Something cannot be written.
    """
    begun = time.perf_counter()
    settings = settings_of(config, simulator=simulator, builder=builder)
    shards = DemoShards(folder.with_name(f".{folder.name}.recording"))
    reused = _exists(folder)
    if not reused:
        with RunFolder(shards.root).claim():
            if not _exists(folder):  # another process may have finished it since
                shards.begin(identity_of(settings))
                benchmark = build_benchmark(builder)
                job = RecordingJob(builder=builder, config=config, shards=shards.root)
                _record_missing(benchmark, job, progress=progress, stopping=stopping)
                kill_point("demos.merge_started")
                _merge(benchmark, shards, folder, settings=settings)
                kill_point("demos.merged")
    found = read_provenance(folder, settings)
    shards.remove()
    return DemosOutcome(
        folder=folder,
        episodes=len(found["seeds"]),
        frames=found["frames"],
        attempts=sum(found["attempts"].values()),
        seconds=time.perf_counter() - begun,
        reused=reused,
    )


def _record_missing(
    benchmark: Benchmark,
    job: RecordingJob,
    *,
    progress: Progress,
    stopping: Callable[[], bool],
) -> None:
    """Record the tasks that have no shard yet.

    Raises:
        SimulatorError: Some tasks missed their quota; all others are finished.
    """
    shards = DemoShards(job.shards)
    missing = [task for task in benchmark.tasks if not shards.holds(task)]
    kept, total = len(benchmark.tasks) - len(missing), len(benchmark.tasks)
    progress(PHASE, kept, total, f"{kept} tasks were finished before" if kept else "")
    short: list[TaskOutcome] = []
    outcomes = record_tasks(
        _hardest_first(missing, benchmark.groups),
        job,
        processes=job.config.processes or len(os.sched_getaffinity(0)),
        stopping=stopping,
    )
    with closing(outcomes):
        for done, outcome in enumerate(outcomes, start=kept + 1):
            short += [outcome] if outcome.kept < job.config.episodes else []
            progress(PHASE, done, total, outcome.task.name)
    if short:
        raise _shortage(short, job.config)


def _hardest_first(tasks: Sequence[Task], groups: Mapping[str, Sequence[str]]) -> list[Task]:
    """Return `tasks` with the longest recordings first, so that no process waits at the end."""
    ranks = {name: rank for rank, names in enumerate(groups.values()) for name in names}
    return sorted(tasks, key=lambda task: -ranks.get(task.name, 0))


def _shortage(short: Sequence[TaskOutcome], config: DemosConfig) -> SimulatorError:
    faults = [
        f"{outcome.task.name} reached {outcome.kept} of {config.episodes} demonstrations in "
        f"{outcome.attempts} attempts"
        + (f" (the simulator broke: {outcome.error})" if outcome.error else "")
        for outcome in sorted(short, key=lambda outcome: outcome.task.index)
    ]
    return SimulatorError(
        "; ".join(faults),
        hint="Raise --demos.tries or lower --demos.noise; finished tasks are kept "
        "unless other settings than tries change.",
    )


def _merge(
    benchmark: Benchmark, shards: DemoShards, folder: Path, *, settings: Mapping[str, Any]
) -> None:
    """Make a dataset of the shards, in task order."""
    recordings = [(task, shards.read(task)) for task in benchmark.tasks]
    write_dataset(
        folder,
        fps=benchmark.fps,
        robot_type=str(settings["simulator"]["use"]),
        # In a dataset the tasks are numbered by their place, also where a benchmark leaves gaps.
        tasks=[replace(task, index=place) for place, task in enumerate(benchmark.tasks)],
        state_names=[f"state_{number}" for number in range(benchmark.state_dim)],
        action_names=[f"action_{number}" for number in range(benchmark.action_dim)],
        episodes=_episodes([recording for _, recording in recordings]),
        extra_meta=provenance_of(settings, recordings),
    )


def _episodes(recordings: Sequence[TaskRecording]) -> Iterator[RecordedEpisode]:
    for place, recording in enumerate(recordings):
        for demonstration in recording.demonstrations:
            yield RecordedEpisode(
                task_index=place,
                states=demonstration.states,
                actions=demonstration.actions,
                success=demonstration.success,
            )


def _exists(folder: Path) -> bool:
    return folder.exists() or folder.is_symlink()
