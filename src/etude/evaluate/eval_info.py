"""The results of an evaluation in the shape of LeRobot's `eval_info.json`, in percent."""

from collections.abc import Mapping, Sequence
from typing import Any

from etude.core.statistics import mean, wilson
from etude.core.types import EpisodeEnd
from etude.evaluate.rollout import PlayedEpisode


def eval_info_of(
    episodes: Sequence[PlayedEpisode], manifest: Mapping[str, Any], *, seconds: float
) -> dict[str, object]:
    """Return what `eval_info.json` holds. Where LeRobot would write NaN stands null.

    Episodes that broke are left out. Tasks without a group form the group of the simulator's name.

    Source: huggingface/lerobot, `lerobot_eval.py`, with the counts and intervals of its PR #4628.
    """
    finished = sorted(
        (episode for episode in episodes if episode.result.end is not EpisodeEnd.ERROR),
        key=lambda episode: episode.episode,
    )
    by_task = {
        task["id"]: [episode for episode in finished if episode.result.task == task["id"]]
        for task in manifest["tasks"]
    }
    grouped: dict[str, list[PlayedEpisode]] = {}
    per_task: list[dict[str, object]] = []
    for task in manifest["tasks"]:
        group = _group_of(task, manifest)
        own = by_task[task["id"]]
        grouped.setdefault(group, []).extend(own)
        per_task.append(
            {
                "task_group": group,
                "task_id": task["index"],
                "metrics": _metrics(own),
                **_counts(own),
            }
        )
    return {
        "per_task": per_task,
        "per_group": {group: _aggregate(own) for group, own in grouped.items()},
        "overall": {
            **_aggregate(finished),
            "eval_s": round(seconds, 3),
            "eval_ep_s": round(seconds / len(finished), 4) if finished else None,
        },
    }


def _group_of(task: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    groups: Mapping[str, Sequence[str]] = manifest["groups"]
    named = (name for name, members in groups.items() if task["name"] in members)
    return next(named, str(manifest["simulator"].get("use", "")))


def _metrics(episodes: Sequence[PlayedEpisode]) -> dict[str, object]:
    return {
        "sum_rewards": [episode.result.sum_reward for episode in episodes],
        "max_rewards": [episode.result.max_reward for episode in episodes],
        "successes": [episode.result.success for episode in episodes],
        "video_paths": [],
        "predicted_video_paths": [],
    }


def _counts(episodes: Sequence[PlayedEpisode]) -> dict[str, object]:
    rate = wilson(sum(episode.result.success for episode in episodes), len(episodes))
    tried = rate.rate is not None
    return {
        "n_episodes": rate.trials,
        "n_success": rate.successes,
        "pc_success": None if rate.rate is None else 100 * rate.rate,
        "pc_success_ci95": [100 * rate.low, 100 * rate.high] if tried else None,
    }


def _aggregate(episodes: Sequence[PlayedEpisode]) -> dict[str, object]:
    return {
        "avg_sum_reward": mean([episode.result.sum_reward for episode in episodes]),
        "avg_max_reward": mean([episode.result.max_reward for episode in episodes]),
        **_counts(episodes),
        "video_paths": [],
    }
