"""What a second scan costs: nothing changed, one episode more, other code edited."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import etude
from etude.core.protocols import Dataset
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.lerobot_v3 import open_dataset
from etude.datasets.writer import RecordedEpisode, write_dataset
from etude.runs.run_config import RunConfig
from etude.runs.task_scans import scan
from etude.scan.logic import LOGICS
from scan_once import RECIPE, Scanned, scan_config, scan_once, silent, warn

COST_S = 0.13
"""What an inference of a policy of 6 B parameters takes."""
WINDOWS = 32
"""Of each task. A batch of 64 is then always full, so that no row that fills one is paid for."""
SMALL_EPISODES, SMALL_FRAMES = 1_000, 30


def recalled(
    policy: Path, data: Path, *, held_out: int, windows: int = WINDOWS, turns: int = 5
) -> dict[str, object]:
    """Return what the same command costs twice, with a policy as slow as a large one.

    Args:
        policy: A checkpoint.
        data: The dataset.
        held_out: Episodes of each task that are scanned.
        windows: Of each task.
        turns: How often the second scan is made anew to be timed; the median counts.
    """
    with TemporaryDirectory() as folder:
        config = scan_config(
            policy,
            data,
            held_out=held_out,
            cache=Path(folder) / "cache",
            output=Path(folder) / "run",
            windows_per_task=windows,
            first=windows,
        )
        first = scan_once(config, cost_s=COST_S)
        again = scan_once(config, cost_s=COST_S)
        seconds = [_timed_command(config) for _ in range(turns)]
    second_s = float(np.median(seconds))
    return {
        "seconds_per_inference": COST_S,
        "first": {**_cost(first), "seconds": round(first.seconds, 2)},
        "second": {**_cost(again), "seconds": round(second_s, 3)},
        "same_scores": again.report.tasks == first.report.tasks,
        "ratio": round(first.seconds / second_s, 1),
    }


def appended(policy: Path, data: Path) -> dict[str, object]:
    """Return how many windows are asked for when a dataset of 1,000 episodes gets one more.

    Args:
        policy: A checkpoint.
        data: Recorded episodes, from which the small ones are made.
    """
    figures: dict[str, object] = {"episodes": SMALL_EPISODES, "frames_of_new": SMALL_FRAMES}
    panel = {"windows_per_task": WINDOWS, "first": WINDOWS}
    # Without held-out episodes a scan looks at all of them.
    kinds: dict[str, tuple[int, dict[str, object]]] = {
        "dense": (0, {"strategy": "sliding", "step": 1, "windows_per_task": 0}),
        "panel": (0, {**panel}),
        "panel_held_out": (1, {**panel}),
    }
    with TemporaryDirectory() as folder:
        before = _small_dataset(Path(folder) / "before", data, SMALL_EPISODES)
        after = _small_dataset(Path(folder) / "after", data, SMALL_EPISODES + 1)
        for name, (held_out, settings) in kinds.items():
            settings["cache"] = Path(folder) / f"cache-{name}"
            first, second = (
                scan_once(scan_config(policy, place, held_out=held_out, **settings)).report
                for place in (before, after)
            )
            figures[name] = {
                "asked_before": first.inferences,
                "asked_for_one_more": second.inferences,
                "of_the_new_episode": sum(
                    window.choice.episode == SMALL_EPISODES for window in second.windows
                ),
            }
    return figures


def edited(policy: Path, data: Path, *, held_out: int) -> dict[str, object]:
    """Return what is asked again after every file outside the logic's closure was edited."""
    closure = sorted({name for logic in LOGICS for name in logic.closure})
    with TemporaryDirectory() as folder:
        package = Path(folder) / "etude"
        shutil.copytree(Path(etude.__file__).parent, package)
        cache = Path(folder) / "cache"
        before = _command(package, policy, data, cache, held_out)
        files = [
            path
            for path in package.rglob("*.py")
            if path.relative_to(package).as_posix() not in closure
        ]
        for path in files:
            with path.open("a", encoding="utf-8") as file:
                file.write("\nEDITED = True\n")
        after = _command(package, policy, data, cache, held_out)
    return {
        "closure": closure,
        "files_edited": len(files),
        "asked_before": before["inferences"],
        "asked_after": after["inferences"],
        "recalled_after": after["recalled"],
    }


def _timed_command(config: RunConfig) -> float:
    """Return the seconds of what `etude scan tasks` does once its configuration is read."""
    begun = time.perf_counter()
    outcome = scan(config, progress=silent, warn=warn)
    assert outcome.report.inferences == 0
    return time.perf_counter() - begun


def _cost(scanned: Scanned) -> dict[str, int]:
    return {
        "inferences": scanned.report.inferences,
        "recalled": scanned.report.recalled,
        "policy_calls": scanned.asked.calls,
        "policy_loads": scanned.asked.loads,
    }


def _small_dataset(folder: Path, data: Path, episodes: int) -> Path:
    """Write beginnings of recorded episodes, each slightly changed, so that no two are equal."""
    source = open_dataset(LeRobotConfig(root=str(data)))
    write_dataset(
        folder,
        fps=int(source.spec.fps),
        robot_type="metaworld",
        tasks=[replace(task, index=place) for place, task in enumerate(source.spec.tasks)],
        state_names=[f"state_{number}" for number in range(source.spec.state_dim)],
        action_names=[f"action_{number}" for number in range(source.spec.action_dim)],
        episodes=_small_episodes(source, episodes),
        extra_meta={},
    )
    return folder


def _small_episodes(source: Dataset, episodes: int) -> Iterator[RecordedEpisode]:
    places = {task.id: place for place, task in enumerate(source.spec.tasks)}
    long_enough = [span for span in source.episodes if span.length >= SMALL_FRAMES]
    for number in range(episodes):
        span = long_enough[number % len(long_enough)]
        columns = source.columns(span)
        noise = np.random.default_rng(number).normal(0, 0.01, (SMALL_FRAMES, source.spec.state_dim))
        yield RecordedEpisode(
            task_index=places[span.task],
            states=(columns.states[:SMALL_FRAMES] + noise).astype(np.float32),
            actions=columns.actions[:SMALL_FRAMES],
        )


def _command(package: Path, policy: Path, data: Path, cache: Path, held_out: int) -> dict[str, int]:
    """Run `etude scan tasks` with the code in `package`, and return what it printed."""
    folder = package.parent
    done = subprocess.run(
        [
            *(sys.executable, "-m", "etude", "scan", "tasks", str(RECIPE), "--json"),
            *("--policy.path", str(policy), "--dataset.root", str(data)),
            *("--dataset.hold_out_episodes", str(held_out), "--cache.root", str(cache)),
            *("--output_dir", str(folder / "run")),
        ],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=folder,
        check=True,
    )
    return json.loads(done.stdout)
