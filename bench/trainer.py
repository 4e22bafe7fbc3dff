"""Steps per second of the training loop, beside a bare PyTorch loop over the same batches.

Both sides run in one process and take turns of 50 steps: the bare loop gets batches that lie ready
in memory, the training loop draws, gathers, logs and checks its own.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch.nn.utils import clip_grad_norm_
from torch.optim.swa_utils import get_ema_multi_avg_fn

from etude.checkpoints.commit import CheckpointStore
from etude.checkpoints.save_config import SaveConfig
from etude.compute.batch import TensorBatch
from etude.core.types import Task, TaskId
from etude.curriculum.plan import uniform_plan
from etude.curriculum.sampler import CurriculumSampler
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.lerobot_v3 import open_dataset
from etude.datasets.recorded import RecordedDataset
from etude.datasets.split import hold_out
from etude.datasets.writer import RecordedEpisode, write_dataset
from etude.events.recorder import Recorder
from etude.policies.chunk_module import ChunkModule, build_chunk_module
from etude.runs.config import load
from etude.train.loader import Loader
from etude.train.loop import TrainingLoop, TrainingParts
from etude.train.step import Optimisation
from etude.train.stop import StopRequest
from result import publish

RECIPE = Path(__file__).parents[1] / "recipes" / "mt50.toml"
TASKS, EPISODES, FRAMES, STATE, ACTION = 50, 20, 90, 39, 4
TURN, TURNS, WARM_UP = 50, 20, 2


class BareLoop:
    """What one would write without any of Etude around it."""

    def __init__(self, module: ChunkModule, batches: Sequence[TensorBatch], *, lr: float) -> None:
        self.module = module
        self._batches = batches
        self._parameters = list(module.parameters())
        self._averages = [parameter.detach().clone() for parameter in self._parameters]
        self._optimizer = torch.optim.AdamW(self._parameters, lr=lr, fused=True)
        self._average = get_ema_multi_avg_fn(0.999)

    def turn(self) -> float:
        """Train on every batch once and return the seconds it took."""
        begun = time.perf_counter()
        for number, batch in enumerate(self._batches):
            self._optimizer.zero_grad(set_to_none=True)
            self.module(batch).mean().backward()
            clip_grad_norm_(self._parameters, 1.0)
            self._optimizer.step()
            self._average(self._averages, [p.detach() for p in self._parameters], number)
        return time.perf_counter() - begun


class Turns:
    """A `Progress` that lets the bare loop run whenever the training loop has done its turn."""

    def __init__(self, bare: BareLoop) -> None:
        self.bare = bare
        self._begun = time.perf_counter()
        self.loop_s: list[float] = []
        self.bare_s: list[float] = []
        self.memory: list[int] = []
        """Resident bytes after each turn."""

    def __call__(self, phase: str, done: int, total: int, note: str = "", /) -> None:
        del phase, done, total, note
        self.loop_s.append(time.perf_counter() - self._begun)
        self.bare_s.append(self.bare.turn())
        self.memory.append(resident_bytes())
        self._begun = time.perf_counter()


def resident_bytes() -> int:
    """Return the memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Print one JSON object and keep it in bench/results."""
    config = load(RECIPE, [])
    with TemporaryDirectory() as folder:
        dataset = make_dataset(Path(folder) / "data")
        turns = run(dataset, Path(folder))
    loop_s, bare_s = turns.loop_s[WARM_UP:], turns.bare_s[WARM_UP:]
    ratios = [bare / loop for loop, bare in zip(loop_s, bare_s, strict=True)]
    publish(
        "trainer",
        {
            "batch_size": config.batch_size,
            "parameters": sum(p.numel() for p in turns.bare.module.parameters()),
            "threads": torch.get_num_threads(),
            "turns": len(ratios),
            "steps_per_turn": TURN,
            "loop_steps_per_s": round(TURN / median(loop_s), 2),
            "bare_steps_per_s": round(TURN / median(bare_s), 2),
            "ratio": round(median(ratios), 4),
            "ratio_low": round(float(np.quantile(ratios, 0.1)), 4),
            "ratio_high": round(float(np.quantile(ratios, 0.9)), 4),
            "memory_growth_mb": round((turns.memory[-1] - turns.memory[WARM_UP]) / 2**20, 1),
            "memory_growth_over_steps": TURN * (len(turns.memory) - 1 - WARM_UP),
        },
    )


def run(dataset: RecordedDataset, folder: Path) -> Turns:
    """Train as the recipe says, the bare loop taking a turn after each row of events."""
    config = load(RECIPE, ["--train.log_every", str(TURN), "--train.held_out_every", "500"])
    split = hold_out(dataset.episodes, per_task=1, seed=0)
    module, _ = build_chunk_module(config.policy.config, dataset=dataset, episodes=split.train)
    twin, _ = build_chunk_module(config.policy.config, dataset=dataset, episodes=split.train)

    def sampler() -> CurriculumSampler:
        plan = uniform_plan([task.id for task in dataset.spec.tasks])
        return CurriculumSampler(split.train, plan, batch_size=config.batch_size, seed=0)

    spare = Loader(dataset, sampler(), module.window)
    batches = [spare.next_batch().tensors for _ in range(TURN)]
    turns = Turns(BareLoop(twin, batches, lr=config.train.lr))
    steps = TURN * (TURNS + WARM_UP)
    parts = TrainingParts(
        dataset=dataset,
        held_out=split.held_out,
        loader=Loader(dataset, sampler(), module.window),
        optimisation=Optimisation(module, config.train, steps=steps),
        store=CheckpointStore(folder / "checkpoints"),
        recorder=Recorder(folder / "events"),
        progress=turns,
    )
    loop = TrainingLoop(parts, train=config.train, save=SaveConfig(every=steps), steps=steps)
    loop.run(StopRequest())
    return turns


def make_dataset(folder: Path) -> RecordedDataset:
    """Write episodes of random numbers in the shape of Meta-World."""
    random = np.random.default_rng(0)
    tasks = [
        Task(id=TaskId(f"bench/{i}"), index=i, name=f"task-{i}", text=f"task {i}")
        for i in range(TASKS)
    ]
    episodes = [
        RecordedEpisode(
            task_index=task.index,
            states=random.normal(size=(FRAMES, STATE)).astype(np.float32),
            actions=random.uniform(-1, 1, size=(FRAMES, ACTION)).astype(np.float32),
        )
        for task in tasks
        for _ in range(EPISODES)
    ]
    write_dataset(
        folder,
        fps=80,
        robot_type="none",
        tasks=tasks,
        state_names=[f"s{i}" for i in range(STATE)],
        action_names=[f"a{i}" for i in range(ACTION)],
        episodes=episodes,
        extra_meta={},
    )
    return open_dataset(LeRobotConfig(repo_id="bench/trainer", root=str(folder)))


if __name__ == "__main__":
    main()
