"""The folder of one evaluation: what was asked, and a row for each episode as it ends."""

import json
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from etude.core.errors import DataError, StateError
from etude.core.kill_points import kill_point
from etude.core.task_table import tasks_to_json
from etude.core.types import EpisodeEnd, EpisodeResult, Task, TaskId
from etude.evaluate.eval_config import EvalConfig
from etude.evaluate.rollout import RESEED_STRIDE, PlayedEpisode
from etude.store.atomic import read_json, storage_errors, write_json
from etude.store.journal import Journal, read_journal

SCHEMA_VERSION = 1
MANIFEST, ROWS = "manifest.json", "results.jsonl"

_BINDING = (
    "schema_version",
    "eval_id",
    "policy key",
    "simulator",
    "tasks",
    "groups",
    "n_episodes",
    "first_seed",
    "max_steps",
    "to_the_end",
    "lanes",
)
"""Entries of the manifest that a resumed evaluation must share, for its rows to be comparable."""


def manifest_of(
    *,
    eval_id: str,
    policy: Mapping[str, object],
    simulator: Mapping[str, object],
    tasks: Sequence[Task],
    groups: Mapping[str, Sequence[str]],
    config: EvalConfig,
) -> dict[str, object]:
    """Return what is to be written before the first episode."""
    return {
        "schema_version": SCHEMA_VERSION,
        "eval_id": eval_id,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "policy": dict(policy),
        "simulator": dict(simulator),
        "tasks": tasks_to_json(tasks),
        "groups": {name: list(members) for name, members in groups.items()},
        "n_episodes": config.n_episodes,
        "first_seed": config.first_seed,
        "max_steps": config.max_steps,
        "to_the_end": config.to_the_end,
        "lanes": config.lanes,
        "versions": {
            "etude": version("etude"),
            "numpy": version("numpy"),
            "python": platform.python_version(),
        },
    }


class Results:
    """The rows of one evaluation, old and new."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        """Begin an evaluation in `folder`, or go on with the one that is there.

        Raises:
            StateError: It was begun with other settings.
            DataError: The rows there are not rows of this evaluation, or one is there twice.
        """
        self.path = folder / ROWS
        self._manifest = manifest
        with storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        if (folder / MANIFEST).exists():
            _require_same(read_json(folder / MANIFEST), manifest, folder)
        else:
            write_json(folder / MANIFEST, manifest)
            kill_point("eval.manifest_written")
        self.episodes = read_episodes(self.path, manifest)
        self._journal = Journal(self.path)

    @property
    def played(self) -> set[tuple[TaskId, int]]:
        """Task and number of each finished episode."""
        return {(episode.result.task, episode.episode) for episode in self.episodes}

    def append(self, episodes: Iterable[PlayedEpisode]) -> None:
        """Write a row for each episode; a row that was written is never lost."""
        for episode in episodes:
            self._journal.append(_row(episode, self._manifest))
            self.episodes.append(episode)
            kill_point("eval.row_written")

    def busy_s(self) -> float:
        """Return the seconds in which at least one episode was being played, over all attempts."""
        spans = sorted((row["t"] - row["wall_s"], row["t"]) for row in read_journal(self.path))
        busy, until = 0.0, float("-inf")
        for begin, end in spans:
            busy += max(0.0, end - max(begin, until))
            until = max(until, end)
        return busy

    def close(self) -> None:
        """Release the file."""
        self._journal.close()


def read_episodes(path: Path, manifest: Mapping[str, Any]) -> list[PlayedEpisode]:
    """Return the episodes of `results.jsonl`, in the order in which they ended.

    Raises:
        DataError: A row is damaged, belongs to another evaluation, or is there twice.
    """
    episodes: list[PlayedEpisode] = []
    seen: set[tuple[str, int]] = set()
    for number, row in enumerate(read_journal(path), start=1):
        try:
            episode = _episode(row)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}:{number} is no row of an evaluation: {error!r}") from error
        place = (str(episode.result.task), episode.episode)
        what = f"{path}:{number} holds {place[0]} episode {place[1]}"
        foreign = _foreign(row, episode, manifest)
        if foreign:
            raise DataError(f"{what}, {foreign}", hint=f"Restore {path} from a copy.")
        if place in seen:
            raise DataError(f"{what} a second time", hint="Delete one of the two rows.")
        seen.add(place)
        episodes.append(episode)
    return episodes


def _row(played: PlayedEpisode, manifest: Mapping[str, Any]) -> dict[str, object]:
    result = asdict(played.result)
    return {
        "schema": SCHEMA_VERSION,
        "eval_id": manifest["eval_id"],
        "t": round(time.time(), 3),
        "task": result.pop("name"),
        "task_id": result.pop("task"),
        "split": None,
        "episode": played.episode,
        **result,
        "first_success": played.first_success,
        "wall_s": round(played.wall_s, 4),
        "video": None,
        "ckpt": manifest["policy"].get("checkpoint"),
        "env_commit": manifest["simulator"].get("version"),
    }


def _episode(row: Mapping[str, Any]) -> PlayedEpisode:
    first = row["first_success"]
    return PlayedEpisode(
        episode=int(row["episode"]),
        first_success=None if first is None else int(first),
        wall_s=float(row["wall_s"]),
        result=EpisodeResult(
            task=TaskId(str(row["task_id"])),
            name=str(row["task"]),
            seed=int(row["seed"]),
            end=EpisodeEnd(row["end"]),
            success=bool(row["success"]),
            success_at_end=bool(row["success_at_end"]),
            steps=int(row["steps"]),
            sum_reward=float(row["sum_reward"]),
            max_reward=float(row["max_reward"]),
            instruction=str(row["instruction"]),
            reseeded=int(row["reseeded"]),
            error=str(row["error"]),
        ),
    )


def _foreign(row: Mapping[str, Any], episode: PlayedEpisode, manifest: Mapping[str, Any]) -> str:
    """Return why a row is none of this evaluation, or ""."""
    result = episode.result
    if row["eval_id"] != manifest["eval_id"]:
        return f"a row of the evaluation {row['eval_id']!r}"
    if result.task not in {task["id"] for task in manifest["tasks"]}:
        return "a task that was not asked for"
    if not 0 <= episode.episode < manifest["n_episodes"]:
        return f"which is not one of {manifest['n_episodes']}"
    seed = manifest["first_seed"] + episode.episode + RESEED_STRIDE * result.reseeded
    return "" if result.seed == seed else f"with seed {result.seed}, not {seed}"


def _require_same(old: Mapping[str, Any], new: Mapping[str, Any], folder: Path) -> None:
    then, now = _binding(old), _binding(json.loads(json.dumps(new)))
    differing = [
        f"{name} {_short(then[name])}, not {_short(now[name])}"
        for name in _BINDING
        if then[name] != now[name]
    ]
    if differing:
        raise StateError(
            f"{folder} was begun with {'; '.join(differing)}",
            hint="Repeat the settings it was begun with, or choose another --output_dir.",
        )


def _binding(manifest: Mapping[str, Any]) -> dict[str, object]:
    flat = {**manifest, "policy key": manifest.get("policy", {}).get("key")}
    return {name: flat.get(name) for name in _BINDING}


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text)} characters)"
