"""A plain PyTorch loop with a curriculum. What Etude asks for is marked with `# etude`.

Run `python docs/examples/plain_loop.py FOLDER`, stop it at any time, and run it again: it goes on
with the very batch that it would have drawn next.
"""

import sys
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from etude.core.types import EpisodeSpan, TaskId
from etude.curriculum.curriculum import Curriculum  # etude
from etude.curriculum.drop_in_config import DropInConfig  # etude
from etude.curriculum.score import Score  # etude

TASKS, EPISODES, FRAMES = 3, 4, 25
GOOD = 0.05
"""Error of a prediction that counts as good."""


class Frames(Dataset[tuple[Tensor, Tensor, Tensor]]):
    """Made-up demonstrations: each task has its own direction to move in."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        rows = TASKS * EPISODES * FRAMES
        self.states = torch.rand(rows, 2, generator=generator)
        self.tasks = torch.arange(rows) // (EPISODES * FRAMES)
        directions = torch.randn(TASKS, 2, generator=generator)
        self.actions = (self.states * directions[self.tasks]).sum(1)

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor, Tensor]:
        return torch.tensor(row), self.inputs(torch.tensor([row]))[0], self.actions[row]

    def inputs(self, rows: Tensor) -> Tensor:
        """Return the states, each in the columns of its task."""
        chosen = nn.functional.one_hot(self.tasks[rows], TASKS)
        return (chosen[:, :, None] * self.states[rows, None, :]).flatten(1)

    def episodes(self) -> list[EpisodeSpan]:
        """Return where each demonstration lies, and which task it shows."""
        return [
            EpisodeSpan(
                index=number,
                task=TaskId(f"moves/{number // EPISODES}"),
                start=number * FRAMES,
                stop=(number + 1) * FRAMES,
            )
            for number in range(TASKS * EPISODES)
        ]


def scores(model: nn.Module, frames: Frames, due: tuple[TaskId, ...]) -> dict[TaskId, Score]:
    """Score the tasks that are due; with a simulator, these would be episodes."""
    found: dict[TaskId, Score] = {}
    for task in due:
        rows = torch.nonzero(frames.tasks == int(task.split("/")[1]))[::5, 0]
        with torch.no_grad():
            errors = (model(frames.inputs(rows))[:, 0] - frames.actions[rows]).abs()
        found[task] = Score(
            passed=float((errors < GOOD).sum()),
            trials=len(rows),
            episodes=EPISODES,
            error=float(errors.mean()),
            kind="open_loop",
        )
    return found


def train(folder: Path, *, steps: int, workers: int = 2) -> list[list[int]]:
    """Train up to `steps`, save, and return the rows of every batch of this call."""
    torch.manual_seed(0)
    frames, model = Frames(), nn.Linear(2 * TASKS, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    config = DropInConfig(lag=8, plan_every=20)
    curriculum = Curriculum(frames.episodes(), batch_size=8, config=config)  # etude
    saved = folder / "checkpoint.pt"
    if saved.exists():
        state = torch.load(saved)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        curriculum.load_state_dict(state["curriculum"])  # etude
    loader = DataLoader(
        frames,
        batch_sampler=curriculum.batches,  # etude
        num_workers=workers,
    )
    drawn: list[list[int]] = []
    while curriculum.step < steps:
        for rows, inputs, actions in loader:
            loss = nn.functional.mse_loss(model(inputs)[:, 0], actions)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            drawn.append(rows.tolist())
            curriculum.trained()  # etude
            if curriculum.step % 10 == 0:
                found = scores(model, frames, curriculum.due)  # etude
                curriculum.observe(found, step=curriculum.step)  # etude
            if curriculum.step == steps:
                break
    torch.save(
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "curriculum": curriculum.state_dict(),  # etude
        },
        saved,
    )
    print({task: state.label for task, state in curriculum.states.items()})
    return drawn


if __name__ == "__main__":
    train(Path(sys.argv[1]), steps=200)
