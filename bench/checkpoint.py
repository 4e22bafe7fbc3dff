"""How long a checkpoint keeps training waiting: written at once, and written beside the steps.

Both kinds take turns on one model, so that whatever else the machine does meets both alike.
"""

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import torch

from etude.checkpoints.commit import CheckpointStore
from etude.checkpoints.save_config import SaveConfig
from etude.core.types import TaskId
from etude.curriculum.plan import uniform_plan
from etude.curriculum.sampler import CurriculumSampler
from etude.policies.chunk_config import ChunkConfig
from etude.policies.chunk_module import build_chunk_module
from etude.testing.fakes import MemoryDataset, toy_tasks, walk_dataset
from etude.train.loader import Loader
from etude.train.snapshot import Saves, tensor_bytes
from etude.train.step import Optimisation
from etude.train.train_config import TrainConfig
from etude.train.training_state import tensor_state
from result import publish

WIDTH, BLOCKS, BATCH = 2048, 6, 64
TURNS, STEPS_BETWEEN, WARM_UP = 7, 3, 1


class Side:
    """One way to save, and what training has waited for it."""

    def __init__(self, folder: Path, optimisation: Optimisation, loader: Loader, mode: str) -> None:
        config = SaveConfig(mode="async" if mode == "async" else "sync")
        self._saves = Saves(
            CheckpointStore(folder / mode, keep_last=1), optimisation, loader.sampler, config
        )
        self.optimisation = optimisation
        self._loader = loader
        self._steps = 0
        self.begin_s: list[float] = []
        self.commit_s: list[float] = []
        self.beside: list[int] = []
        """Steps that were done while files were written."""

    def turn(self) -> None:
        """Train a little, save, and go on training until the checkpoint counts."""
        for _ in range(STEPS_BETWEEN):
            self._step()
        begun = time.perf_counter()
        self._saves.begin(self._steps)
        self.begin_s.append(time.perf_counter() - begun)
        beside = 0
        while self._saves.busy:
            self._step()
            beside += 1
        self.beside.append(beside)
        begun = time.perf_counter()
        self._saves.commit()
        self.commit_s.append(time.perf_counter() - begun)

    def _step(self) -> None:
        batch = self._loader.next_batch()
        self.optimisation.step(batch.tensors, self._steps)
        self._steps += 1


def main() -> None:
    """Print one JSON object and keep it in bench/results."""
    data = walk_dataset({TaskId("toy/0"): [64], TaskId("toy/1"): [64]}, tasks=toy_tasks(2))
    torch.manual_seed(0)
    with TemporaryDirectory(dir=Path(__file__).parent) as folder:
        sides = {mode: side(Path(folder), data, mode) for mode in ("sync", "async")}
        for _ in range(TURNS + WARM_UP):
            for each in sides.values():
                each.turn()
        saved = tensor_bytes(tensor_state(sides["sync"].optimisation, SaveConfig()))
    stalls = {
        mode: [a + b for a, b in zip(s.begin_s, s.commit_s, strict=True)][WARM_UP:]
        for mode, s in sides.items()
    }
    shares = [a / s for a, s in zip(stalls["async"], stalls["sync"], strict=True)]
    publish(
        "checkpoint",
        {
            "saved_mb": round(saved / 1e6, 1),
            "turns": TURNS,
            "sync_stall_s": round(median(stalls["sync"]), 4),
            "async_stall_s": round(median(stalls["async"]), 4),
            "async_copy_s": round(median(sides["async"].begin_s[WARM_UP:]), 4),
            "async_commit_s": round(median(sides["async"].commit_s[WARM_UP:]), 4),
            "steps_beside": sides["async"].beside[WARM_UP:],
            "ratio": round(median(shares), 4),
            "ratio_low": round(min(shares), 4),
            "ratio_high": round(max(shares), 4),
        },
    )


def side(folder: Path, data: MemoryDataset, mode: str) -> Side:
    """Return one side with a model of its own."""
    module, _ = build_chunk_module(
        ChunkConfig(width=WIDTH, blocks=BLOCKS, task_dim=8, horizon=4, execute=2),
        dataset=data,
        episodes=data.episodes,
    )
    plan = uniform_plan([task.id for task in data.spec.tasks])
    sampler = CurriculumSampler(data.episodes, plan, batch_size=BATCH, seed=0)
    optimisation = Optimisation(module, TrainConfig(), steps=10_000)
    return Side(folder, optimisation, Loader(data, sampler, module.window), mode)


if __name__ == "__main__":
    main()
