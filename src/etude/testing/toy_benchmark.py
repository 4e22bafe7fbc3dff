"""A benchmark without a simulator: a table says how each episode of each seed goes."""

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from etude.core.errors import SimulatorError
from etude.core.protocols import Expert, Simulator, SimulatorStep
from etude.core.types import Task, TaskId

STATE_DIM = 4
ACTION_DIM = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyEpisode:
    """What happens in one episode. Steps count from 1; at 0 is the reset."""

    success_steps: tuple[int, ...] = ()
    """Steps at which the task shows as solved; step 1 means that it was solved at reset."""
    ends_at: int | None = None
    """Step at which the environment ends the episode by itself."""
    crash_at: int | None = None
    """Step at which it raises SimulatorError."""
    bug_at: int | None = None
    """Step at which it raises what no contract allows."""
    kill_at: int | None = None
    """Step at which its whole process dies as if by `kill -9`."""
    nan_at: int | None = None
    """Step whose state holds a NaN."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyBenchmarkConfig:
    """The table; plain data, so that a benchmark can be built in any process."""

    tasks: tuple[Task, ...]
    episodes: Mapping[tuple[TaskId, int], ToyEpisode] = field(
        default_factory=dict[tuple[TaskId, int], ToyEpisode]
    )
    """By task and seed."""
    default: ToyEpisode | None = None
    """For what the table does not hold; None lets the seed decide (two in three are solved)."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    log: str = ""
    """File to which every process appends a line for each make, reset, step and close."""
    broken: tuple[TaskId, ...] = ()
    """Tasks whose environment cannot be made."""


class ToyBenchmark:
    """A `Benchmark` that follows a table and counts what is asked of it."""

    def __init__(self, config: ToyBenchmarkConfig) -> None:
        self._config = config

    @property
    def tasks(self) -> Sequence[Task]:
        """All tasks of the table."""
        return self._config.tasks

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The groups of the table."""
        return dict(self._config.groups)

    @property
    def action_dim(self) -> int:
        """Two."""
        return ACTION_DIM

    @property
    def state_dim(self) -> int:
        """Four: task, a draw of the seed, step, and the sum of the first action."""
        return STATE_DIM

    @property
    def fps(self) -> int:
        """Ten."""
        return 10

    def make(self, task: Task) -> Simulator:
        """Build one environment of `task`.

        Raises:
            SimulatorError: The table calls the task broken.
        """
        if task.id in self._config.broken:
            raise SimulatorError(f"{task.id} cannot be made")
        return ToySimulator(self._config, task)

    def expert(self, task: Task) -> Expert:
        """Return the expert that every toy task shares."""
        del task
        return ToyExpert()


class ToySimulator:
    """One environment of the table."""

    def __init__(self, config: ToyBenchmarkConfig, task: Task) -> None:
        self._config = config
        self._task = task
        self._draw = 0.0
        self._step = 0
        self._pushed = 0.0
        self._episode = ToyEpisode()
        self._note("make")

    def reset(self, *, seed: int) -> Float32[np.ndarray, " state"]:
        """Begin the episode that the table holds for `seed`.

        Raises:
            SimulatorError: The table says so.
        """
        self._note(f"reset {seed}")
        found = self._config.episodes.get((self._task.id, seed), self._config.default)
        self._episode = found if found is not None else _drawn(self._task.index, seed)
        self._draw = float(np.random.default_rng([self._task.index, seed]).random())
        self._step, self._pushed = 0, 0.0
        self._happen()
        return self._state()

    def step(self, action: Float32[np.ndarray, " action"]) -> SimulatorStep:
        """Do what the table holds for the next step; the reward is the action's first number.

        Raises:
            SimulatorError: The table says so, or the action has another shape.
        """
        if action.shape != (ACTION_DIM,):
            raise SimulatorError(f"the action has shape {action.shape}, not ({ACTION_DIM},)")
        self._step += 1
        self._pushed += float(action[0])
        self._note(f"step {self._step}")
        self._happen()
        return SimulatorStep(
            state=self._state(),
            reward=float(action[0]),
            success=self._step in self._episode.success_steps,
            terminated=self._step == self._episode.ends_at,
        )

    def close(self) -> None:
        """Note that it was closed."""
        self._note("close")

    def _happen(self) -> None:
        if self._step == self._episode.crash_at:
            raise SimulatorError(f"the toy broke at step {self._step}")
        if self._step == self._episode.bug_at:
            raise ZeroDivisionError(f"the toy has a bug at step {self._step}")
        if self._step == self._episode.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def _state(self) -> np.ndarray:
        last = np.nan if self._step == self._episode.nan_at else self._pushed
        return np.array([self._task.index, self._draw, self._step, last], np.float32)

    def _note(self, what: str) -> None:
        if self._config.log:
            with Path(self._config.log).open("a") as file:
                file.write(f"{self._task.id} {what}\n")


class ToyExpert:
    """Pushes by the mean of the state, as `ToyPolicy` does."""

    def action(self, state: Float32[np.ndarray, " state"]) -> Float32[np.ndarray, " action"]:
        """Return the mean of `state`, clipped to [-1, 1], in both dimensions."""
        return np.full(ACTION_DIM, np.clip(state.mean(), -1, 1), np.float32)


def build_toy_benchmark(config: ToyBenchmarkConfig) -> ToyBenchmark:
    """Build the benchmark of a table."""
    return ToyBenchmark(config)


def toy_builder(config: ToyBenchmarkConfig) -> tuple[str, ToyBenchmarkConfig]:
    """Return what another process needs to build the same benchmark."""
    return f"{__name__}:{build_toy_benchmark.__name__}", config


def calls_of(log: Path, what: str) -> int:
    """Return how many logged lines say `what`, for example "reset"."""
    lines = log.read_text().splitlines() if log.exists() else []
    return sum(line.split()[1] == what for line in lines)


def _drawn(index: int, seed: int) -> ToyEpisode:
    luck = int(np.random.default_rng([index, seed, 1]).integers(15))
    return ToyEpisode(success_steps=() if luck % 3 == 0 else (2 + luck // 3,))
