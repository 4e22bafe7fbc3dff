"""The main job, three times with different seeds: success, seconds of each phase, peak memory.

Each seed runs `etude run recipes/mt50.toml` from nothing in a folder of its own under bench/work,
demonstrations included, and then the experts on the same seeds. A run that was finished by an
earlier call is not repeated; `--fresh` forgets them.
"""

import argparse
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from etude.events.reader import read_events
from etude.events.summary import summarise
from memory import PeakMemory
from result import publish

ROOT = Path(__file__).parents[1]
T_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}
"""Two-sided 95 % quantiles of Student's t, by number of runs."""


def main() -> None:
    """Print one JSON object and keep it in bench/results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipe", default="mt50")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--fresh", action="store_true")
    arguments = parser.parse_args()
    work = ROOT / "bench" / "work" / arguments.recipe
    if arguments.fresh:
        shutil.rmtree(work, ignore_errors=True)
    runs = [run(arguments.recipe, work, seed) for seed in range(arguments.seeds)]
    experts = evaluate_experts(arguments.recipe, work)
    publish(arguments.recipe.replace("-", "_"), figures(runs, experts))


def run(recipe: str, work: Path, seed: int) -> dict[str, Any]:
    """Run one seed from nothing, or return what an earlier call found."""
    found = work / f"seed-{seed}.json"
    if found.exists():
        return json.loads(found.read_text(encoding="utf-8"))
    folder = work / f"seed-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    command = [
        *etude("run", recipe),
        *("--output_dir", str(folder / "run"), "--dataset.root", str(folder / "data")),
        *("--seed", str(seed), "--json"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        memory = PeakMemory(process)
        printed, _ = process.communicate()
        peak_bytes = memory.stop()
    if process.returncode:
        sys.exit(f"seed {seed} ended with exit code {process.returncode}")
    outcome: dict[str, Any] = json.loads(printed)
    outcome["phases"] = summarise(read_events(folder / "run" / "events")).phases
    outcome["peak_memory_gb"] = round(peak_bytes / 2**30, 3)
    found.write_text(json.dumps(outcome, indent=1), encoding="utf-8")
    return outcome


def evaluate_experts(recipe: str, work: Path) -> dict[str, Any]:
    """Play the scripted experts on the seeds that the policies were evaluated on."""
    command = [
        *etude("eval", recipe),
        *("--policy.use", "expert", "--output_dir", str(work / "seed-0" / "run"), "--json"),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=ROOT, check=True)
    return json.loads(done.stdout)


def etude(command: str, recipe: str) -> list[str]:
    """Return the beginning of a command line."""
    return [sys.executable, "-m", "etude", command, f"recipes/{recipe}.toml"]


def figures(runs: list[dict[str, Any]], experts: dict[str, Any]) -> dict[str, Any]:
    """Return what the runs have in common, and each one's own numbers."""
    means = [float(run["success"]["mean"]) for run in runs]
    half = T_95[len(means)] * stdev(means) / math.sqrt(len(means)) if len(means) > 1 else None
    rates: dict[str, list[float]] = {}
    for outcome in runs:
        for task in outcome["per_task"]:
            rates.setdefault(task["name"], []).append(task["rate"])
    lowest = sorted(rates, key=lambda name: mean(rates[name]))[:5]
    return {
        "seeds": len(runs),
        "episodes": sum(run["success"]["n"] for run in runs),
        "success_mean": round(mean(means), 5),
        "success_half_width_95": None if half is None else round(half, 5),
        "success_by_seed": [round(value, 5) for value in means],
        "macro4": round(mean(run["success"]["macro4"] for run in runs), 5),
        "groups": {
            group: round(mean(run["success"]["groups"][group] for run in runs), 5)
            for group in runs[0]["success"]["groups"]
        },
        "worst5_by_seed": [round(run["success"]["worst5"], 4) for run in runs],
        "worst5_mean": round(mean(run["success"]["worst5"] for run in runs), 4),
        "lowest_over_seeds": {name: round(mean(rates[name]), 4) for name in lowest},
        "experts_mean": experts["success"]["mean"],
        "experts_interval": [experts["success"]["low"], experts["success"]["high"]],
        "experts_episodes": experts["success"]["n"],
        "experts_macro4": experts["success"]["macro4"],
        "experts_worst5": experts["success"]["worst5"],
        "seconds": [run["seconds"] for run in runs],
        "phase_seconds": [run["phases"] for run in runs],
        "peak_memory_gb": max(run["peak_memory_gb"] for run in runs),
    }


if __name__ == "__main__":
    main()
