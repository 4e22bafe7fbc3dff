"""Short episodes measure success, from seeds that neither evaluation nor demonstrations use."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from etude.core.errors import ConfigError
from etude.core.ranks import Solo
from etude.core.types import DataSpec
from etude.evaluate.kept_environments import KeptEnvironments
from etude.evaluate.rollout import Rules
from etude.runs.adaptive_config import SEED_OFFSET, SEEDS
from etude.runs.config import load
from etude.runs.looks import Looker, Moment
from etude.runs.rollout_looks import RolloutLooks, open_rollout_looks
from etude.testing.fakes import ToyPolicy, toy_tasks
from etude.testing.toy_benchmark import (
    STATE_DIM,
    ToyBenchmarkConfig,
    ToyEpisode,
    toy_builder,
)

TASKS = toy_tasks(3)
SOLVED, FAILED, CRASHED = (
    ToyEpisode(success_steps=(2,)),
    ToyEpisode(),
    ToyEpisode(crash_at=2),
)
SPEC = DataSpec(repo_id="toy", fps=10.0, tasks=TASKS, state_dim=STATE_DIM, action_dim=2)
FIRST = 1_000_000 + SEED_OFFSET


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "calls"


@pytest.fixture
def looks(log: Path) -> Iterator[RolloutLooks]:
    """Task 0 is solved in 3 of 4 episodes, task 1 breaks in half of them, task 2 in all."""
    table = {(TASKS[0].id, FIRST + 4): FAILED}
    table |= {(TASKS[1].id, FIRST + seed): CRASHED for seed in (4, 6)}
    table |= {(TASKS[2].id, FIRST + seed): CRASHED for seed in range(4, 8)}
    config = ToyBenchmarkConfig(tasks=TASKS, episodes=table, default=SOLVED, log=str(log))
    rules = Rules(max_steps=4, to_the_end=False)
    made = RolloutLooks(
        KeptEnvironments(toy_builder(config), rules=rules, processes=1),
        TASKS,
        spec=SPEC,
        episodes=4,
        first_seed=FIRST,
        ranks=Solo(),
    )
    yield made
    made.close()


def moment(turn: int) -> Moment:
    return Moment(step=50 * turn, weights=f"run@{50 * turn}", turn=turn)


def test_it_is_a_looker_with_a_fixed_number_of_episodes(looks: RolloutLooks):
    assert isinstance(looks, Looker)
    assert looks.sizes == (4, 4)
    assert looks.tasks == tuple(task.id for task in TASKS)


def test_success_is_counted_over_episodes_that_did_not_break(looks: RolloutLooks):
    found = looks.look(ToyPolicy(), looks.tasks, each=4, moment=moment(1))

    first, second, third = found.values()
    assert first is not None
    assert (first.passed, first.trials, first.episodes, first.score) == (3.0, 4.0, 4, 0.25)
    assert (first.step, first.weights, first.kind) == (50, "run@50", "rollout")
    assert second is not None
    assert (second.passed, second.trials) == (2.0, 2.0)
    assert third is None


def test_every_look_plays_seeds_of_its_own_beyond_those_of_evaluation(
    looks: RolloutLooks, log: Path
):
    for turn in (0, 1):
        looks.look(ToyPolicy(), [TASKS[0].id], each=4, moment=moment(turn))

    lines = [line.split() for line in log.read_text().splitlines()]
    seeds = [int(words[2]) for words in lines if words[1] == "reset"]
    assert seeds == [FIRST + number for number in range(8)]
    assert SEEDS < SEED_OFFSET


def test_a_simulator_without_the_tasks_of_the_dataset_is_refused_by_name():
    config = load(None, ["--simulator.tasks", "reach-v3", "--score.kind", "both"])

    with pytest.raises(ConfigError, match="lacks 3 of 3 tasks of the dataset: task-0, task-1"):
        open_rollout_looks(config, SPEC, ranks=Solo())
