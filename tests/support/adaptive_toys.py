"""Runs of 20 made-up tasks of which 15 pass by their windows and 5 never can."""

from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from etude.cli.main import main
from etude.core.types import Task, TaskId
from etude.datasets.writer import RecordedEpisode, write_dataset
from etude.events.reader import read_events

PASSING, DOUBTFUL, FRAMES = 15, 5, 24
TASKS = PASSING + DOUBTFUL
SETTINGS = """
steps = 40
batch_size = 20
[dataset]
repo_id = "toys"
root = "data"
hold_out_episodes = 3
[policy]
width = 16
blocks = 1
horizon = 4
execute = 2
[train]
warmup_steps = 5
log_every = 20
held_out_every = 0
final_lr = 1.0
[save]
every = 20
keep_last = 0
[score]
kind = "open_loop"
every = 10
max_share = 1.0
[lifecycle]
look_steps = 10
[curriculum]
every = 20
look_steps = 10
[scan]
groups = ["arm=0-1"]
tau = 1000.0
"""
"""With this tau every window passes, so that a task passes if it has episodes enough."""


def write_toys(folder: Path, *, seed: int = 0) -> Path:
    """Write the dataset: 5 episodes of each task that can pass, 2 of each that cannot."""
    draw = np.random.default_rng(seed)
    episodes: list[RecordedEpisode] = []
    for task in range(TASKS):
        for _ in range(5 if task < PASSING else 2):
            actions = draw.normal(0, 1, (FRAMES, 2)).cumsum(0).astype(np.float32)
            states = np.hstack([actions, actions])
            episodes.append(RecordedEpisode(task_index=task, states=states, actions=actions))
    write_dataset(
        folder,
        fps=10,
        robot_type="toy",
        tasks=[
            Task(id=TaskId(f"toys/{i}"), index=i, name=f"toy-{i}", text=f"do {i}")
            for i in range(TASKS)
        ],
        state_names=list("abcd"),
        action_names=list("xy"),
        episodes=episodes,
        extra_meta={},
    )
    return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def etude(folder: Path, *words: str, recipe: str = SETTINGS) -> Done:
    """Run a command in `folder`, with `recipe.toml` and the dataset there.

    It runs in this process, where torch is loaded already.
    """
    (folder / "recipe.toml").write_text(recipe)
    if not (folder / "data").exists():
        write_toys(folder / "data")
    out, err = folder / "out.txt", folder / "err.txt"
    with (
        chdir(folder),
        out.open("w") as told,
        err.open("w") as said,
        redirect_stdout(told),
        redirect_stderr(said),
    ):
        code = main(words)
    return Done(code=code, out=out.read_text(), err=err.read_text())


def train(folder: Path, output: str, *flags: str) -> Path:
    """Train to the end and return the folder of the run."""
    done = etude(folder, "train", "recipe.toml", "--output_dir", output, "--json", *flags)
    assert done.code == 0, done.err
    return folder / output


def told(run: Path, kind: str) -> list[dict[str, Any]]:
    """The events of one kind, in the order in which they were written."""
    return [record for record in read_events(run / "events") if record["kind"] == kind]
