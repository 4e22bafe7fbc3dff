"""Environments live on between short episodes, and what breaks costs only itself."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from etude.core.errors import EtudeError
from etude.core.protocols import Ranks
from etude.core.ranks import Solo
from etude.core.types import ActionChunk, Observation, TaskId
from etude.evaluate.kept_environments import KeptEnvironments, Played
from etude.evaluate.rollout import Job, Rules
from etude.testing.fakes import ToyPolicy, toy_tasks
from etude.testing.ranks import run_ranks
from etude.testing.toy_benchmark import (
    STATE_DIM,
    ToyBenchmarkConfig,
    ToyEpisode,
    calls_of,
    toy_builder,
)

TASKS = toy_tasks(4)
SOLVED = ToyEpisode(success_steps=(2,))
HOMES = {task.id: place for place, task in enumerate(TASKS)}
IDLE = Observation(task=TASKS[0].id, state=np.zeros(STATE_DIM, np.float32))


class NanPolicy(ToyPolicy):
    """Answers one task with what is no number."""

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        chunks = super().act(observations, seed=seed)
        return [
            ActionChunk(actions=np.full_like(chunk.actions, np.nan), valid=chunk.valid)
            if seen.task == TASKS[1].id
            else chunk
            for seen, chunk in zip(observations, chunks, strict=True)
        ]


def jobs(*tasks: int, first: int = 0, episodes: int = 2) -> dict[TaskId, list[Job]]:
    numbers = range(first, first + episodes)
    return {TASKS[t].id: [Job(task=TASKS[t], episode=i, seed=i) for i in numbers] for t in tasks}


@contextmanager
def kept(config: ToyBenchmarkConfig, *, processes: int = 2) -> Iterator[KeptEnvironments]:
    rules = Rules(max_steps=4, to_the_end=False)
    environments = KeptEnvironments(toy_builder(config), rules=rules, processes=processes)
    try:
        yield environments
    finally:
        environments.close()


def play(
    environments: KeptEnvironments,
    lanes: Mapping[TaskId, Sequence[Job]],
    policy: ToyPolicy | None = None,
    ranks: Ranks | None = None,
) -> Played:
    return environments.play(
        policy or ToyPolicy(), lanes, homes=HOMES, idle=IDLE, ranks=ranks or Solo()
    )


def ends(played: Played) -> list[tuple[str, int, str]]:
    return sorted((p.result.task, p.episode, p.result.end.value) for p in played.episodes)


def test_an_environment_is_made_once_and_reset_from_then_on(tmp_path: Path):
    log = tmp_path / "calls"
    config = ToyBenchmarkConfig(tasks=TASKS, default=SOLVED, log=str(log))

    with kept(config) as environments:
        first = play(environments, jobs(0, 1, 2))
        second = play(environments, jobs(2, 0, first=2))

    assert ends(first) == [(f"toy/{t}", i, "success") for t in range(3) for i in range(2)]
    assert ends(second) == [(f"toy/{t}", i, "success") for t in (0, 2) for i in (2, 3)]
    assert (calls_of(log, "make"), calls_of(log, "reset"), calls_of(log, "close")) == (3, 10, 3)


def test_the_policy_is_asked_once_a_round_for_all_tasks():
    policy = ToyPolicy(execute=2)

    with kept(ToyBenchmarkConfig(tasks=TASKS, default=ToyEpisode())) as environments:
        play(environments, jobs(0, 1, 2, episodes=1), policy)

    # Four steps, two at a time.
    assert policy.batch_sizes == [3, 3]


def test_an_environment_that_broke_is_not_used_again(tmp_path: Path):
    log = tmp_path / "calls"
    broken = {(TASKS[0].id, 0): ToyEpisode(crash_at=1)}
    config = ToyBenchmarkConfig(tasks=TASKS, episodes=broken, default=SOLVED, log=str(log))

    with kept(config) as environments:
        played = play(environments, jobs(0))
        again = play(environments, jobs(0, first=2))

    assert ends(played) == [("toy/0", 0, "error"), ("toy/0", 1, "success")]
    assert ends(again) == [("toy/0", 2, "success"), ("toy/0", 3, "success")]
    assert calls_of(log, "make") == 2


def test_a_process_that_dies_takes_its_episodes_along_and_comes_back():
    config = ToyBenchmarkConfig(
        tasks=TASKS, episodes={(TASKS[0].id, 0): ToyEpisode(kill_at=1)}, default=SOLVED
    )

    with kept(config) as environments:
        played = play(environments, jobs(0, 1))
        again = play(environments, jobs(0, first=2))

    assert ends(played) == [
        *[("toy/0", i, "error") for i in range(2)],
        *[("toy/1", i, "success") for i in range(2)],
    ]
    assert ends(again) == [("toy/0", 2, "success"), ("toy/0", 3, "success")]


def test_actions_that_are_no_numbers_end_the_episodes_of_their_task_only():
    with kept(ToyBenchmarkConfig(tasks=TASKS, default=SOLVED)) as environments:
        played = play(environments, jobs(0, 1), NanPolicy())
        again = play(environments, jobs(1, first=2))

    assert played.refused == {TASKS[1].id}
    assert ends(played) == [("toy/0", 0, "success"), ("toy/0", 1, "success")]
    assert ends(again) == [("toy/1", 2, "success"), ("toy/1", 3, "success")]


def test_nothing_to_play_is_no_fault():
    with kept(ToyBenchmarkConfig(tasks=TASKS, default=SOLVED)) as environments:
        assert play(environments, {}) == Played(episodes=(), refused=frozenset())


def test_a_benchmark_that_cannot_be_built_ends_the_look():
    rules = Rules(max_steps=4, to_the_end=False)
    builder = ("no_such_module:build", ToyBenchmarkConfig(tasks=TASKS))
    environments = KeptEnvironments(builder, rules=rules, processes=1)

    with pytest.raises(EtudeError, match="no_such_module"):
        play(environments, jobs(0))

    environments.close()


def test_ranks_ask_the_policy_equally_often_whatever_they_have_to_play():
    config = ToyBenchmarkConfig(
        tasks=TASKS, episodes={(TASKS[0].id, 0): SOLVED}, default=ToyEpisode()
    )

    def work(ranks: Ranks) -> tuple[int, int]:
        policy = ToyPolicy(execute=2)
        mine = [jobs(0, episodes=1), jobs(1, 2, episodes=1), {}][ranks.rank]
        with kept(config, processes=1) as environments:
            played = play(environments, mine, policy, ranks)
        return policy.calls, len(played.episodes)

    assert run_ranks(3, work, timeout_s=60) == [(2, 1), (2, 2), (2, 0)]
