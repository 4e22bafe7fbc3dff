"""A benchmark whose environments are used again instead of being closed."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float32

from etude.core.protocols import Benchmark, Expert, Simulator, SimulatorStep
from etude.core.types import Task, TaskId


class KeptBenchmark:
    """A `Benchmark` over another one. An environment that broke is not used again."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._kept: dict[TaskId, Simulator] = {}

    @property
    def tasks(self) -> Sequence[Task]:
        """Those of the other benchmark."""
        return self._benchmark.tasks

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Those of the other benchmark."""
        return self._benchmark.groups

    @property
    def action_dim(self) -> int:
        """That of the other benchmark."""
        return self._benchmark.action_dim

    @property
    def state_dim(self) -> int:
        """That of the other benchmark."""
        return self._benchmark.state_dim

    @property
    def fps(self) -> int:
        """That of the other benchmark."""
        return self._benchmark.fps

    def make(self, task: Task) -> Simulator:
        """Return an environment of `task` that nobody is using, or build one."""
        kept = self._kept.pop(task.id, None)
        simulator = self._benchmark.make(task) if kept is None else kept

        def keep() -> None:
            self._kept[task.id] = simulator

        return _KeptSimulator(simulator, keep)

    def expert(self, task: Task) -> Expert:
        """Return the expert of the other benchmark."""
        return self._benchmark.expert(task)

    def close(self) -> None:
        """Release all environments."""
        for simulator in self._kept.values():
            simulator.close()
        self._kept.clear()


class _KeptSimulator:
    """An environment that goes back where it came from when it is closed."""

    def __init__(self, simulator: Simulator, keep: Callable[[], None]) -> None:
        self._simulator = simulator
        self._keep = keep
        self._sound = True

    def reset(self, *, seed: int) -> Float32[np.ndarray, " state"]:
        # What raises here never comes to the line that says it is sound again.
        self._sound = False
        state = self._simulator.reset(seed=seed)
        self._sound = True
        return state

    def step(self, action: Float32[np.ndarray, " action"]) -> SimulatorStep:
        self._sound = False
        told = self._simulator.step(action)
        self._sound = True
        return told

    def close(self) -> None:
        if self._sound:
            self._keep()
        else:
            self._simulator.close()
