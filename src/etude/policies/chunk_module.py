"""The `chunk` policy as a module that can be trained: windows in, one loss per sample out."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor, nn

from etude.compute.batch import TensorBatch
from etude.core.errors import ConfigError
from etude.core.protocols import Dataset
from etude.core.task_table import tasks_to_json
from etude.core.types import DataSpec, EpisodeSpan, WindowSpec
from etude.policies.chunk_config import ChunkConfig
from etude.policies.networks import ChunkNetwork
from etude.policies.normalise import Normaliser, fit_moments


class ChunkModule(nn.Module):
    """Normaliser and network. Call it, never `.forward` it: sharding hooks run on calls."""

    def __init__(self, config: ChunkConfig, spec: DataSpec) -> None:
        super().__init__()
        _require_places(config, spec.state_dim)
        self.config = config
        self.spec = spec
        apart = sum(n for _, _, n in config.differences)
        input_dim = spec.state_dim + apart * (1 + len(config.scales))
        self.normaliser = Normaliser(input_dim=input_dim, action_dim=spec.action_dim)
        self.network = ChunkNetwork(
            input_dim=input_dim,
            action_dim=spec.action_dim,
            tasks=len(spec.tasks),
            task_dim=config.task_dim,
            width=config.width,
            blocks=config.blocks,
            horizon=config.horizon,
        )

    @property
    def window(self) -> WindowSpec:
        """What a training window must hold."""
        return WindowSpec(action_offsets=tuple(range(self.config.horizon)))

    def forward(self, batch: TensorBatch) -> Float32[Tensor, " batch"]:
        """Return each window's mean squared error of normalised actions over valid entries."""
        inputs = self.normaliser.inputs(self.features(batch.states[:, -1]))
        with _products(self.config.precision, inputs.device.type):
            predicted = self.network(inputs, batch.tasks)
        wanted = self.normaliser.actions(batch.actions)
        return chunk_losses(predicted.float(), wanted, batch.actions_valid, batch.actions_used)

    @torch.no_grad()
    def predict(
        self, states: Float32[Tensor, "batch state"], tasks: Int64[Tensor, " batch"]
    ) -> Float32[Tensor, "batch horizon action"]:
        """Return action chunks in the dataset's own units."""
        inputs = self.normaliser.inputs(self.features(states))
        return self.normaliser.to_actions(self.network(inputs, tasks))

    def features(self, states: Float[Tensor, "batch state"]) -> Float[Tensor, "batch input"]:
        """Return states, then the configured differences, then these at each scale."""
        differences = [
            states[:, a : a + n] - states[:, b : b + n] for a, b, n in self.config.differences
        ]
        scaled = [torch.tanh(d / scale) for scale in self.config.scales for d in differences]
        return torch.cat([states, *differences, *scaled], dim=-1)

    def describe(self) -> dict[str, Any]:
        """Return everything but the tensors that is needed to build the same module again."""
        config = {name: getattr(self.config, name) for name in self.config.__slots__}
        return {
            "type": "chunk",
            "schema": "chunk/1",
            "config": {
                **config,
                "differences": [list(places) for places in self.config.differences],
                "scales": list(self.config.scales),
            },
            "dataset": self.spec.repo_id,
            "fps": self.spec.fps,
            "state_dim": self.spec.state_dim,
            "action_dim": self.spec.action_dim,
            "tasks": tasks_to_json(self.spec.tasks),
        }


def _products(precision: str, device: str) -> AbstractContextManager[object]:
    """Return where products are made; who trains the module may have asked for bfloat16, too."""
    if precision == "float32":
        return nullcontext()
    return torch.autocast(device, dtype=torch.bfloat16)


def chunk_losses(
    predicted: Float[Tensor, "batch horizon action"],
    wanted: Float[Tensor, "batch horizon action"],
    valid: Bool[Tensor, "batch horizon"],
    used: Bool[Tensor, "batch action"] | None = None,
) -> Float[Tensor, " batch"]:
    """Return each sample's mean squared error over its valid entries; padding carries none.

    Args:
        predicted: What the network says.
        wanted: What was recorded.
        valid: False for steps outside of the episode.
        used: False for dimensions that the sample's robot does not have.
    """
    squares = (predicted - wanted).square()
    if used is None:
        squared = squares.mean(dim=-1)
    else:
        squared = (squares * used[:, None]).sum(dim=-1) / used.sum(dim=-1, keepdim=True)
    return (squared * valid).sum(dim=-1) / valid.sum(dim=-1).clamp(min=1)


def build_chunk_module(
    config: ChunkConfig, *, dataset: Dataset, episodes: Sequence[EpisodeSpan]
) -> tuple[ChunkModule, tuple[str, ...]]:
    """Return a fresh module with the scales of `episodes`, and what the user should know.

    Weights come from torch's global random state.

    Raises:
        ConfigError: `differences` names places that a state does not have.
        DataError: There are no frames.
    """
    module = ChunkModule(config, dataset.spec)
    moments = fit_moments(dataset, episodes, features=module.features)
    module.normaliser.adopt(moments)
    warnings = tuple(
        f"{what} dimensions {', '.join(map(str, scale.floored))} hardly change; "
        f"their scale was raised to the floor"
        for what, scale in (("input", moments.inputs), ("action", moments.actions))
        if scale.floored
    )
    return module, warnings


def _require_places(config: ChunkConfig, state_dim: int) -> None:
    for a, b, n in config.differences:
        if max(a, b) + n > state_dim:
            raise ConfigError(
                f"policy.differences has ({a}, {b}, {n}), beyond a state of {state_dim} numbers",
                hint="Leave it out, or name places that the state has.",
            )
