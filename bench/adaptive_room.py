"""How much tasks gain from practice, by how often they succeed before it.

Over the policies of `checkpoints.py`: those of one family differ in their steps alone, so that the
success of a task with more steps, less that with fewer, says what practice was worth to it. Both
are of the same ten episodes.
"""

from collections import defaultdict
from itertools import pairwise
from statistics import mean
from typing import Any

from checkpoints import EPISODES, FAMILIES, STEPS, Checkpoint, checkpoints, success_of
from result import publish

RATES = {
    "0": 0.05,
    "0.1 to 0.3": 0.35,
    "0.4 to 0.6": 0.65,
    "0.7 to 0.8": 0.85,
    "0.9": 0.95,
    "1": 1.0,
}
"""Groups of tasks by their success before, each with a number that the next one is over."""


def main() -> None:
    """Print one JSON object and keep it in bench/results."""
    found = {(each.family.name, each.steps): rates(each) for each in checkpoints()}
    pairs = list(pairwise(STEPS))
    publish(
        "adaptive_room",
        {
            "episodes_a_task": EPISODES,
            "families": len(FAMILIES),
            "by_steps": {f"{few} to {more}": by_rate(found, few, more) for few, more in pairs},
        },
    )


def rates(checkpoint: Checkpoint) -> dict[str, float]:
    """Return the success of each task."""
    return {task["name"]: task["rate"] for task in success_of(checkpoint)["per_task"]}


def by_rate(
    found: dict[tuple[str, int], dict[str, float]], few: int, more: int
) -> dict[str, dict[str, Any]]:
    """Return the mean gain and the number of tasks, by their success before."""
    gains: dict[str, list[float]] = defaultdict(list)
    for family in FAMILIES:
        before, after = found[family.name, few], found[family.name, more]
        for task, rate in before.items():
            place = next(name for name, most in RATES.items() if rate <= most)
            gains[place].append(after[task] - rate)
    return {
        name: {"tasks": len(gains[name]), "gain": round(mean(gains[name]), 3)}
        for name in RATES
        if gains[name]
    }


if __name__ == "__main__":
    main()
