"""Playing the episodes of one lane, one after the other, a few actions at a time."""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from jaxtyping import Float32

from etude.core.errors import EtudeError, SimulatorError
from etude.core.protocols import Benchmark, Simulator, SimulatorStep
from etude.core.types import EpisodeEnd, EpisodeResult, Task

T = TypeVar("T")

RESEED_STRIDE = 1_000_000
"""Added to the seed of an episode that is already solved at reset."""
MOST_RESEEDS = 10
"""Seeds passed over before an episode counts as an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One episode to play."""

    task: Task
    episode: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """When an episode is over."""

    max_steps: int
    to_the_end: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedEpisode:
    """A finished episode."""

    episode: int
    result: EpisodeResult
    first_success: int | None
    """Step of the first success, counted from 1."""
    wall_s: float
    """Seconds from reset to end, waiting for other lanes included."""


@dataclass(slots=True, kw_only=True)
class _Tally:
    """What has happened so far in the running episode."""

    seed: int
    reseeded: int
    begun: float
    steps: int = 0
    sum_reward: float = 0.0
    max_reward: float = float("-inf")
    first_success: int | None = None
    success: bool = False
    terminated: bool = False


class Lane:
    """One environment at a time, which plays a list of jobs.

    A task is solved at reset if its first step already reports success: no policy can solve one in
    a single step, and most benchmarks speak of success only after a step.
    """

    def __init__(self, benchmark: Benchmark, jobs: Sequence[Job], rules: Rules) -> None:
        self._benchmark = benchmark
        self._jobs = jobs
        self._rules = rules
        self._simulator: Simulator | None = None
        self._tally = _Tally(seed=0, reseeded=0, begun=0.0)
        self.cursor = 0
        """Place of the running job; the number of jobs when all are done."""
        self.state: Float32[np.ndarray, " state"] = np.zeros(benchmark.state_dim, np.float32)
        """What the policy sees next."""

    @property
    def done(self) -> bool:
        """Whether all jobs are played."""
        return self.cursor == len(self._jobs)

    def begin(self) -> list[PlayedEpisode]:
        """Start the next job; return the episodes that ended in an error on the way."""
        failed: list[PlayedEpisode] = []
        while not self.done:
            job = self._jobs[self.cursor]
            try:
                self._reset(job.seed, reseeded=0)
            except SimulatorError as error:
                failed.append(self._finish(EpisodeEnd.ERROR, error=str(error)))
            else:
                return failed
        return failed

    def play(self, actions: Float32[np.ndarray, "played action"]) -> list[PlayedEpisode]:
        """Apply `actions` until the episode ends, and start the next one if it does."""
        for action in actions:
            try:
                end = self._advance(action)
            except SimulatorError as error:
                return [self._finish(EpisodeEnd.ERROR, error=str(error)), *self.begin()]
            if self._tally.steps == 0:
                break
            if end is not None:
                return [self._finish(end), *self.begin()]
        return []

    def close(self) -> None:
        """Release the environment."""
        if self._simulator is not None:
            simulator, self._simulator = self._simulator, None
            with contextlib.suppress(SimulatorError):  # a broken one may not close either
                _guarded(simulator.close)

    def _reset(self, seed: int, *, reseeded: int) -> None:
        begun = self._tally.begun if reseeded else time.perf_counter()
        self._tally = _Tally(seed=seed, reseeded=reseeded, begun=begun)
        if self._simulator is None:
            task = self._jobs[self.cursor].task
            self._simulator = _guarded(lambda: self._benchmark.make(task))
        simulator = self._simulator
        self.state = self._checked(_guarded(lambda: simulator.reset(seed=seed)))

    def _advance(self, action: Float32[np.ndarray, " action"]) -> EpisodeEnd | None:
        simulator, tally = self._simulator, self._tally
        assert simulator is not None
        told: SimulatorStep = _guarded(lambda: simulator.step(action))
        self.state = self._checked(told.state)
        if told.success and tally.steps == 0:
            self._reseed()
            return None
        tally.steps += 1
        if not np.isfinite(told.reward):
            raise SimulatorError(f"the reward is {told.reward} at step {tally.steps}")
        tally.sum_reward += float(told.reward)
        tally.max_reward = max(tally.max_reward, float(told.reward))
        tally.success, tally.terminated = bool(told.success), bool(told.terminated)
        if tally.success and tally.first_success is None:
            tally.first_success = tally.steps
        return self._end()

    def _end(self) -> EpisodeEnd | None:
        """Return why the episode is over, if it is. Only the flag of success makes a success."""
        tally = self._tally
        solved = tally.first_success is not None
        over = tally.terminated or tally.steps >= self._rules.max_steps
        if solved and (over or not self._rules.to_the_end):
            return EpisodeEnd.SUCCESS
        if tally.terminated:
            return EpisodeEnd.FAILURE
        return EpisodeEnd.TIMEOUT if over else None

    def _reseed(self) -> None:
        tally = self._tally
        if tally.reseeded == MOST_RESEEDS:
            first = self._jobs[self.cursor].seed
            raise SimulatorError(
                f"already solved at reset with seed {first} and {MOST_RESEEDS} more"
            )
        self._reset(tally.seed + RESEED_STRIDE, reseeded=tally.reseeded + 1)

    def _finish(self, end: EpisodeEnd, *, error: str = "") -> PlayedEpisode:
        job, tally = self._jobs[self.cursor], self._tally
        played = _played(job, tally, end, error)
        self.cursor += 1
        if error or self.done or self._jobs[self.cursor].task != job.task:
            self.close()
        return played

    def _checked(self, state: Float32[np.ndarray, " state"]) -> Float32[np.ndarray, " state"]:
        """Return a copy of `state`, which the simulator may use again."""
        wanted = (self._benchmark.state_dim,)
        if state.shape != wanted:
            raise SimulatorError(f"the state has shape {state.shape}, not {wanted}")
        if not np.isfinite(state).all():
            raise SimulatorError(f"state[{int(np.argmin(np.isfinite(state)))}] is not finite")
        return state.astype(np.float32)


def _played(job: Job, tally: _Tally, end: EpisodeEnd, error: str) -> PlayedEpisode:
    """Return the row of an episode; one that broke is neither success nor failure."""
    return PlayedEpisode(
        episode=job.episode,
        first_success=None if error else tally.first_success,
        wall_s=time.perf_counter() - tally.begun,
        result=EpisodeResult(
            task=job.task.id,
            name=job.task.name,
            seed=tally.seed,
            end=end,
            success=end is EpisodeEnd.SUCCESS,
            success_at_end=tally.success and not error,
            steps=tally.steps,
            sum_reward=tally.sum_reward,
            max_reward=tally.max_reward if tally.steps else 0.0,
            instruction=job.task.text,
            reseeded=tally.reseeded,
            error=error,
        ),
    )


def lost_episode(job: Job, reason: str) -> PlayedEpisode:
    """Return the row of an episode whose process died."""
    tally = _Tally(seed=job.seed, reseeded=0, begun=time.perf_counter())
    return _played(job, tally, EpisodeEnd.ERROR, reason)


def _guarded(call: Callable[[], T]) -> T:
    """Return what `call` returns; whatever a simulator raises becomes a SimulatorError.

    This is the border to foreign code, which may raise anything at all.
    """
    try:
        return call()
    except EtudeError as error:
        raise SimulatorError(str(error)) from error
    except Exception as error:
        raise SimulatorError(f"{type(error).__name__}: {error}") from error
