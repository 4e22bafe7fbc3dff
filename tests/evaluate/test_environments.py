import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from etude.core.errors import MissingToolError, SimulatorError
from etude.core.types import EpisodeEnd
from etude.evaluate.environments import Builder, EnvironmentPool, build_benchmark
from etude.evaluate.rollout import Job, PlayedEpisode, Rules
from etude.testing.fakes import toy_tasks
from etude.testing.toy_benchmark import ToyBenchmarkConfig, ToyEpisode, calls_of, toy_builder

TASKS = toy_tasks(4)
SOLVED = ToyEpisode(success_steps=(2,))
PUSH = np.ones((3, 2), np.float32)


def jobs(*tasks: int, episodes: int = 2) -> list[list[Job]]:
    return [[Job(task=TASKS[task], episode=i, seed=i) for i in range(episodes)] for task in tasks]


@contextmanager
def pool(
    builder: Builder, lanes: Sequence[Sequence[Job]], *, processes: int = 2
) -> Iterator[EnvironmentPool]:
    rules = Rules(max_steps=4, to_the_end=False)
    with EnvironmentPool(builder, lanes, rules=rules, processes=processes) as opened:
        yield opened


def play_all(builder: Builder, lanes: Sequence[Sequence[Job]], **options: int):
    with pool(builder, lanes, **options) as opened:
        played = opened.open()
        while running := opened.running():
            played += opened.play(dict.fromkeys(running, PUSH))
    return played


def ends(played: Sequence[PlayedEpisode]) -> list[tuple[str, int, str]]:
    return sorted((p.result.task, p.episode, p.result.end.value) for p in played)


def test_every_job_is_played_once_and_each_task_keeps_one_environment(tmp_path: Path):
    log = tmp_path / "calls"
    config = ToyBenchmarkConfig(tasks=TASKS, default=SOLVED, log=str(log))

    played = play_all(toy_builder(config), jobs(0, 1, 2, 3, episodes=3))

    assert ends(played) == [(f"toy/{t}", i, "success") for t in range(4) for i in range(3)]
    assert (calls_of(log, "make"), calls_of(log, "reset"), calls_of(log, "close")) == (4, 12, 4)


def test_lanes_that_are_done_drop_out_of_the_running_ones():
    config = ToyBenchmarkConfig(tasks=TASKS, default=SOLVED)

    with pool(toy_builder(config), [*jobs(0, episodes=2), [], *jobs(2, episodes=1)]) as opened:
        opened.open()
        first = opened.running()
        opened.play(dict.fromkeys(first, PUSH))
        second = opened.running()

    assert (list(first), list(second), opened.lanes) == ([0, 2], [0], 3)
    assert second[0][0].episode == 1


def test_what_a_lane_shows_is_the_state_of_its_environment():
    config = ToyBenchmarkConfig(tasks=TASKS, default=ToyEpisode())

    with pool(toy_builder(config), jobs(3, 1)) as opened:
        opened.open()
        opened.play({0: PUSH, 1: PUSH[:1]})
        states = {lane: state for lane, (_, state) in opened.running().items()}

    assert [states[0][i] for i in (0, 2, 3)] == [3, 3, 3]
    assert [states[1][i] for i in (0, 2, 3)] == [1, 1, 1]


def test_a_process_that_dies_costs_its_running_episodes_and_no_more():
    table = {(TASKS[0].id, 0): ToyEpisode(kill_at=2)}
    config = ToyBenchmarkConfig(tasks=TASKS, episodes=table, default=SOLVED)

    played = play_all(toy_builder(config), jobs(0, 1, 2))  # process 0 holds lanes 0 and 2

    assert ends(played) == [
        ("toy/0", 0, "error"), ("toy/0", 1, "success"),
        ("toy/1", 0, "success"), ("toy/1", 1, "success"),
        ("toy/2", 0, "error"), ("toy/2", 1, "success"),
    ]  # fmt: skip
    errors = {p.result.error for p in played if p.result.end is EpisodeEnd.ERROR}
    assert errors == {"its environment process died (exit code -9)"}


def test_a_process_that_dies_again_ends_the_evaluation_with_the_names_of_its_tasks():
    config = ToyBenchmarkConfig(tasks=TASKS, default=ToyEpisode(kill_at=1))

    with pytest.raises(
        SimulatorError, match=r"died again \(exit code -9\) while it played toy/0, "
    ):
        play_all(toy_builder(config), jobs(0, 1, episodes=3), processes=1)


def test_a_process_that_dies_with_its_last_episodes_is_not_started_again():
    config = ToyBenchmarkConfig(tasks=TASKS, default=ToyEpisode(kill_at=1))

    played = play_all(toy_builder(config), jobs(0, episodes=1))

    assert ends(played) == [("toy/0", 0, "error")]


def test_a_benchmark_that_cannot_be_built_says_why():
    missing = ("etude_no_such_package.metaworld:build", ToyBenchmarkConfig(tasks=TASKS))

    with pytest.raises(MissingToolError, match="needs the package 'etude_no_such_package'"):
        play_all(missing, jobs(0))


CENSUS = """
import os, sys
from pathlib import Path
from etude.testing.toy_benchmark import ToyBenchmark

def build(config):
    heavy = sorted({"torch", "pyarrow", "mujoco"} & set(sys.modules))
    path = Path(config.groups["census"][0])
    path.write_text(f"{heavy} {os.environ['OMP_NUM_THREADS']}")
    return ToyBenchmark(config)
"""


def test_an_environment_process_loads_no_torch_and_has_one_thread(tmp_path: Path, monkeypatch):
    (tmp_path / "census_of_process.py").write_text(CENSUS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    seen = tmp_path / "seen"
    config = ToyBenchmarkConfig(tasks=TASKS, default=SOLVED, groups={"census": (str(seen),)})

    play_all(("census_of_process:build", config), jobs(0))

    assert seen.read_text() == "[] 1"
    assert os.environ["OMP_NUM_THREADS"] == "2"


def test_leaving_in_the_middle_of_a_round_leaves_no_process_behind():
    config = ToyBenchmarkConfig(tasks=TASKS, default=ToyEpisode())

    with suppress(KeyboardInterrupt), pool(toy_builder(config), jobs(0, 1)) as opened:
        opened.open()
        pids = [worker._process.pid for worker in opened._workers]
        raise KeyboardInterrupt

    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_builder_names_its_function_and_holds_its_config():
    config = ToyBenchmarkConfig(tasks=TASKS)

    assert build_benchmark(toy_builder(config)).tasks == TASKS
