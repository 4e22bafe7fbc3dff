"""Evaluations read back, and their rates."""

import math
from typing import Any

import pytest

from etude.core.errors import DataError
from etude.core.statistics import stratified_interval
from etude.core.types import EpisodeEnd, EpisodeResult
from etude.evaluate.rollout import PlayedEpisode
from etude.evaluate.summary import summarise
from etude.observe.evaluations import (
    Evaluation,
    by_group,
    by_rate,
    mean_of_groups,
    mean_over,
    newest,
    read_evaluation,
    same_episodes,
)
from etude.store.atomic import read_json, write_json


def evaluation(run: Any, **settings: Any) -> Evaluation:
    counts = settings.pop("counts", {"open": (18, 20), "push": (20, 20)})
    run.evaluate("e", counts, **settings)
    return read_evaluation(run.root / "eval" / "e")


def test_a_finished_evaluation_is_read_with_its_rules(run: Any) -> None:
    read = evaluation(run, summary={"errors": 3, "reseeded": 2})
    assert (read.use, read.step, read.simulator) == ("chunk", 3000, "toy")
    assert (read.n_episodes, read.first_seed, read.max_steps) == (20, 1000000, 500)
    assert (read.errors, read.reseeded, read.episodes_played) == (3, 2, 43)
    assert [task.name for task in read.tasks] == ["open", "push"]
    assert not read.to_the_end
    assert not read.expert


def test_an_evaluation_under_way_counts_its_whole_rows(run: Any) -> None:
    run.evaluate("e", {"open": (0, 0)}, finished=False)
    rows = run.root / "eval" / "e" / "results.jsonl"
    rows.write_bytes(b'{"episode": 0}\n{"episode": 1}\n{"epis')
    read = read_evaluation(run.root / "eval" / "e")
    assert not read.finished
    assert read.episodes_played == 2
    assert read.tasks == ()


@pytest.mark.parametrize("damage", [{"policy": None}, {"n_episodes": "many"}, {"tasks": [{}]}])
def test_a_manifest_of_another_shape_is_refused_with_its_address(
    run: Any, damage: dict[str, Any]
) -> None:
    with pytest.raises(DataError, match=r"eval/e does not hold an evaluation of schema_version 1"):
        evaluation(run, manifest=damage)


def test_the_mean_over_tasks_carries_pooled_counts(run: Any) -> None:
    whole = mean_over(evaluation(run, counts={"open": (5, 10), "push": (20, 20)}).tasks)
    assert (whole.successes, whole.trials) == (25, 30)
    assert whole.rate == 0.75
    assert (whole.low, whole.high) == stratified_interval([(5, 10), (20, 20)])


def test_a_task_without_a_valid_episode_has_no_part_in_the_mean(run: Any) -> None:
    tasks = evaluation(run, counts={"open": (5, 10), "push": (0, 0)}).tasks
    assert mean_over(tasks).rate == 0.5
    assert by_rate(tasks)[0].name == "push"
    assert mean_over(tasks[1:]).rate is None


def test_the_mean_of_groups_weighs_groups_not_tasks(run: Any) -> None:
    counts = {"a": (20, 20), "b": (20, 20), "c": (10, 20)}
    read = evaluation(run, counts=counts, groups={"easy": ["a", "b"], "hard": ["c"]})
    grouped = mean_of_groups(read)
    assert grouped is not None
    assert grouped.rate == 0.75
    assert (grouped.successes, grouped.trials) == (50, 60)
    easy, hard = by_group(read).values()
    expected = math.hypot(1.0 - easy.low, hard.high - 0.5) / 2
    assert math.isclose(grouped.rate - grouped.low, expected)


@pytest.mark.parametrize(
    "groups",
    [{}, {"easy": ["open", "push"]}, {"easy": ["open"], "hard": ["push"], "odd": ["elsewhere"]}],
)
def test_the_mean_of_groups_needs_every_group(run: Any, groups: dict[str, list[str]]) -> None:
    assert mean_of_groups(evaluation(run, groups=groups)) is None


def test_a_real_summary_is_read_back_with_the_same_rates(run: Any) -> None:
    """The page's rates, recomputed from counts, are those that evaluating itself reports."""
    groups = {"easy": ["open"], "hard": ["push", "reach"]}
    run.evaluate("e", {"open": (0, 0), "push": (0, 0), "reach": (0, 0)}, finished=False,
                 groups=groups, manifest={"to_the_end": True})  # fmt: skip
    folder = run.root / "eval" / "e"
    manifest = read_json(folder / "manifest.json")
    played = [
        episode(task, number, solved=number % (place + 2) == 0)
        for place, task in enumerate(manifest["tasks"])
        for number in range(7 + place)
    ]
    summary = summarise(played, manifest, seconds=1.5)
    write_json(folder / "summary.json", summary.to_json())
    read = read_evaluation(folder)
    whole, grouped = mean_over(read.tasks), mean_of_groups(read)
    assert (whole.rate, whole.low, whole.high) == (summary.mean, summary.low, summary.high)
    assert (whole.successes, whole.trials) == (summary.successes, summary.trials)
    assert grouped is not None
    assert grouped.rate == summary.macro
    assert {name: rate.rate for name, rate in by_group(read).items()} == summary.groups
    assert [task.success for task in read.tasks] == [each.interval for each in summary.per_task]
    assert mean_over([task.at_the_end() for task in read.tasks]).rate == summary.at_end
    assert (read.steps, read.to_the_end) == (summary.steps, True)


def episode(task: dict[str, Any], number: int, *, solved: bool) -> PlayedEpisode:
    result = EpisodeResult(
        task=task["id"],
        name=task["name"],
        seed=number,
        end=EpisodeEnd.SUCCESS if solved else EpisodeEnd.TIMEOUT,
        success=solved,
        success_at_end=solved and number > 0,
        steps=9,
        sum_reward=0.0,
        max_reward=0.0,
        instruction="",
    )
    first = 4 if solved else None
    return PlayedEpisode(episode=number, result=result, first_success=first, wall_s=0.1)


def test_episodes_are_the_same_only_if_tasks_seeds_and_limits_are(run: Any) -> None:
    one = evaluation(run)
    assert same_episodes(one, evaluation(run, use="expert"))
    for other in ({"first_seed": 7}, {"max_steps": 400}, {"n_episodes": 10}):
        assert not same_episodes(one, evaluation(run, manifest=other))
    assert not same_episodes(one, evaluation(run, counts={"open": (1, 20)}))


def test_the_newest_is_the_last_finished_of_its_kind(run: Any) -> None:
    run.evaluate("a", {"open": (1, 20)})
    run.evaluate("b", {"open": (2, 20)})
    run.evaluate("c", {"open": (0, 0)}, finished=False)
    read = [read_evaluation(run.root / "eval" / name) for name in "abc"]
    chosen = newest(read, expert=False)
    assert chosen is not None
    assert chosen.id == "b"
    assert newest(read, expert=True) is None
