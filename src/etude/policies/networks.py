"""Building blocks of the built-in policies."""

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn


class ResidualBlock(nn.Module):
    """A normalised, bent and mixed copy of its input, beside an identity path."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.bend = nn.GELU()
        self.mix = nn.Linear(width, width)

    def forward(self, hidden: Float[Tensor, "batch width"]) -> Float[Tensor, "batch width"]:
        return hidden + self.mix(self.bend(self.norm(hidden)))


class ChunkNetwork(nn.Module):
    """From a normalised input and a task to a normalised action chunk.

    Every weight is shared by all tasks but the embedding that tells the network which one it is.
    """

    def __init__(
        self,
        *,
        input_dim: int,
        action_dim: int,
        tasks: int,
        task_dim: int,
        width: int,
        blocks: int,
        horizon: int,
    ) -> None:
        super().__init__()
        self._chunk_shape = (horizon, action_dim)
        self.task = nn.Embedding(tasks, task_dim)
        self.enter = nn.Linear(input_dim + task_dim, width)
        self.blocks = nn.ModuleList(ResidualBlock(width) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.bend = nn.GELU()
        self.leave = nn.Linear(width, horizon * action_dim)

    def forward(
        self, inputs: Float[Tensor, "batch input"], tasks: Int64[Tensor, " batch"]
    ) -> Float[Tensor, "batch horizon action"]:
        hidden = self.enter(torch.cat([inputs, self.task(tasks)], dim=-1))
        for block in self.blocks:
            hidden = block(hidden)
        return self.leave(self.bend(self.norm(hidden))).unflatten(-1, self._chunk_shape)
