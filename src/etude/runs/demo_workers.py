"""The processes that record: each takes the next task as soon as it is free."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from etude.core.errors import EtudeError, Interrupted, SimulatorError
from etude.core.kill_points import kill_point
from etude.core.processes import one_thread_each
from etude.core.types import Task
from etude.evaluate.environments import Builder, build_benchmark
from etude.runs.demo_shards import DemoShards
from etude.runs.demos_config import DemosConfig
from etude.runs.recording import record_task

_POLL_S = 0.5
"""How often a wish to stop is noticed."""
_GRACE_S = 5.0
"""How long a process may take to end before it is killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """How the recording of one task ended."""

    task: Task
    kept: int
    attempts: int
    error: str
    """What the simulator said last when it broke in an attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingJob:
    """What a recording process needs to know; travels to it by pickling."""

    builder: Builder
    config: DemosConfig
    shards: Path


def record_tasks(
    tasks: Sequence[Task], job: RecordingJob, *, processes: int, stopping: Callable[[], bool]
) -> Generator[TaskOutcome, None, None]:
    """Record `tasks` in that order, on `processes` processes, and yield each one's outcome.

    A task that met its quota is in its shard when its outcome is yielded.

    Raises:
        EtudeError: A process met one.
        Interrupted: `stopping` said so; tasks that were not finished are lost.
        SimulatorError: A process died.
    """
    waiting = deque(tasks)
    workers: list[_Worker] = []
    try:
        with one_thread_each():
            workers += [_Worker(job) for _ in range(min(processes, len(tasks)))]
        for worker in workers:
            worker.take(waiting)
        while busy := [worker for worker in workers if worker.task]:
            heard = wait([worker.connection for worker in busy], timeout=_POLL_S)
            if stopping():
                raise Interrupted(
                    f"the recording stopped with {len(waiting)} tasks not begun",
                    hint="Run the same command again; finished tasks are kept.",
                )
            for worker in busy:
                if worker.connection in heard:
                    yield worker.outcome()
                    worker.take(waiting)
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """One recording process, seen from the other side."""

    def __init__(self, job: RecordingJob) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, far_end = context.Pipe()
        self.task: Task | None = None
        self._process: SpawnProcess = context.Process(
            target=_work, args=(far_end, job), daemon=True
        )
        self._process.start()
        far_end.close()  # so that the death of the process ends the connection

    def take(self, waiting: deque[Task]) -> None:
        """Begin the next waiting task, if there is one."""
        self.task = waiting.popleft() if waiting else None
        if self.task:
            # A process that has died is noticed where its answer is awaited.
            with suppress(BrokenPipeError, ConnectionResetError):
                self.connection.send(self.task)

    def outcome(self) -> TaskOutcome:
        """Return what the process says about its task.

        Raises:
            EtudeError: It met one, or died.
        """
        try:
            said: TaskOutcome | EtudeError = self.connection.recv()
        except (EOFError, ConnectionResetError) as error:
            raise self._death() from error
        if isinstance(said, EtudeError):
            raise said
        return said

    def stop(self) -> None:
        """End the process, in the middle of a task if need be."""
        self.connection.close()
        if self.task:
            self._process.kill()  # safe: what it has finished is on disk whole
        self._process.join(_GRACE_S)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()

    def _death(self) -> SimulatorError:
        self._process.join(_GRACE_S)
        code = self._process.exitcode or 0
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        name = self.task.name if self.task else "no task"
        return SimulatorError(
            f"the process that recorded {name} {how}",
            hint="Free some memory or lower --demos.processes, then run the same command again; "
            "finished tasks are kept.",
        )


def _work(connection: Connection, job: RecordingJob) -> None:
    """Live as a recording process until the other side is gone."""
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)  # sent to the whole group; the other side answers it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        benchmark = build_benchmark(job.builder)
        shards = DemoShards(job.shards)
        while True:
            task: Task = connection.recv()
            recording = record_task(benchmark, task, job.config)
            if len(recording.demonstrations) == job.config.episodes:
                shards.write(task, recording)
                kill_point("demos.task_written")
            connection.send(
                TaskOutcome(
                    task=task,
                    kept=len(recording.demonstrations),
                    attempts=recording.attempts,
                    error=recording.error,
                )
            )
    except EtudeError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _end_with_parent() -> None:
    """Wait for the death of the parent, which may have had no time to say goodbye."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
