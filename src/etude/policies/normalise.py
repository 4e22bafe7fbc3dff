"""Bringing network inputs and actions to a common scale, and actions back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64, Int64
from torch import Tensor, nn

from etude.core.errors import DataError
from etude.core.protocols import Dataset
from etude.core.task_table import robot_sizes
from etude.core.types import EpisodeSpan

RELATIVE_FLOOR = 1e-3
"""Smallest scale of a dimension, as a share of its range over all tasks."""
ABSOLUTE_FLOOR = 1e-6
"""Smallest scale of a dimension that never changes."""
INPUT_CLIP = 10.0
"""Largest normalised input; actions are never clipped."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scale:
    """Mean and scale of each dimension of one column."""

    mean: Float32[np.ndarray, " dim"]
    std: Float32[np.ndarray, " dim"]
    """Standard deviation, never under the floor."""
    floored: tuple[int, ...]
    """Dimensions whose standard deviation was under the floor."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """What a normaliser needs to know about the training episodes."""

    inputs: Scale
    """Of what the network sees: states, or features made of them."""
    actions: Scale


class _Running:
    """Count, mean, spread and range of rows that come in pieces, in double precision."""

    def __init__(self, dim: int) -> None:
        self.count: Int64[np.ndarray, " dim"] = np.zeros(dim, np.int64)
        self._mean: Float64[np.ndarray, " dim"] = np.zeros(dim)
        self._squares: Float64[np.ndarray, " dim"] = np.zeros(dim)
        self._low: Float64[np.ndarray, " dim"] = np.full(dim, np.inf)
        self._high: Float64[np.ndarray, " dim"] = np.full(dim, -np.inf)

    def add(self, rows: Float32[np.ndarray, "frames dim"]) -> None:
        """Merge some rows in; NaN stands where a robot has no such dimension.

        Source: Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983.
        """
        if not len(rows):
            return
        there = ~np.isnan(rows[0])
        exact = rows[:, there].astype(np.float64)
        count, mean = len(exact), exact.mean(axis=0)
        before = self.count[there]
        delta, total = mean - self._mean[there], before + count
        self._squares[there] += ((exact - mean) ** 2).sum(axis=0)
        self._squares[there] += delta**2 * before * count / total
        self._mean[there] += delta * count / total
        self._low[there] = np.minimum(self._low[there], exact.min(axis=0))
        self._high[there] = np.maximum(self._high[there], exact.max(axis=0))
        self.count[there] = total

    def scale(self) -> Scale:
        std = np.sqrt(self._squares / np.maximum(self.count, 1))
        span = np.where(self.count > 0, self._high - self._low, 0.0)
        floor = np.maximum(RELATIVE_FLOOR * span, ABSOLUTE_FLOOR)
        return Scale(
            mean=self._mean.astype(np.float32),
            std=np.maximum(std, floor).astype(np.float32),
            floored=tuple(int(dim) for dim in np.flatnonzero(std < floor)),
        )


def fit_moments(
    dataset: Dataset,
    episodes: Sequence[EpisodeSpan],
    *,
    features: Callable[[Tensor], Tensor],
) -> Moments:
    """Measure the scale of every input and action dimension over all frames of `episodes`.

    Args:
        dataset: Where the frames are.
        episodes: The training episodes; held-out ones must not be among them.
        features: From states "frames state" to network inputs "frames input".

    Raises:
        DataError: There are no frames.
    """
    inputs: _Running | None = None
    actions = _Running(dataset.spec.action_dim)
    sizes = robot_sizes(dataset.spec)
    for episode in episodes:
        columns = dataset.columns(episode)
        state_size, action_size = sizes[episode.task]
        seen = features(torch.tensor(_own(columns.states, state_size))).numpy()
        inputs = inputs or _Running(seen.shape[-1])
        inputs.add(seen)
        actions.add(_own(columns.actions, action_size))
    if inputs is None or not inputs.count.any():
        raise DataError(
            f"{dataset.spec.repo_id} has no frames to train on",
            hint="Record demonstrations, or hold out fewer episodes.",
        )
    return Moments(inputs=inputs.scale(), actions=actions.scale())


def _own(rows: Float32[np.ndarray, "frames dim"], size: int) -> Float32[np.ndarray, "frames dim"]:
    """Return rows with NaN in place of the dimensions that their robot does not have."""
    if size == rows.shape[1]:
        return rows
    return np.hstack([rows[:, :size], np.full_like(rows[:, size:], np.nan)])


class Normaliser(nn.Module):
    """Normalises inputs and actions; its numbers travel with the weights."""

    input_mean: Tensor
    input_std: Tensor
    action_mean: Tensor
    action_std: Tensor

    def __init__(self, *, input_dim: int, action_dim: int) -> None:
        super().__init__()
        self.register_buffer("input_mean", torch.zeros(input_dim))
        self.register_buffer("input_std", torch.ones(input_dim))
        self.register_buffer("action_mean", torch.zeros(action_dim))
        self.register_buffer("action_std", torch.ones(action_dim))

    def adopt(self, moments: Moments) -> None:
        """Take over measured scales."""
        measured: Mapping[str, Float32[np.ndarray, " dim"]] = {
            "input_mean": moments.inputs.mean,
            "input_std": moments.inputs.std,
            "action_mean": moments.actions.mean,
            "action_std": moments.actions.std,
        }
        for name, values in measured.items():
            self.get_buffer(name).copy_(torch.from_numpy(values))

    def inputs(self, inputs: Float[Tensor, "*shape input"]) -> Float[Tensor, "*shape input"]:
        """Return normalised inputs, clipped to ±10."""
        return ((inputs - self.input_mean) / self.input_std).clamp(-INPUT_CLIP, INPUT_CLIP)

    def actions(self, actions: Float[Tensor, "*shape action"]) -> Float[Tensor, "*shape action"]:
        """Return normalised actions."""
        return (actions - self.action_mean) / self.action_std

    def to_actions(
        self, normalised: Float[Tensor, "*shape action"]
    ) -> Float[Tensor, "*shape action"]:
        """Return actions in the dataset's own units."""
        return normalised * self.action_std + self.action_mean
