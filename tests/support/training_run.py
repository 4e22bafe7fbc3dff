"""One small training run over random walks, made anew or continued, and what it leaves."""

from pathlib import Path
from typing import Any, Literal

import torch

from etude.checkpoints.commit import CheckpointStore
from etude.checkpoints.save_config import SaveConfig
from etude.compute.strategy_config import ParallelConfig
from etude.core.protocols import Ranks
from etude.core.ranks import Solo
from etude.core.types import TaskId
from etude.curriculum.plan import uniform_plan
from etude.curriculum.sampler import CurriculumSampler
from etude.events.reader import read_events
from etude.events.recorder import Recorder
from etude.policies.chunk_config import ChunkConfig
from etude.policies.chunk_module import build_chunk_module
from etude.testing.fakes import MemoryDataset, toy_tasks, walk_dataset
from etude.train.loader import Loader
from etude.train.loop import TrainingLoop, TrainingParts
from etude.train.restore import newest
from etude.train.steering import Steering
from etude.train.step import Optimisation
from etude.train.train_config import TrainConfig

TASKS = toy_tasks(3)
CONFIG = TrainConfig(lr=1e-2, warmup_steps=3, log_every=5, held_out_every=10)
TIMED = ("t", "seq", "attempt")


def dataset() -> MemoryDataset:
    return walk_dataset(
        {TaskId("toy/0"): [20, 9], TaskId("toy/1"): [7, 12], TaskId("toy/2"): [15, 3]}, tasks=TASKS
    )


def quiet(phase: str, done: int, total: int, note: str = "", /) -> None:
    pass


def make_loop(
    folder: Path,
    *,
    steps: int = 40,
    save_every: int = 20,
    config: TrainConfig = CONFIG,
    data: MemoryDataset | None = None,
    ranks: Ranks | None = None,
    parallel: ParallelConfig | None = None,
    steering: Steering | None = None,
    batch_size: int = 12,
    blocks: int = 1,
    precision: Literal["float32", "bfloat16"] = "float32",
    **saving: Any,
) -> tuple[TrainingLoop, TrainingParts]:
    """A small training run with one held-out episode a task."""
    data, ranks, parallel = data or dataset(), ranks or Solo(), parallel or ParallelConfig()
    train, held_out = data.episodes[::2], data.episodes[1::2]
    torch.manual_seed(0)
    module, _ = build_chunk_module(
        ChunkConfig(width=16, blocks=blocks, task_dim=4, horizon=4, execute=2, precision=precision),
        dataset=data,
        episodes=train,
    )
    sampler = CurriculumSampler(
        train, uniform_plan([task.id for task in TASKS]), batch_size=batch_size, seed=0
    )
    save = SaveConfig(**{"every": save_every, "keep_last": 2, **saving})
    parts = TrainingParts(
        dataset=data,
        held_out=held_out,
        loader=Loader(data, sampler, module.window, ranks=ranks, accumulate=parallel.accumulate),
        optimisation=Optimisation(module, config, steps=steps, ranks=ranks, parallel=parallel),
        store=CheckpointStore(folder / "checkpoints", keep_last=save.keep_last),
        recorder=Recorder(folder / "events", rank=ranks.rank),
        progress=quiet,
        steering=steering,
    )
    return TrainingLoop(parts, train=config, save=save, steps=steps), parts


def continue_run(folder: Path, **options: Any) -> tuple[TrainingLoop, TrainingParts]:
    """The same run in a new process: everything made anew, then the newest checkpoint put in."""
    loop, parts = make_loop(folder, **options)
    ranks = parts.optimisation.ranks
    if ranks.rank == 0:
        parts.store.sweep()
    ref = newest(parts.store, ranks)
    if ref is not None:
        loop.resume(ref)
    return loop, parts


def events_after(folder: Path, step: int) -> list[dict[str, Any]]:
    """The events beyond a step, later attempts replacing earlier ones, without their times."""
    kept: dict[tuple[str, int], dict[str, Any]] = {}
    for record in read_events(folder / "events"):
        if record.get("step", 0) > step:
            key = (record["kind"], record["step"])
            kept[key] = {name: value for name, value in record.items() if name not in TIMED}
    return [kept[key] for key in sorted(kept)]


def weights(parts: TrainingParts) -> dict[str, torch.Tensor]:
    return {
        **{f"live.{k}": v for k, v in parts.optimisation.module.state_dict().items()},
        **{f"average.{k}": v for k, v in parts.optimisation.average.state_dict().items()},
    }


def assert_equal_weights(one: TrainingParts, other: TrainingParts) -> None:
    ours, theirs = weights(one), weights(other)
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert torch.equal(ours[name], theirs[name]), name
