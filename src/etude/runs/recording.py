"""Recording one task: attempts of its scripted expert until enough of them succeed."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Float64

from etude.core.errors import SimulatorError
from etude.core.kill_points import kill_point
from etude.core.protocols import Benchmark, Expert, Simulator
from etude.core.types import Task
from etude.runs.demos_config import DemosConfig


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demonstration:
    """One successful attempt: what was seen, and what the expert would have done there."""

    seed: int
    noise: float
    """Standard deviation of the noise on the executed actions."""
    states: Float32[np.ndarray, "frames state"]
    actions: Float32[np.ndarray, "frames action"]
    """The expert's own actions, without the noise that was executed on top."""
    success: Bool[np.ndarray, " frames"]
    """Whether the task was solved after each action."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskRecording:
    """The demonstrations of one task, in the order of their seeds."""

    demonstrations: tuple[Demonstration, ...]
    attempts: int
    error: str = ""
    """What the simulator said last when it broke in an attempt; such an attempt has failed."""


def record_task(benchmark: Benchmark, task: Task, config: DemosConfig) -> TaskRecording:
    """Record `task` until the quota is met or the attempts are used up.

    The result depends on the task and on `config`, and on nothing that was done before.

    Raises:
        SimulatorError: The environment cannot be made, or has no expert.
    """
    expert = benchmark.expert(task)
    simulator = benchmark.make(task)
    kept: list[Demonstration] = []
    attempts, error = 0, ""
    try:
        while len(kept) < config.episodes and attempts < config.tries * config.episodes:
            try:
                found = _attempt(simulator, expert, task, config, seed=config.seed + attempts)
                kept += [found] if found else []
            except SimulatorError as broken:
                error = str(broken)
            attempts += 1
            kill_point("demos.attempt_done")
    finally:
        simulator.close()
    return TaskRecording(demonstrations=tuple(kept), attempts=attempts, error=error)


def _attempt(
    simulator: Simulator, expert: Expert, task: Task, config: DemosConfig, *, seed: int
) -> Demonstration | None:
    """Return the demonstration that `seed` names; None where the task was not solved.

    A task whose first step reports success was solved at reset and shows nothing worth learning.
    """
    draws = np.random.default_rng([seed, task.index])
    level = float(draws.uniform(0, config.noise))
    state = simulator.reset(seed=seed)
    states: list[np.ndarray] = []
    actions: list[np.ndarray] = []
    success: list[bool] = []
    last = config.max_steps
    while len(states) < last:
        action = expert.action(state)
        told = simulator.step(_disturbed(action, draws.normal(0, level, action.shape)))
        states.append(state)
        actions.append(action)
        success.append(told.success)
        if told.success and last == config.max_steps:
            if len(states) == 1:
                return None
            last = min(len(states) + config.steps_after_success, config.max_steps)
        if told.terminated:
            break
        state = told.state
    if not any(success):
        return None
    return Demonstration(
        seed=seed,
        noise=level,
        states=np.stack(states).astype(np.float32),
        actions=np.stack(actions).astype(np.float32),
        success=np.array(success, dtype=np.bool_),
    )


def _disturbed(
    action: Float32[np.ndarray, " action"], noise: Float64[np.ndarray, " action"]
) -> Float32[np.ndarray, " action"]:
    # Limit: all benchmarks so far act in [-1, 1].
    return np.clip(action + noise, -1, 1).astype(np.float32)
