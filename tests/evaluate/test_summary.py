import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.types import EpisodeEnd, EpisodeResult
from etude.evaluate.eval_config import EvalConfig
from etude.evaluate.eval_info import eval_info_of
from etude.evaluate.results import manifest_of
from etude.evaluate.rollout import PlayedEpisode
from etude.evaluate.summary import summarise
from etude.testing.fakes import toy_tasks


def manifest(
    tasks: int, *, groups: dict[str, tuple[str, ...]] | None = None, to_the_end: bool = False
) -> dict[str, Any]:
    return manifest_of(
        eval_id="final",
        policy={},
        simulator={"use": "toy"},
        tasks=toy_tasks(tasks),
        groups=groups or {},
        config=EvalConfig(n_episodes=200, to_the_end=to_the_end),
    )


def episode(
    task: int,
    number: int,
    end: EpisodeEnd,
    *,
    steps: int = 4,
    at_end: bool | None = None,
    reseeded: int = 0,
) -> PlayedEpisode:
    success = end is EpisodeEnd.SUCCESS
    return PlayedEpisode(
        episode=number,
        first_success=steps if success else None,
        wall_s=1.0,
        result=EpisodeResult(
            task=toy_tasks(task + 1)[task].id,
            name=f"task-{task}",
            seed=number,
            end=end,
            success=success,
            success_at_end=success if at_end is None else at_end,
            steps=steps,
            sum_reward=float(number),
            max_reward=0.5,
            instruction="",
            reseeded=reseeded,
        ),
    )


def counts(*tasks: tuple[int, int]) -> list[PlayedEpisode]:
    """Episodes of several tasks, given (successes, trials) of each."""
    return [
        episode(task, i, EpisodeEnd.SUCCESS if i < successes else EpisodeEnd.TIMEOUT)
        for task, (successes, trials) in enumerate(tasks)
        for i in range(trials)
    ]


def test_the_mean_over_tasks_and_the_pooled_rate_stand_apart_each_with_its_n():
    summary = summarise(counts((1, 2), (9, 10)), manifest(2), seconds=1)

    assert (summary.mean, summary.n) == (pytest.approx(0.70), 2)
    told = summary.to_json()["success"]
    assert told["mean"] == pytest.approx(0.70)
    assert told["pooled"] == {"k": 10, "n": 12, "rate": pytest.approx(0.8333, abs=1e-4)}


def test_a_rate_is_the_quotient_of_its_counts():
    summary = summarise(counts((189, 200)), manifest(1), seconds=1)

    assert summary.mean == summary.pooled == summary.per_task[0].interval.rate == 0.945
    low, high = summary.per_task[0].interval.low, summary.per_task[0].interval.high
    assert (low, high) == (pytest.approx(0.9042, abs=1e-4), pytest.approx(0.9690, abs=1e-4))


def test_nothing_finished_has_no_rate():
    summary = summarise([], manifest(2, groups={"easy": ("task-0",)}), seconds=0)

    assert summary.to_json()["success"] == {
        "mean": None, "n": 0, "tasks": 0, "low": None, "high": None,
        "pooled": {"k": 0, "n": 0, "rate": None}, "macro4": None, "groups": {},
        "worst5": None, "worst5_tasks": [], "at_end": None,
    }  # fmt: skip
    assert [task.interval.rate for task in summary.per_task] == [None, None]


def test_errors_leave_the_denominator():
    episodes = [*counts((1, 2)), episode(0, 2, EpisodeEnd.ERROR), episode(1, 0, EpisodeEnd.ERROR)]

    summary = summarise(episodes, manifest(2), seconds=1)

    assert (summary.mean, summary.n, summary.successes, summary.trials) == (0.5, 1, 1, 2)
    assert (summary.errors, [task.errors for task in summary.per_task]) == (2, [1, 1])
    assert summary.per_task[1].interval.rate is None


def test_groups_are_averaged_alike_however_many_tasks_they_hold():
    groups = {"easy": ("task-0", "task-1", "task-2"), "hard": ("task-3",)}

    summary = summarise(
        counts((2, 2), (2, 2), (1, 2), (0, 2)), manifest(4, groups=groups), seconds=1
    )

    assert summary.groups == {"easy": pytest.approx(5 / 6), "hard": 0.0}
    assert summary.macro == pytest.approx(5 / 12)
    assert summary.mean == pytest.approx(5 / 8)
    assert [task.group for task in summary.per_task] == ["easy", "easy", "easy", "hard"]


def test_a_group_without_a_rate_leaves_the_mean_of_groups_unknown():
    groups = {"easy": ("task-0",), "hard": ("task-1",)}

    summary = summarise(counts((1, 2)), manifest(1, groups=groups), seconds=1)

    assert (summary.groups, summary.macro) == ({"easy": 0.5}, None)


def test_the_five_worst_tasks_are_named_worst_first():
    tasks = [(5, 10), (9, 10), (1, 10), (10, 10), (3, 10), (2, 10), (8, 10)]

    summary = summarise(counts(*tasks), manifest(7), seconds=1)

    assert summary.worst_tasks == ("toy/2", "toy/5", "toy/4", "toy/0", "toy/6")
    assert summary.worst == pytest.approx((0.1 + 0.2 + 0.3 + 0.5 + 0.8) / 5)


def test_success_once_and_success_at_the_end_are_both_named():
    episodes = [
        episode(0, 0, EpisodeEnd.SUCCESS, at_end=False),
        episode(0, 1, EpisodeEnd.SUCCESS, at_end=True),
    ]

    summary = summarise(episodes, manifest(1, to_the_end=True), seconds=1)

    assert (summary.rule, summary.mean, summary.at_end) == ("to_the_end", 1.0, 0.5)
    assert summary.per_task[0].at_end == 0.5


def test_success_at_the_end_is_unknown_where_episodes_stop_at_the_first():
    summary = summarise(counts((1, 2)), manifest(1), seconds=1)

    assert (summary.rule, summary.at_end, summary.per_task[0].at_end) == (
        "first_success",
        None,
        None,
    )


def test_steps_seconds_and_passed_over_seeds_are_counted():
    episodes = [
        episode(0, 0, EpisodeEnd.SUCCESS, steps=3, reseeded=2),
        episode(0, 1, EpisodeEnd.SUCCESS, steps=6),
        episode(0, 2, EpisodeEnd.TIMEOUT, steps=50),
    ]

    summary = summarise(episodes, manifest(1), seconds=12.3456)

    assert (summary.steps, summary.seconds, summary.reseeded) == (59, 12.346, 2)
    assert summary.per_task[0].mean_steps_to_success == 4.5


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(EpisodeEnd)), max_size=30),
    st.randoms(use_true_random=False),
)
def test_the_order_in_which_episodes_ended_does_not_matter(ends, random):
    episodes = [episode(task, i, end) for i, (task, end) in enumerate(ends)]
    shuffled = random.sample(episodes, len(episodes))

    assert summarise(shuffled, manifest(4), seconds=1) == summarise(
        episodes, manifest(4), seconds=1
    )
    assert eval_info_of(shuffled, manifest(4), seconds=1) == eval_info_of(
        episodes, manifest(4), seconds=1
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(EpisodeEnd)), max_size=30))
def test_no_number_is_beyond_what_json_can_say_and_no_rate_beyond_one(ends: Sequence[Any]):
    episodes = [episode(task, i, end) for i, (task, end) in enumerate(ends)]

    summary = summarise(episodes, manifest(4), seconds=1)

    json.dumps(summary.to_json(), allow_nan=False)
    json.dumps(eval_info_of(episodes, manifest(4), seconds=1), allow_nan=False)
    if summary.mean is not None:
        assert 0 <= summary.low <= summary.mean <= summary.high <= 1
