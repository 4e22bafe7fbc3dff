import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from etude.core.errors import SimulatorError
from etude.core.types import ActionChunk, Observation
from etude.evaluate.runner import deal
from etude.evaluate.summary import EvaluationSummary
from etude.testing.fakes import ToyPolicy
from etude.testing.toy_benchmark import ToyEpisode
from evaluation_run import CONFIG, SOLVED, TASKS, rows, run


class Played(NamedTuple):
    """An evaluation and what was seen of it."""

    folder: Path
    summary: EvaluationSummary
    policy: ToyPolicy
    progress: list[tuple[int, int]]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """An evaluation in which nothing special happens."""
    folder, policy = tmp_path_factory.mktemp("plain"), ToyPolicy(horizon=4, execute=3)
    progress: list[tuple[int, int]] = []
    summary = run(folder, policy=policy, progress=progress)
    return Played(folder, summary, policy, progress)


def test_every_task_is_tried_from_every_seed_once(plain: Played):
    assert [(row["task_id"], row["seed"]) for row in rows(plain.folder)] == [
        (f"toy/{task}", seed) for task in range(5) for seed in (10, 11, 12, 13)
    ]
    assert plain.summary.trials == 20
    assert (plain.progress[0], plain.progress[-1]) == ((0, 20), (20, 20))


def test_the_policy_always_sees_one_batch_of_the_size_of_all_lanes(plain: Played):
    assert set(plain.policy.batch_sizes) == {5}


def test_four_episodes_on_three_lanes_are_four_rows(tmp_path: Path):
    config = replace(CONFIG, n_episodes=1, lanes=3)

    summary = run(tmp_path, config=config, tasks=TASKS[:4], default=SOLVED)

    assert len(rows(tmp_path)) == 4
    assert (summary.successes, summary.trials, summary.mean) == (4, 4, 1.0)


def test_another_first_seed_gives_other_episodes_and_one_seed_alone_the_same_one(tmp_path: Path):
    run(tmp_path / "seven", config=replace(CONFIG, first_seed=7, n_episodes=2))
    np.random.random()  # the global state must not matter
    run(tmp_path / "again", config=replace(CONFIG, first_seed=7, n_episodes=2))
    run(tmp_path / "eight", config=replace(CONFIG, first_seed=8, n_episodes=1))

    seven, eight = rows(tmp_path / "seven"), rows(tmp_path / "eight")
    assert seven == rows(tmp_path / "again")
    alone = [{**row, "episode": 1} for row in eight]
    assert alone == [row for row in seven if row["seed"] == 8]
    assert [row["sum_reward"] for row in eight] != [
        row["sum_reward"] for row in seven if row["seed"] == 7
    ]


def test_timeouts_and_failures_are_no_successes(tmp_path: Path):
    table = {
        (TASKS[0].id, 1): ToyEpisode(ends_at=3),
        (TASKS[0].id, 2): ToyEpisode(success_steps=(4,)),
    }
    config = replace(CONFIG, n_episodes=3, first_seed=0, max_steps=5)

    summary = run(tmp_path, config=config, tasks=TASKS[:1], episodes=table, default=ToyEpisode())

    assert [row["end"] for row in rows(tmp_path)] == ["timeout", "failure", "success"]
    assert (summary.successes, summary.trials) == (1, 3)


def test_played_to_the_end_both_rules_of_success_are_told(tmp_path: Path):
    table = {
        (TASKS[0].id, 0): ToyEpisode(success_steps=(2, 3)),
        (TASKS[0].id, 1): ToyEpisode(success_steps=(4,)),
    }
    config = replace(CONFIG, n_episodes=2, first_seed=0, max_steps=4, to_the_end=True)

    run(tmp_path, config=config, tasks=TASKS[:1], episodes=table)

    told = json.loads((tmp_path / "summary.json").read_text())
    assert (told["rule"], told["success"]["mean"], told["success"]["at_end"]) == (
        "to_the_end",
        1,
        0.5,
    )


def test_a_few_errors_leave_the_denominator_and_the_evaluation_stands(tmp_path: Path):
    table = {(TASKS[2].id, 11): ToyEpisode(crash_at=2)}

    summary = run(tmp_path, episodes=table, default=SOLVED)

    assert (summary.successes, summary.trials, summary.errors) == (19, 19, 1)
    (broken,) = [row for row in rows(tmp_path) if row["end"] == "error"]
    assert (broken["task_id"], broken["seed"]) == ("toy/2", 11)
    assert broken["error"] == "the toy broke at step 2"


def test_more_errors_fail_the_evaluation_after_its_results_are_written(tmp_path: Path):
    table = {(TASKS[2].id, seed): ToyEpisode(crash_at=0) for seed in (10, 11)}

    with pytest.raises(SimulatorError) as caught:
        run(tmp_path, episodes=table, default=SOLVED)

    assert str(caught.value) == (
        "2 of 20 episodes broke, over 5%; the first was toy/2 with seed 10: the toy broke at step 0"
    )
    assert json.loads((tmp_path / "summary.json").read_text())["errors"] == 2
    assert len(rows(tmp_path)) == 20


class Padded(ToyPolicy):
    """Its third action is padding."""

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        valid = np.array([True, True, False, True])
        return [replace(chunk, valid=valid) for chunk in super().act(observations, seed=seed)]


def test_padding_is_never_played_and_only_so_many_actions_as_are_to_be_executed(tmp_path: Path):
    policy = Padded(horizon=4, execute=3)
    config = replace(CONFIG, n_episodes=1, max_steps=8)

    run(tmp_path, policy=policy, config=config, tasks=TASKS[:1], default=ToyEpisode())

    assert policy.calls == 4


def test_a_task_has_the_same_lane_whatever_is_left_to_play():
    config = replace(CONFIG, n_episodes=2, lanes=2)

    whole = deal(TASKS, config, played=set())
    rest = deal(TASKS, config, played={(TASKS[0].id, 0), (TASKS[0].id, 1), (TASKS[3].id, 0)})

    assert [[(j.task.index, j.episode) for j in lane] for lane in whole] == [
        [(0, 0), (0, 1), (2, 0), (2, 1), (4, 0), (4, 1)],
        [(1, 0), (1, 1), (3, 0), (3, 1)],
    ]
    assert [[(j.task.index, j.episode) for j in lane] for lane in rest] == [
        [(2, 0), (2, 1), (4, 0), (4, 1)],
        [(1, 0), (1, 1), (3, 1)],
    ]
