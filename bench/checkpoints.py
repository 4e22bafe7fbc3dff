"""Thirty policies that are good to different degrees, and how well each of them succeeds.

They differ in steps, in network width, and in the number and the kind of their demonstrations. Each
is trained and played once; a later call finds what an earlier one has finished. What they are for:
`proxy.py` asks which open-loop score follows success.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WORK = ROOT / "bench" / "work" / "checkpoints"
STEPS = (40, 80, 160, 400, 1200)
EPISODES = 10
"""Closed-loop episodes of each task."""
HELD_OUT = ("--demos.episodes", "6", "--demos.seed", "500000")
"""Demonstrations that no policy is trained on, with the noise of most training data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Policies that differ in nothing but their steps."""

    name: str
    width: int
    demos: tuple[str, ...]

    @property
    def data(self) -> Path:
        """Where its demonstrations lie."""
        return WORK / f"data-{'-'.join(self.demos[1::2])}"


FAMILIES = (
    Family(name="50 noisy, width 256", width=256, demos=("--demos.episodes", "50")),
    Family(name="20 noisy, width 256", width=256, demos=("--demos.episodes", "20")),
    Family(name="5 noisy, width 256", width=256, demos=("--demos.episodes", "5")),
    Family(
        name="20 clean, width 256",
        width=256,
        demos=("--demos.episodes", "20", "--demos.noise", "0"),
    ),
    Family(name="50 noisy, width 64", width=64, demos=("--demos.episodes", "50")),
    Family(name="50 noisy, width 512", width=512, demos=("--demos.episodes", "50")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A trained policy."""

    family: Family
    steps: int
    seed: int

    @property
    def run(self) -> Path:
        """Its run folder."""
        name = self.family.name.replace(", ", "-").replace(" ", "-")
        return WORK / "runs" / f"{name}-{self.steps}"

    @property
    def folder(self) -> Path:
        """Where its weights lie."""
        return self.run / "checkpoints" / f"step-{self.steps:08d}"


def checkpoints() -> list[Checkpoint]:
    """Return all of them; families take turns, so that a part of them is of every kind."""
    return [
        Checkpoint(family=family, steps=steps, seed=len(FAMILIES) * turn + place)
        for turn, steps in enumerate(STEPS)
        for place, family in enumerate(FAMILIES)
    ]


def held_out_data() -> Path:
    """Return the folder of the held-out demonstrations, recorded if need be."""
    return _recorded(WORK / "data-held-out", HELD_OUT)


def success_of(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return what `etude eval` says of a checkpoint, which is trained and played if need be."""
    found = checkpoint.run.with_suffix(".json")
    if not found.exists():
        _recorded(checkpoint.family.data, checkpoint.family.demos)
        settings = (
            *("--dataset.root", str(checkpoint.family.data), *checkpoint.family.demos),
            *("--dataset.hold_out_episodes", "0", "--train.held_out_every", "0"),
            *("--policy.width", str(checkpoint.family.width), "--batch_size", "512"),
            *("--steps", str(checkpoint.steps), "--save.every", str(checkpoint.steps)),
            *(
                "--train.warmup_steps",
                str(min(100, checkpoint.steps // 2)),
                "--seed",
                str(checkpoint.seed),
            ),
            *("--eval.n_episodes", str(EPISODES), "--output_dir", str(checkpoint.run)),
        )
        if not checkpoint.folder.exists():
            etude("train", settings)
        found.write_text(json.dumps(etude("eval", settings)), encoding="utf-8")
    return json.loads(found.read_text(encoding="utf-8"))


def etude(command: str, settings: Sequence[str]) -> dict[str, Any]:
    """Run a command on the recipe of the main job and return what it prints."""
    words = [sys.executable, "-m", "etude", command, "recipes/mt50.toml", *settings, "--json"]
    done = subprocess.run(words, stdout=subprocess.PIPE, cwd=ROOT, check=True)
    return json.loads(done.stdout)


def _recorded(folder: Path, settings: Sequence[str]) -> Path:
    if not folder.exists():
        etude("demos", ("--dataset.root", str(folder), *settings))
    return folder


def main() -> None:
    """Make all of them."""
    held_out_data()
    for checkpoint in checkpoints():
        rate = success_of(checkpoint)["success"]["mean"]
        print(f"{checkpoint.run.name}: {rate:.3f}", file=sys.stderr)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    main()
