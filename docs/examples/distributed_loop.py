"""A loop in the manner of VeOmni and LingBot-VLA, with a curriculum.

Model and optimiser are saved by torch's distributed checkpoints, everything else of a rank as
`extra_state/extra_state_rank_<rank>.pt`, with the loader's state among it. Etude's lines are marked
with `# etude`. Run it on any number of ranks, and go on with any other:

    torchrun --nproc-per-node 2 docs/examples/distributed_loop.py FOLDER

It needs torchdata besides Etude. The curriculum holds the place in the stream; that the loader
stands at the same place is checked when both are loaded.
"""

import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset
from torchdata.stateful_dataloader import StatefulDataLoader

from etude.core.types import EpisodeSpan, TaskId
from etude.curriculum.curriculum import Curriculum  # etude
from etude.curriculum.drop_in_config import DropInConfig  # etude
from etude.curriculum.score import Score  # etude

TASKS, FRAMES, BATCH = 4, 30, 8


class Frames(Dataset[tuple[int, Tensor]]):
    """Made-up frames, one episode for each task."""

    def __getitem__(self, row: int) -> tuple[int, Tensor]:
        return row, nn.functional.one_hot(torch.tensor(row // FRAMES), TASKS).float()


def episodes() -> list[EpisodeSpan]:
    """Return where each demonstration lies, and which task it shows."""
    return [
        EpisodeSpan(
            index=task, task=TaskId(f"toy/{task}"), start=task * FRAMES, stop=(task + 1) * FRAMES
        )
        for task in range(TASKS)
    ]


def scores(model: nn.Module, due: tuple[TaskId, ...]) -> dict[TaskId, Score]:
    """Score the tasks that are due: on every rank, or on one that tells the others."""
    with torch.no_grad():
        predicted = model(torch.eye(TASKS))[:, 0].tolist()
    return {
        task: Score(
            passed=max(0, 10 - round(abs(predicted[place] - place))), trials=10, episodes=10
        )
        for place, task in ((int(task.split("/")[1]), task) for task in due)
    }


def save(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, extra_state: dict[str, Any]
) -> None:
    """Save what all ranks share as one checkpoint, and beside it what each holds."""
    weights, moments = get_state_dict(model, optimizer)
    dcp.save({"model": weights, "optimizer": moments}, checkpoint_id=folder)
    extra = folder / "extra_state"
    extra.mkdir(exist_ok=True)
    torch.save(extra_state, extra / f"extra_state_rank_{dist.get_rank()}.pt")
    dist.barrier()


def load(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Load model and optimiser, and return the extra state of this rank, or of any if it is new."""
    weights, moments = get_state_dict(model, optimizer)
    state = {"model": weights, "optimizer": moments}
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(
        model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
    )
    saved = sorted((folder / "extra_state").glob("extra_state_rank_*.pt"))
    return torch.load(saved[dist.get_rank() % len(saved)])


def train(folder: Path, *, steps: int, workers: int = 2) -> list[list[int]]:
    """Train up to `steps`, save, and return the rows that this rank saw."""
    torch.manual_seed(0)
    model = nn.Linear(TASKS, 1)
    wrapped = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    curriculum = Curriculum(  # etude
        episodes(),
        batch_size=BATCH,
        rank=dist.get_rank(),
        ranks=dist.get_world_size(),
        config=DropInConfig(lag=8, plan_every=5),
    )
    loader = StatefulDataLoader(
        Frames(),
        batch_sampler=curriculum.batches,  # etude
        num_workers=workers,
    )
    if (folder / ".metadata").exists():
        extra_state = load(folder, model, optimizer)
        curriculum.load_state_dict(extra_state["curriculum"])  # etude
        loader.load_state_dict(extra_state["train_dataloader"])
    drawn: list[list[int]] = []
    while curriculum.step < steps:
        for rows, inputs in loader:
            loss = (wrapped(inputs)[:, 0] - inputs.argmax(1)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            drawn.append(rows.tolist())
            curriculum.trained()  # etude
            if curriculum.step % 5 == 0:
                found = scores(model, curriculum.due)  # etude
                curriculum.observe(found, step=curriculum.step)  # etude
            if curriculum.step == steps:
                break
    extra_state = {
        "global_step": steps,
        "train_dataloader": loader.state_dict(),
        "curriculum": curriculum.state_dict(),  # etude
    }
    save(folder, model, optimizer, extra_state)
    return drawn


def main(folder: Path, steps: int) -> None:
    """Train as one of the ranks, and say which rows it saw."""
    dist.init_process_group("gloo")
    rows = train(folder, steps=steps, workers=int(os.environ.get("WORKERS", "2")))
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}: {rows}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 30)
