"""A trained policy of two small tasks, `etude serve` as a process, and scans of both."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from etude.core.types import Task, TaskId
from etude.datasets.writer import RecordedEpisode, write_dataset
from etude.runs.config import load
from etude.runs.run_config import RunConfig
from etude.runs.training import train
from training_run import quiet

CODE = "import sys; from etude.cli.main import main; sys.exit(main())"
STARTS_S = 60
"""Longest that a server may take to come up on a busy machine."""
SETTINGS = [
    *("--policy.width", "16", "--policy.blocks", "1", "--steps", "6", "--batch_size", "8"),
    *("--train.warmup_steps", "1", "--dataset.repo_id", "me/walks"),
]
SCAN = [
    *("--dataset.repo_id", "me/walks", "--dataset.root", "data", "--scan.batch_size", "4"),
    *("--scan.windows_per_task", "8", "--output_dir", "out", "--cache.root", "kept"),
]


def train_walks(folder: Path) -> Path:
    """Record random walks of two tasks in `folder`, train on them, and return the checkpoint."""
    random = np.random.default_rng(0)
    episodes: list[RecordedEpisode] = []
    for number in range(6):
        actions = random.normal(size=(20, 2)).astype(np.float32)
        states = np.hstack([actions, actions * (1 + number % 2)])
        episodes.append(RecordedEpisode(task_index=number % 2, states=states, actions=actions))
    write_dataset(
        folder / "data",
        fps=10,
        robot_type="toy",
        tasks=[
            Task(id=TaskId(f"walks/{i}"), index=i, name=f"walk-{i}", text=text)
            for i, text in enumerate(("walk", "走一走"))
        ],
        state_names=list("abcd"),
        action_names=list("xy"),
        episodes=episodes,
        extra_meta={"settings": {}, "versions": {}},
    )
    data, out = str(folder / "data"), str(folder / "run")
    config = load(None, [*SETTINGS, "--dataset.root", data, "--output_dir", out])
    outcome = train(config, command=[], resume=False, progress=quiet)
    return folder / "run" / outcome.checkpoint


def scan_config(folder: Path, *flags: str) -> RunConfig:
    """Return the configuration of a scan of the walks."""
    places = [word if word not in ("data", "out", "kept") else str(folder / word) for word in SCAN]
    return load(None, [*places, *flags])


@contextmanager
def serving(checkpoint: Path, *words: str) -> Generator[tuple[str, "subprocess.Popen[str]"]]:
    """Run `etude serve` as a process while the context lasts; lend its address."""
    command = [sys.executable, "-m", "etude", "serve", str(checkpoint), "--port", "0", "--json"]
    with subprocess.Popen(
        [*command, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as process:
        assert process.stdout is not None
        try:
            ready, _, _ = select.select([process.stdout], [], [], STARTS_S)
            said = process.stdout.readline() if ready else ""
            if not said:
                process.kill()
                _, told = process.communicate()
                raise AssertionError(f"the server did not come up: {told}")
            yield json.loads(said)["address"], process
        finally:
            process.send_signal(signal.SIGINT)


def scores(report: dict[str, Any]) -> dict[str, list[float]]:
    """Return the figures of each task in what `etude scan tasks --json` prints."""
    names = ("gmse", "gmse_p90", "mse", "mae", "pass_rate", "windows", "of")
    return {task["task"]: [task[name] for name in names] for task in report["tasks"]}
