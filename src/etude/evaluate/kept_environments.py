"""Environment processes that stay alive, for short episodes that are played again and again.

An environment is made when its task is first played, which takes up to a second, and then only
reset. A process that dies takes its running episodes with it, and is started anew for the next.
"""

import multiprocessing
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import cast

import numpy as np
from jaxtyping import Float32

from etude.core.errors import EtudeError
from etude.core.processes import one_thread_each
from etude.core.protocols import Policy, Ranks
from etude.core.ranks import together
from etude.core.types import Observation, TaskId
from etude.evaluate.environments import Builder, build_benchmark
from etude.evaluate.kept_benchmark import KeptBenchmark
from etude.evaluate.rollout import Job, Lane, PlayedEpisode, Rules, lost_episode

Actions = Float32[np.ndarray, "played action"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of some episodes."""

    episodes: tuple[PlayedEpisode, ...]
    refused: frozenset[TaskId]
    """Tasks for which the policy returned what cannot be played; their episodes tell nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Report:
    """What a process says after each round."""

    states: tuple[Float32[np.ndarray, " state"], ...]
    cursors: tuple[int, ...]
    finished: tuple[PlayedEpisode, ...]


class KeptEnvironments:
    """Plays one lane of episodes for each task. A task always lives in the same process."""

    def __init__(self, builder: Builder, *, rules: Rules, processes: int) -> None:
        self._workers = [_Worker(builder, rules) for _ in range(processes)]

    def play(
        self,
        policy: Policy,
        lanes: Mapping[TaskId, Sequence[Job]],
        *,
        homes: Mapping[TaskId, int],
        idle: Observation,
        ranks: Ranks,
    ) -> Played:
        """Play all jobs of all lanes, asking `policy` once a round for all of them.

        Ranks call it together and ask equally often, as ranks that share one module must.

        Args:
            policy: Acts.
            lanes: The episodes of each task.
            homes: A number for each task, which decides in which process it lives.
            idle: What the policy is asked about when there is nothing to play.
            ranks: Who plays together.

        Raises:
            EtudeError: The benchmark cannot be built.
        """
        count = len(self._workers)
        episodes: list[PlayedEpisode] = []
        refused: set[TaskId] = set()

        def begin() -> bool:
            for place, worker in enumerate(self._workers):
                mine = {t: tuple(jobs) for t, jobs in lanes.items() if homes[t] % count == place}
                worker.begin(mine)
            for worker in self._workers:
                episodes.extend(worker.receive())
            return bool(self._running(refused))

        def go_on() -> bool:
            running = self._running(refused)
            actions = _choose(policy, running, lanes=max(1, len(lanes)), idle=idle)
            refused.update(set(running) - set(actions))
            for worker in [worker for worker in self._workers if worker.send(actions)]:
                episodes.extend(worker.receive())
            return bool(self._running(refused))

        playing = any(together(ranks, begin))
        while playing:
            playing = any(together(ranks, go_on))
        for worker in self._workers:
            worker.end()
        return Played(episodes=tuple(episodes), refused=frozenset(refused))

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.stop()

    def _running(self, refused: set[TaskId]) -> dict[TaskId, Observation]:
        seen = {task: each for worker in self._workers for task, each in worker.running().items()}
        return {task: each for task, each in seen.items() if task not in refused}


class _Worker:
    """This side of one environment process."""

    def __init__(self, builder: Builder, rules: Rules) -> None:
        self._builder = builder
        self._rules = rules
        self._jobs: dict[TaskId, tuple[Job, ...]] = {}
        self._cursors: dict[TaskId, int] = {}
        self._states: dict[TaskId, np.ndarray] = {}
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    def begin(self, jobs: dict[TaskId, tuple[Job, ...]]) -> None:
        """Start to play; the first report follows."""
        self._jobs, self._cursors = jobs, dict.fromkeys(jobs, 0)
        if not jobs:
            return
        if self._process is None or not self._process.is_alive():
            self.stop()
            self._start()
        self._tell(tuple(jobs.values()))

    def running(self) -> dict[TaskId, Observation]:
        """Return what is seen in each lane that has a job left."""
        return {
            task: Observation(
                task=task, state=self._states[task], instruction=jobs[self._cursors[task]].task.text
            )
            for task, jobs in self._jobs.items()
            if self._cursors[task] < len(jobs)
        }

    def send(self, actions: Mapping[TaskId, Actions]) -> bool:
        """Play the actions of this process's lanes; False if it has none of them."""
        mine = [actions.get(task) for task in self._jobs]
        if all(each is None for each in mine):
            return False
        self._tell(mine)
        return True

    def receive(self) -> list[PlayedEpisode]:
        """Return the episodes that ended; those of a process that died have ended in an error."""
        if not self._jobs:
            return []
        assert self._connection is not None
        try:
            told = self._connection.recv()
        except (EOFError, ConnectionResetError):
            return self._bury()
        if isinstance(told, EtudeError):
            raise told
        report = cast("_Report", told)
        self._cursors = dict(zip(self._jobs, report.cursors, strict=True))
        self._states = dict(zip(self._jobs, report.states, strict=True))
        return list(report.finished)

    def end(self) -> None:
        """Leave the lanes, finished or not; the environments stay."""
        if self._jobs and self._connection is not None:
            self._tell(None)
        self._jobs = {}

    def stop(self) -> None:
        """End the process: it leaves by itself once nobody talks to it."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.join(timeout=5)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
        self._process, self._connection = None, None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        with one_thread_each():
            process = context.Process(
                target=_serve, args=(theirs, self._builder, self._rules), daemon=True
            )
            process.start()
        theirs.close()
        self._process, self._connection = process, ours

    def _tell(self, message: object) -> None:
        assert self._connection is not None
        try:
            self._connection.send(message)
        except (BrokenPipeError, ConnectionResetError):
            return  # the death is noticed by receive(), or when the next episodes begin

    def _bury(self) -> list[PlayedEpisode]:
        self.stop()
        lost = [job for task, jobs in self._jobs.items() for job in jobs[self._cursors[task] :]]
        self._jobs = {}
        return [lost_episode(job, "its environment process died") for job in lost]


def _serve(connection: Connection, builder: Builder, rules: Rules) -> None:
    """Live as an environment process until the other side is gone."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)  # sent to the whole group; the other side answers it
    benchmark: KeptBenchmark | None = None
    try:
        benchmark = KeptBenchmark(build_benchmark(builder))
        while True:
            lanes = [Lane(benchmark, jobs, rules) for jobs in connection.recv()]
            _play(connection, lanes)
    except EtudeError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    finally:
        if benchmark is not None:
            benchmark.close()


def _play(connection: Connection, lanes: Sequence[Lane]) -> None:
    """Play until the other side says that it is over."""
    finished = [episode for lane in lanes for episode in lane.begin()]
    while True:
        connection.send(
            _Report(
                states=tuple(lane.state for lane in lanes),
                cursors=tuple(lane.cursor for lane in lanes),
                finished=tuple(finished),
            )
        )
        actions: list[np.ndarray | None] | None = connection.recv()
        if actions is None:
            break
        finished.clear()
        for lane, played in zip(lanes, actions, strict=True):
            if played is not None:
                finished += lane.play(played)
    for lane in lanes:
        lane.close()


def _choose(
    policy: Policy, running: Mapping[TaskId, Observation], *, lanes: int, idle: Observation
) -> dict[TaskId, Actions]:
    """Ask the policy once about all lanes; those that it has no playable answer for are missing."""
    seen = list(running.values())
    filler = [seen[0] if seen else idle] * (lanes - len(seen))
    chunks = policy.act([*seen, *filler], seed=0)
    chosen: dict[TaskId, Actions] = {}
    for task, chunk in zip(running, chunks, strict=False):
        actions = chunk.actions[: policy.execute][chunk.valid[: policy.execute]]
        if len(actions) and np.isfinite(actions).all():
            chosen[task] = actions
    return chosen
