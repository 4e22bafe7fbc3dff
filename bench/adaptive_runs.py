"""The regimes in which rules are compared, and one run of one rule in one of them."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adaptive_data import (
    WORK,
    all_demonstrations,
    corrupted_part,
    corrupted_tasks,
    etude,
    new_tasks,
    unequal_part,
)
from adaptive_starts import COMMON, start
from etude.events.reader import read_events
from etude.events.summary import summarise

TASKS = 50
EPISODES = 10
"""Of each task, from the same seeds for every rule."""
LOOKING = ("--score.kind", "open_loop")
RULES: Mapping[str, Sequence[str]] = {
    "learnability": LOOKING,
    "uniform": ("--curriculum.use", "uniform"),
    "proportional": ("--curriculum.use", "proportional"),
    "temperature": ("--curriculum.use", "temperature"),
    "error": ("--curriculum.use", "error", *LOOKING),
    "excess_loss": ("--curriculum.use", "excess_loss", *LOOKING),
    "progress": ("--curriculum.use", "progress", *LOOKING),
}
"""Settings of each rule; what does not look at tasks pays nothing for it."""
DEFAULT, BASELINES = "learnability", ("uniform", "proportional")


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """A situation that a run can be in."""

    name: str
    steps: int
    data: Callable[[int], Path]
    init: Callable[[int], Path] | None = None
    settings: tuple[str, ...] = ()
    marked: Callable[[int], list[int]] = lambda _: []
    """Tasks that the regime is about, by seed."""
    points: int = 1
    """How often success is measured, at equal distances and last at the end."""

    def prepare(self, seed: int) -> None:
        """Make what all rules of a seed share."""
        self.data(seed)
        if self.init:
            self.init(seed)


REGIMES = (
    Regime(
        name="few_new",
        steps=100,
        data=lambda _: all_demonstrations(),
        init=lambda seed: start(seed=seed, steps=1200, known_only=True),
        settings=("--batch_size", "64", "--train.lr", "5e-4", "--train.warmup_steps", "20"),
        marked=new_tasks,
    ),
    Regime(
        name="tight",
        steps=150,
        data=unequal_part,
        settings=("--train.warmup_steps", "30", "--dataset.hold_out_episodes", "1"),
    ),
    Regime(
        name="late",
        steps=500,
        data=lambda _: all_demonstrations(),
        init=lambda seed: start(seed=seed, steps=500, known_only=False),
        settings=("--train.warmup_steps", "25", "--train.lr", "1e-3"),
        points=2,
    ),
    Regime(name="balanced", steps=1200, data=lambda _: all_demonstrations()),
    Regime(name="corrupted", steps=400, data=corrupted_part, marked=corrupted_tasks),
)


def run(
    regime: Regime, rule: str, settings: Sequence[str], seed: int, *, episodes: int = EPISODES
) -> dict[str, Any]:
    """Train and play one run, as far as an earlier call has not, and return what is to be known."""
    folder = WORK / "runs" / f"{regime.name}-{rule}-{seed}"
    every = regime.steps // regime.points
    words = [
        *("--dataset.root", str(regime.data(seed)), *COMMON, "--output_dir", str(folder)),
        *("--seed", str(seed), "--steps", str(regime.steps), "--save.every", str(every)),
        *("--save.keep_last", "0", "--save.optimizer", "false"),
        *("--train.held_out_every", str(regime.steps)),
        *("--eval.n_episodes", str(episodes), "--eval.processes", "1"),
        *(*regime.settings, *settings),
    ]
    begin = ["--init", str(regime.init(seed)), "--accept-data-change"] if regime.init else []
    etude("train", [*words, *begin, "--resume"])
    curve = [
        {"step": step, "rates": _rates(words, folder, step)}
        for step in range(every, regime.steps + 1, every)
    ]
    found = {
        "regime": regime.name,
        "rule": rule,
        "seed": seed,
        "steps": regime.steps,
        "episodes": episodes,
        "settings": list(settings),
        "curve": curve,
        "marked": regime.marked(seed),
        **_costs(folder),
    }
    shutil.rmtree(folder)
    return found


def _rates(words: Sequence[str], folder: Path, step: int) -> list[float]:
    path = str(folder / "checkpoints" / f"step-{step:08d}")
    played = etude("eval", [*words, "--policy.path", path])
    return [task["rate"] for task in sorted(played["per_task"], key=_number)]


def _number(task: Mapping[str, Any]) -> int:
    return int(task["id"].rpartition("/")[2])


def _costs(folder: Path) -> dict[str, Any]:
    """Return how long training and looking at tasks took, and how often each task was drawn."""
    train_s = float(summarise(read_events(folder / "events")).phases["train"])
    scored: dict[bool, float] = {True: 0.0, False: 0.0}
    draws = [0] * TASKS
    plans: list[list[float]] = []
    for event in read_events(folder / "events"):
        match event["kind"]:
            case "task_scores":
                scored[event["step"] == 0] += event["seconds"]
            case "task_losses":
                draws = [a + b for a, b in zip(draws, event["samples"], strict=True)]
            case "plan_chosen":
                plans.append([round(weight, 4) for weight in event["weights"]])
            case _:
                pass
    return {
        "train_s": round(train_s - scored[False], 3),
        "first_look_s": round(scored[True], 3),
        "scored_s": round(scored[False], 3),
        "draws": draws,
        "plans": plans,
    }
