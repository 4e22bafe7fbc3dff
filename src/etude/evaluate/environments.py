"""Environment processes that play all lanes of an evaluation in lock step."""

import multiprocessing
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, TypeAlias, cast

import numpy as np
from jaxtyping import Float32

from etude.core.closing import Closing
from etude.core.errors import EtudeError, SimulatorError
from etude.core.kill_points import kill_point
from etude.core.plugins import Plugin
from etude.core.processes import one_thread_each
from etude.core.protocols import Benchmark
from etude.evaluate.rollout import Job, Lane, PlayedEpisode, Rules, lost_episode

Builder: TypeAlias = tuple[str, Any]
"""`module:function` that builds a benchmark, and the config that it is called with."""

RESTARTS = 1
"""How often one process may die before the evaluation gives up."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Report:
    """What a process says after each round; one message for all of its lanes."""

    states: Float32[np.ndarray, "lanes state"]
    cursors: tuple[int, ...]
    finished: tuple[PlayedEpisode, ...]


class EnvironmentPool(Closing):
    """Plays lanes of jobs in several processes. Lane i lives in process i modulo their number."""

    def __init__(
        self, builder: Builder, lanes: Sequence[Sequence[Job]], *, rules: Rules, processes: int
    ) -> None:
        count = min(processes or len(os.sched_getaffinity(0)), len(lanes))
        self._lanes = len(lanes)
        self._workers = [
            _Worker(builder, {i: tuple(lanes[i]) for i in range(first, len(lanes), count)}, rules)
            for first in range(count)
        ]

    def __enter__(self) -> "EnvironmentPool":
        for worker in self._workers:
            worker.start()
        return super().__enter__()

    def close(self) -> None:
        """End all processes."""
        for worker in self._workers:
            worker.stop()

    @property
    def lanes(self) -> int:
        """Number of lanes, finished ones included: the batch size of the policy."""
        return self._lanes

    def running(self) -> dict[int, tuple[Job, Float32[np.ndarray, " state"]]]:
        """Return the running job of each lane that has one, and what is to be seen in it."""
        running = {lane: seen for worker in self._workers for lane, seen in worker.running()}
        return dict(sorted(running.items()))

    def open(self) -> list[PlayedEpisode]:
        """Wait until every lane has begun; return the episodes that broke before that.

        Raises:
            SimulatorError: A process died more often than it may.
            EtudeError: The benchmark cannot be built.
        """
        return [episode for worker in self._workers for episode in worker.receive()]

    def play(
        self, actions: Mapping[int, Float32[np.ndarray, "played action"]]
    ) -> list[PlayedEpisode]:
        """Play the given actions of each running lane; return the episodes that ended.

        Raises:
            SimulatorError: A process died more often than it may.
        """
        busy = [worker for worker in self._workers if worker.busy]
        for worker in busy:
            worker.send(actions)
        return [episode for worker in busy for episode in worker.receive()]


class _Worker:
    """This side of one environment process."""

    def __init__(self, builder: Builder, jobs: dict[int, tuple[Job, ...]], rules: Rules) -> None:
        self._builder = builder
        self._jobs = jobs
        self._rules = rules
        self._deaths = 0
        self._states: dict[int, np.ndarray] = {}
        self._cursors = dict.fromkeys(jobs, 0)
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    @property
    def busy(self) -> bool:
        """Whether a lane has jobs left."""
        return any(self._left(lane) for lane in self._jobs)

    def running(self) -> list[tuple[int, tuple[Job, np.ndarray]]]:
        return [
            (lane, (self._left(lane)[0], self._states[lane]))
            for lane in self._jobs
            if self._left(lane)
        ]

    def start(self) -> None:
        """Start a process that plays what is left."""
        self._jobs = {lane: self._left(lane) for lane in self._jobs if self._left(lane)}
        self._cursors = dict.fromkeys(self._jobs, 0)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        with one_thread_each():
            process = context.Process(
                target=_work,
                args=(theirs, self._builder, tuple(self._jobs.values()), self._rules),
                daemon=True,
            )
            process.start()
        theirs.close()
        self._process, self._connection = process, ours

    def send(self, actions: Mapping[int, np.ndarray]) -> None:
        assert self._connection is not None
        try:
            self._connection.send([actions.get(lane) for lane in self._jobs])
        except (BrokenPipeError, ConnectionResetError):
            return  # the death is noticed by receive(), which both calls end in

    def receive(self) -> list[PlayedEpisode]:
        """Return the episodes that ended; those of a process that died have ended in an error."""
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

    def stop(self) -> None:
        """End the process: it leaves by itself once nobody talks to it."""
        if self._connection is not None:
            self._connection.close()
        if self._process is None:
            return
        self._process.join(timeout=5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _left(self, lane: int) -> tuple[Job, ...]:
        return self._jobs[lane][self._cursors[lane] :]

    def _bury(self) -> list[PlayedEpisode]:
        self.stop()
        assert self._process is not None
        reason = f"its environment process died (exit code {self._process.exitcode})"
        lost = [self._left(lane)[0] for lane in self._jobs if self._left(lane)]
        if self._deaths == RESTARTS:
            names = ", ".join(dict.fromkeys(job.task.id for job in lost))
            raise SimulatorError(
                f"an environment process died again (exit code {self._process.exitcode}) "
                f"while it played {names}",
                hint="Free some memory or set --eval.processes lower, then evaluate again.",
            )
        self._deaths += 1
        self._cursors = {lane: at + bool(self._left(lane)) for lane, at in self._cursors.items()}
        episodes = [lost_episode(job, reason) for job in lost]
        if self.busy:
            self.start()
            return [*episodes, *self.receive()]
        return episodes


def _work(
    connection: Connection, builder: Builder, jobs: Sequence[Sequence[Job]], rules: Rules
) -> None:
    """Live as an environment process until the other side is gone."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)  # sent to the whole group; the other side answers it
    lanes: list[Lane] = []
    try:
        benchmark = build_benchmark(builder)
        lanes = [Lane(benchmark, each, rules) for each in jobs]
        connection.send(_report(lanes, [episode for lane in lanes for episode in lane.begin()]))
        while True:
            actions: list[np.ndarray | None] = connection.recv()
            finished: list[PlayedEpisode] = []
            for lane, played in zip(lanes, actions, strict=True):
                if played is not None:
                    finished += lane.play(played)
            kill_point("eval.round_played")
            connection.send(_report(lanes, finished))
    except EtudeError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    finally:
        for lane in lanes:
            lane.close()


def _report(lanes: Sequence[Lane], finished: Sequence[PlayedEpisode]) -> _Report:
    return _Report(
        states=np.stack([lane.state for lane in lanes]),
        cursors=tuple(lane.cursor for lane in lanes),
        finished=tuple(finished),
    )


def build_benchmark(builder: Builder) -> Benchmark:
    """Build the benchmark that `builder` names.

    Raises:
        MissingToolError: It needs a package that is not installed.
    """
    address, config = builder
    build = Plugin(config=cast("type[Any]", type(config)), build=address).builder()
    return cast("Benchmark", build(config))
