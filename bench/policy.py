"""What the choices inside the default policy are worth, at a fraction of its steps.

Every variant trains on the same demonstrations from the same seed and plays the same episodes.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from etude.events.reader import read_events
from etude.events.summary import summarise
from result import publish

ROOT = Path(__file__).parents[1]
WORK = ROOT / "bench" / "work" / "policy"
VARIANTS: dict[str, list[str]] = {
    "recipe": [],
    "without scales": ["--policy.scales", "[]"],
    "raw state": ["--policy.scales", "[]", "--policy.differences", "[]"],
    "float32": ["--policy.precision", "float32"],
    "50 demonstrations": ["--demos.episodes", "50"],
}


def main() -> None:
    """Print one JSON object and keep it in bench/results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--episodes", type=int, default=10)
    given = parser.parse_args()
    shutil.rmtree(WORK / "runs", ignore_errors=True)
    variants = {name: run(name, given.steps, given.episodes) for name in VARIANTS}
    publish("policy", {"steps": given.steps, "variants": variants})


def run(name: str, steps: int, episodes: int) -> dict[str, Any]:
    """Train and evaluate one variant; demonstrations are recorded once for each number of them."""
    few = "--demos.episodes" in VARIANTS[name]
    folder = WORK / "runs" / name.replace(" ", "-")
    command = [
        *(sys.executable, "-m", "etude", "run", "recipes/mt50.toml", "--json"),
        *("--steps", str(steps), "--eval.n_episodes", str(episodes)),
        *("--dataset.root", str(WORK / ("data-few" if few else "data"))),
        *("--output_dir", str(folder), *VARIANTS[name]),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=ROOT, check=True)
    success: dict[str, Any] = json.loads(done.stdout)["success"]
    summary = summarise(read_events(folder / "events"))
    errors = [error for error in summary.held_out[steps]["errors"] if error is not None]
    return {
        "success_mean": success["mean"],
        "success_interval": [success["low"], success["high"]],
        "episodes": success["n"],
        "worst5": success["worst5"],
        "held_out_error_proxy": round(sum(errors) / len(errors), 5),
        "train_s": summary.phases["train"],
    }


if __name__ == "__main__":
    main()
