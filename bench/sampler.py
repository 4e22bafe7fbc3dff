"""Draws per second of the sampler, its start over 100 million frames, and the size of its state.

Run `OMP_NUM_THREADS=1 python bench/sampler.py`. Each measurement runs in a process of its own, so
that the peak of its memory is its own, too. Rates are those of processor time, which other work on
the machine hardly changes.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from etude.core.types import EpisodeSpan, TaskId
from etude.curriculum.plan import uniform_plan
from etude.curriculum.sampler import CurriculumSampler
from etude.curriculum.window_weights import FrameStrata
from result import publish

BATCH, EPISODE, ROUNDS, DRAWS = 512, 250, 7, 512 * 512
STRATA = ("gripper", "waypoint", "change", "idle", "slow", "transit")
SMALL = (50, 50)
"""Tasks, and episodes of each: 625 thousand frames."""
LARGE = (10_000, 40)
"""100 million frames."""
RANKS = (1, 2, 3, 4, 8)


def main() -> None:
    """Print one JSON object and keep it in bench/results."""
    figures = {part: asked(part) for part in PARTS}
    publish("sampler", {"batch_size": BATCH, "frames_per_episode": EPISODE, **figures})


def asked(part: str) -> dict[str, object]:
    """Return what another process measures."""
    done = subprocess.run(
        [sys.executable, __file__, part], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def fifty_tasks() -> dict[str, object]:
    sampler = made(SMALL)
    figures: dict[str, object] = {"draws_per_s": rate(sampler)}
    sampler.set_plan(uniform_plan(sampler.tasks), from_step=sampler.step + sampler.lag)
    noise = np.random.default_rng(0)
    for wait in (0, sampler.lag):
        weights = {
            task: dict(zip(STRATA, noise.uniform(0.5, 8.0, len(STRATA)).tolist(), strict=True))
            for task in sampler.tasks
        }
        sampler.set_window_weights(weights, from_step=sampler.step + sampler.lag + wait)
        draw(sampler, sampler.lag * BATCH)
    state = sampler.state_dict(step=sampler.step - sampler.lag)
    figures["state_bytes"] = len(json.dumps(state))
    return {**figures, "draws_per_s_with_window_weights": rate(sampler)}


def many_tasks() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        episodes = episodes_of(LARGE)
        labels = labels_in(Path(folder), LARGE)
        before_mb = peak_mb()
        started = time.perf_counter()
        sampler = made(LARGE, episodes=episodes, labels=labels)
        sampler.next_rows()
        start_s = time.perf_counter() - started
        return {
            "frames": LARGE[0] * LARGE[1] * EPISODE,
            "tasks": LARGE[0],
            "start_s": round(start_s, 3),
            "draws_per_s": rate(sampler),
            "list_of_episodes_mb": round(before_mb),
            "peak_mb": round(peak_mb()),
        }


def many_tasks_alike() -> dict[str, object]:
    """Do without strata, as a run that weighs no windows does."""
    episodes = episodes_of(LARGE)
    started = time.perf_counter()
    sampler = made(LARGE, episodes=episodes, labels=None)
    sampler.next_rows()
    start_s = time.perf_counter() - started
    return {
        "start_s": round(start_s, 3),
        "draws_per_s": rate(sampler),
        "peak_mb": round(peak_mb()),
    }


def ranks() -> dict[str, object]:
    """Compare the streams that different numbers of ranks see."""
    steps = 200
    one = made(SMALL)
    whole = np.array([one.next_rows() for _ in range(steps)])
    equal = {
        str(size): all(
            np.array_equal(whole[:, rank::size], shares_of(rank, size, steps))
            for rank in range(size)
        )
        for size in RANKS
    }
    return {"batches": steps, "same_stream_on_ranks": equal}


def shares_of(rank: int, size: int, steps: int) -> np.ndarray:
    share = made(SMALL, rank=rank, ranks=size, epoch_batches=steps)
    return np.array(list(share))


def made(
    shape: tuple[int, int],
    *,
    episodes: list[EpisodeSpan] | None = None,
    labels: np.ndarray | None = None,
    **other: int,
) -> CurriculumSampler:
    plan = uniform_plan([TaskId(f"bench/{task}") for task in range(shape[0])])
    if labels is None and shape == SMALL:
        labels = (np.arange(shape[0] * shape[1] * EPISODE) // 7 % len(STRATA)).astype(np.int8)
    return CurriculumSampler(
        episodes or episodes_of(shape),
        plan,
        batch_size=BATCH,
        seed=0,
        lag=8,
        strata=None if labels is None else FrameStrata(names=STRATA, labels=labels),
        **other,
    )


def episodes_of(shape: tuple[int, int]) -> list[EpisodeSpan]:
    return [
        EpisodeSpan(
            index=number,
            task=TaskId(f"bench/{number // shape[1]}"),
            start=number * EPISODE,
            stop=(number + 1) * EPISODE,
        )
        for number in range(shape[0] * shape[1])
    ]


def labels_in(folder: Path, shape: tuple[int, int]) -> np.ndarray:
    """Return labels of every frame that lie in a file, written without holding them."""
    path = folder / "strata.bin"
    rows = shape[0] * shape[1] * EPISODE
    piece = (np.arange(1_000_000) // 7 % len(STRATA)).astype(np.int8)
    with path.open("wb") as file:
        for _ in range(rows // len(piece)):
            file.write(piece.tobytes())
    return np.memmap(path, dtype=np.int8, mode="r")


def draw(sampler: CurriculumSampler, draws: int) -> None:
    for _ in range(draws // BATCH):
        sampler.next_rows()


def peak_mb() -> float:
    """Return the most memory that this process has had."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(each for each in status.splitlines() if each.startswith("VmHWM:"))
    return int(line.split()[1]) / 1000


def rate(sampler: CurriculumSampler) -> int:
    """Return draws per second of processor time, the median over rounds."""
    seconds: list[float] = []
    for _ in range(ROUNDS):
        started = time.process_time()
        draw(sampler, DRAWS)
        seconds.append(time.process_time() - started)
    return round(DRAWS / median(seconds))


PARTS: dict[str, Callable[[], dict[str, object]]] = {
    "fifty_tasks": fifty_tasks,
    "many_tasks": many_tasks_alike,
    "many_tasks_with_strata": many_tasks,
    "ranks": ranks,
}

if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(PARTS[sys.argv[1]]()))
    else:
        main()
