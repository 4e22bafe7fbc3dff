import pickle
from pathlib import Path

import numpy as np
import pytest

from etude.core.errors import SimulatorError
from etude.core.protocols import Benchmark, Simulator, SimulatorStep
from etude.testing.conformance import check_benchmark, check_simulator
from etude.testing.fakes import toy_tasks
from etude.testing.toy_benchmark import (
    ToyBenchmark,
    ToyBenchmarkConfig,
    ToyEpisode,
    build_toy_benchmark,
    calls_of,
    toy_builder,
)

TASKS = toy_tasks(3)
STILL = np.zeros(2, np.float32)


def flags(simulator: Simulator, *, seed: int, steps: int) -> list[bool]:
    simulator.reset(seed=seed)
    return [simulator.step(STILL).success for _ in range(steps)]


def test_it_keeps_the_contract_of_benchmarks():
    groups = {"easy": ("task-0",), "hard": ("task-1", "task-2")}
    benchmark = ToyBenchmark(ToyBenchmarkConfig(tasks=TASKS, groups=groups))

    assert isinstance(benchmark, Benchmark)
    check_benchmark(benchmark, tasks=TASKS)


def test_the_table_says_when_a_task_is_solved():
    table = {(TASKS[0].id, 7): ToyEpisode(success_steps=(2, 3), ends_at=4)}
    simulator = ToyBenchmark(ToyBenchmarkConfig(tasks=TASKS, episodes=table)).make(TASKS[0])

    assert flags(simulator, seed=7, steps=4) == [False, True, True, False]


@pytest.mark.parametrize(
    ("episode", "error"),
    [(ToyEpisode(crash_at=1), SimulatorError), (ToyEpisode(bug_at=1), ZeroDivisionError)],
)
def test_the_table_says_when_it_breaks(episode: ToyEpisode, error: type[Exception]):
    simulator = ToyBenchmark(ToyBenchmarkConfig(tasks=TASKS, default=episode)).make(TASKS[0])
    simulator.reset(seed=0)

    with pytest.raises(error):
        simulator.step(STILL)


def test_without_a_table_the_seed_decides():
    simulator = ToyBenchmark(ToyBenchmarkConfig(tasks=TASKS)).make(TASKS[0])
    ends = [tuple(flags(simulator, seed=seed, steps=8)) for seed in range(20)]

    assert ends == [tuple(flags(simulator, seed=seed, steps=8)) for seed in range(20)]
    assert len(set(ends)) > 3


def test_it_can_be_built_in_another_process_and_logs_its_calls(tmp_path: Path):
    log = tmp_path / "calls"
    address, config = toy_builder(ToyBenchmarkConfig(tasks=TASKS, log=str(log)))

    benchmark = build_toy_benchmark(pickle.loads(pickle.dumps(config)))
    flags(benchmark.make(TASKS[1]), seed=3, steps=2)

    assert address == "etude.testing.toy_benchmark:build_toy_benchmark"
    assert log.read_text().splitlines() == [
        "toy/1 make", "toy/1 reset 3", "toy/1 step 1", "toy/1 step 2"
    ]  # fmt: skip
    assert calls_of(log, "step") == 2


class Unseeded:
    """An environment that ignores its seed."""

    def __init__(self) -> None:
        self._random = np.random.default_rng()

    def reset(self, *, seed: int):
        return self._random.random(4).astype(np.float32)

    def step(self, action):
        state = self._random.random(4).astype(np.float32)
        return SimulatorStep(state=state, reward=0.0, success=False, terminated=False)

    def close(self) -> None: ...


def test_conformance_finds_an_environment_that_ignores_its_seed():
    with pytest.raises(AssertionError):
        check_simulator(Unseeded(), Unseeded(), state_dim=4, action_dim=2)
