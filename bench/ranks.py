"""What training on several ranks changes: nothing in the losses, and how much in the speed.

Each row is one run in a process of its own for every rank, with one thread each, over the same
data in the same order. The runs of one turn follow each other, so that ratios compare neighbours.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import torch

from etude.compute.ending import end_after
from etude.compute.strategy_config import ParallelConfig
from etude.compute.world import join
from etude.compute.world_config import WorldConfig
from etude.core.types import TaskId
from etude.curriculum.plan import uniform_plan
from etude.curriculum.sampler import CurriculumSampler
from etude.policies.chunk_config import ChunkConfig
from etude.policies.chunk_module import build_chunk_module
from etude.testing.fakes import toy_tasks, walk_dataset
from etude.train.loader import Loader
from etude.train.step import Optimisation
from etude.train.train_config import TrainConfig
from result import publish

STEPS, BATCH, TURNS, WARM_UP = 50, 511, 3, 5
"""The batch falls evenly to neither 2 nor 3 ranks."""
CASES: dict[str, tuple[int, dict[str, Any]]] = {
    "single": (1, {}),
    "ddp_2": (2, {"strategy": "ddp"}),
    "fsdp2_2": (2, {"strategy": "fsdp2"}),
    "ddp_3": (3, {"strategy": "ddp"}),
    "fsdp2_3": (3, {"strategy": "fsdp2"}),
    "ddp_2_accumulate_4": (2, {"strategy": "ddp", "accumulate": 4}),
}


def main() -> int:
    """Print one JSON object and keep it in bench/results, or be one rank of one run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rank-of", help="for the processes that this script starts")
    parser.add_argument("--turns", type=int, default=TURNS)
    given = parser.parse_args()
    if given.rank_of:
        return end_after(lambda: be_rank(json.loads(given.rank_of)))
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in CASES}
    for _ in range(given.turns):
        for name in CASES:
            found[name].append(run(name))
    publish(
        "ranks",
        {
            "steps": STEPS,
            "batch_size": BATCH,
            "turns": given.turns,
            "cases": {name: figures(found, name) for name in CASES},
        },
    )
    return 0


def figures(found: dict[str, list[dict[str, Any]]], name: str) -> dict[str, object]:
    """Return how one case compares with a single rank."""
    alone, these = found["single"], found[name]
    speeds = [one["seconds"] / other["seconds"] for one, other in zip(alone, these, strict=True)]
    apart = [
        abs(a - b) / abs(a) for a, b in zip(alone[0]["losses"], these[0]["losses"], strict=True)
    ]
    seconds = median(each["seconds"] for each in these)
    return {
        "steps_per_s": round((STEPS - WARM_UP) / seconds, 2),
        "ratio": round(median(speeds), 3),
        "largest_relative_difference_of_losses": float(f"{max(apart):.3g}"),
    }


def run(name: str) -> dict[str, Any]:
    """Train once and return losses and seconds."""
    ranks, parallel = CASES[name]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "said.json"
        launcher = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
        asked = json.dumps({"parallel": parallel, "path": str(path)})
        subprocess.run(
            [sys.executable, "-m", *launcher, __file__, "--rank-of", asked],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            check=True,
        )
        return json.loads(path.read_text(encoding="utf-8"))


def be_rank(asked: dict[str, Any]) -> int:
    """Train the same run as every other case, as one of its ranks."""
    tasks = toy_tasks(8)
    data = walk_dataset({TaskId(task.id): [400, 300] for task in tasks}, tasks=tasks)
    parallel = ParallelConfig(**asked["parallel"])
    with join(WorldConfig()) as ranks:
        torch.manual_seed(0)
        module, _ = build_chunk_module(
            ChunkConfig(width=512, blocks=3), dataset=data, episodes=data.episodes
        )
        optimisation = Optimisation(
            module, TrainConfig(), steps=STEPS, ranks=ranks, parallel=parallel
        )
        plan = uniform_plan([task.id for task in tasks])
        sampler = CurriculumSampler(data.episodes, plan, batch_size=BATCH, seed=0)
        loader = Loader(data, sampler, module.window, ranks=ranks, accumulate=parallel.accumulate)
        sums: list[float] = []
        begun = 0.0
        for number in range(STEPS):
            if number == WARM_UP:
                ranks.gather(None)
                begun = time.perf_counter()
            batch = loader.next_batch()
            done = optimisation.step(batch.tensors, number, rows=len(batch.rows), of=batch.of)
            sums.append(float(done.losses.double().sum()))
        seconds = time.perf_counter() - begun
        shares = ranks.gather((sums, seconds))
        if ranks.rank == 0:
            losses = [sum(column) / BATCH for column in zip(*(s for s, _ in shares), strict=True)]
            said = {"losses": losses, "seconds": max(s for _, s in shares)}
            Path(asked["path"]).write_text(json.dumps(said), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
