"""How evenly two ranks share work of very unequal sizes, and how many items are dealt per second.

Run `OMP_NUM_THREADS=1 python bench/queues.py`. Two processes share items that take their time by
sleeping, so that the figures hold on a busy machine, too.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from etude.compute.queues import StaticQueue, StoreQueue
from etude.compute.world import World, join
from etude.compute.world_config import WorldConfig
from etude.core.protocols import WorkQueue
from etude.core.types import ContentKey, TaskId, WorkItem
from result import publish

RANKS, ROUNDS, ITEMS = 2, 7, 300
TAIL = 1.5
"""Exponent of the Pareto distribution of lengths; its variance is infinite."""
IDEAL_S = 2.0
"""How long a round would last on ranks that are perfectly balanced."""
DEALT = 100_000


def main() -> None:
    """Print one JSON object and keep it in bench/results."""
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "said.json"
        subprocess.run(
            [
                *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
                *("--nproc-per-node", str(RANKS), __file__, str(said)),
            ],
            check=True,
        )
        figures = json.loads(said.read_text(encoding="utf-8"))
    shape = {"ranks": RANKS, "items": ITEMS, "rounds": ROUNDS, "tail": TAIL, "ideal_s": IDEAL_S}
    publish("queues", {**shape, **figures})


def measure(world: World) -> dict[str, object]:
    """Return the figures, equal on every rank."""
    place = {"rank": world.rank, "size": world.size}
    queues: dict[str, tuple[Callable[[], WorkQueue], bool]] = {
        "static": (lambda: StaticQueue(**place), True),
        "store": (lambda: shared(world), True),
        "static_unknown_costs": (lambda: StaticQueue(**place), False),
        "store_unknown_costs": (lambda: shared(world), False),
    }
    figures: dict[str, object] = {}
    for name, (make, known) in queues.items():
        ratios = [balance(world, make(), seed=seed, known=known) for seed in range(ROUNDS)]
        figures[f"balance_{name}"] = round(median(ratios), 4)
        figures[f"balance_{name}_lowest"] = round(min(ratios), 4)
    figures["items_per_s"] = round(median(rate(world, shared(world)) for _ in range(ROUNDS)))
    one = [rate(world, shared(world, most=1)) for _ in range(ROUNDS)]
    figures["items_per_s_one_at_a_time"] = round(median(one))
    return figures


def shared(world: World, *, most: int = 64) -> StoreQueue:
    return StoreQueue(world.store, name=world.next_name(), size=world.size, most=most)


def balance(world: World, queue: WorkQueue, *, seed: int, known: bool) -> float:
    """Return the time of perfectly balanced ranks over that of the slowest rank."""
    lengths = 1 + np.random.default_rng(seed).pareto(TAIL, ITEMS)
    ideal = max(lengths.sum() / world.size, lengths.max())
    seconds = lengths * (IDEAL_S / ideal)
    work = work_of([round(length * 1000) if known else 1 for length in lengths])
    world.gather(None)
    started = time.perf_counter()
    for item in queue.items(work):
        time.sleep(seconds[int(item.key)])
    return IDEAL_S / max(world.gather(time.perf_counter() - started))


def rate(world: World, queue: WorkQueue) -> float:
    """Return how many items without work all ranks are dealt per second."""
    work = work_of([1] * DEALT)
    world.gather(None)
    started = time.perf_counter()
    dealt = sum(1 for _ in queue.items(work))
    seconds = time.perf_counter() - started
    assert sum(world.gather(dealt)) == DEALT
    return DEALT / max(world.gather(seconds))


def work_of(costs: Sequence[int]) -> list[WorkItem]:
    return [
        WorkItem(key=ContentKey(f"{i:06}"), task=TaskId("bench/0"), cost=cost)
        for i, cost in enumerate(costs)
    ]


def live(said: Path) -> None:
    """Be one of the ranks; the first keeps the figures."""
    with join(WorldConfig()) as ranks:
        assert isinstance(ranks, World)
        figures = measure(ranks)
        if ranks.rank == 0:
            said.write_text(json.dumps(figures), encoding="utf-8")


if __name__ == "__main__":
    if "RANK" in os.environ:
        live(Path(sys.argv[1]))
    else:
        main()
