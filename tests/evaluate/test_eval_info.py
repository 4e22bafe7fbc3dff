from typing import Any

import pytest

from etude.core.types import EpisodeEnd, EpisodeResult
from etude.evaluate.eval_config import EvalConfig
from etude.evaluate.eval_info import eval_info_of
from etude.evaluate.results import manifest_of
from etude.evaluate.rollout import PlayedEpisode
from etude.testing.fakes import toy_tasks

TASKS = toy_tasks(2)


def manifest(groups: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    return manifest_of(
        eval_id="final", policy={}, simulator={"use": "toy"}, tasks=TASKS, groups=groups,
        config=EvalConfig(),
    )  # fmt: skip


def episode(task: int, number: int, end: EpisodeEnd, *, reward: float) -> PlayedEpisode:
    return PlayedEpisode(
        episode=number,
        first_success=None,
        wall_s=1.0,
        result=EpisodeResult(
            task=TASKS[task].id, name=TASKS[task].name, seed=number, end=end,
            success=end is EpisodeEnd.SUCCESS, success_at_end=False, steps=1, sum_reward=reward,
            max_reward=reward / 2, instruction="",
        ),
    )  # fmt: skip


def test_it_has_the_shape_and_the_percent_of_lerobot():
    episodes = [
        episode(0, 1, EpisodeEnd.TIMEOUT, reward=2.0),
        episode(0, 0, EpisodeEnd.SUCCESS, reward=4.0),
        episode(1, 0, EpisodeEnd.ERROR, reward=9.0),
    ]

    info = eval_info_of(episodes, manifest({"easy": ("task-0",)}), seconds=3)

    interval = [pytest.approx(9.4531, abs=1e-3), pytest.approx(90.5469, abs=1e-3)]
    assert info["per_task"] == [
        {
            "task_group": "easy",
            "task_id": 0,
            "metrics": {
                "sum_rewards": [4.0, 2.0],
                "max_rewards": [2.0, 1.0],
                "successes": [True, False],
                "video_paths": [],
                "predicted_video_paths": [],
            },
            "n_episodes": 2,
            "n_success": 1,
            "pc_success": 50.0,
            "pc_success_ci95": interval,
        },
        {
            "task_group": "toy",
            "task_id": 1,
            "metrics": {
                "sum_rewards": [],
                "max_rewards": [],
                "successes": [],
                "video_paths": [],
                "predicted_video_paths": [],
            },
            "n_episodes": 0,
            "n_success": 0,
            "pc_success": None,
            "pc_success_ci95": None,
        },
    ]
    assert info["overall"] == {
        "avg_sum_reward": 3.0, "avg_max_reward": 1.5, "n_episodes": 2, "n_success": 1,
        "pc_success": 50.0, "pc_success_ci95": interval, "video_paths": [],
        "eval_s": 3, "eval_ep_s": 1.5,
    }  # fmt: skip
    assert list(info["per_group"]) == ["easy", "toy"]


def test_nothing_finished_is_null_and_not_zero_percent():
    overall = eval_info_of([], manifest({}), seconds=0)["overall"]

    assert (overall["n_episodes"], overall["pc_success"], overall["eval_ep_s"]) == (0, None, None)
