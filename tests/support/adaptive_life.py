"""Runs of two Meta-World tasks that adapt, started as a user starts them."""

from pathlib import Path
from typing import Any

import commands
from commands import Done
from etude.events.reader import read_events

SETTINGS = """
steps = 40
batch_size = 32
[simulator]
tasks = ["reach-v3", "button-press-v3"]
[dataset]
root = "data"
hold_out_episodes = 3
[demos]
episodes = 5
noise = 0.0
[policy]
width = 32
blocks = 1
[train]
warmup_steps = 5
log_every = 10
held_out_every = 0
[save]
every = 20
keep_last = 0
[eval]
n_episodes = 1
max_steps = 40
[score]
kind = "open_loop"
every = 10
windows = 12
max_share = 1.0
[lifecycle]
look_steps = 10
[curriculum]
every = 20
lag = 5
look_steps = 10
[scan]
groups = ["arm=0-2", "gripper=3"]
"""


def etude(folder: Path, *words: str, ranks: int = 1) -> Done:
    """Run a command in `folder`, with `recipe.toml` there."""
    (folder / "recipe.toml").write_text(SETTINGS)
    return commands.etude(folder, *words, ranks=ranks)


def train(folder: Path, *flags: str, ranks: int = 1) -> Path:
    """Train and return the folder of the run."""
    done = etude(folder, "train", "recipe.toml", "--json", *flags, ranks=ranks)
    assert done.returncode == 0, done.stderr
    named = flags[flags.index("--output_dir") + 1] if "--output_dir" in flags else "runs/recipe"
    return folder / named


def told(run: Path, kind: str) -> list[dict[str, Any]]:
    """The events of one kind, in the order in which they were written."""
    return [record for record in read_events(run / "events") if record["kind"] == kind]
