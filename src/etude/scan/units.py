"""The units in which errors are judged: how far each action dimension goes, and what it means."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from etude.core.protocols import Dataset
from etude.core.task_table import robot_sizes
from etude.core.types import EpisodeSpan
from etude.scan.episodes import episodes_to_measure, finite
from etude.scan.groups import named_moves
from etude.scan.scan_config import ActionKind

FRAMES = 256
"""Frames of an episode, spread over it, that are enough to tell what actions mean."""
JUMP = 3.0
"""A state that changes by more times its mean change has been moved by something else."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Units:
    """What is the same for all tasks of a dataset."""

    ranges: Float64[np.ndarray, " action"]
    """Largest less smallest recorded value of each dimension, over all tasks."""
    moves: Bool[np.ndarray, " action"]
    """Whether a dimension says how to move, so that 0 is to hold still; otherwise it says where to
    be, and holding still is to repeat it."""


def measure_units(
    dataset: Dataset, episodes: Iterable[EpisodeSpan], *, actions: ActionKind
) -> Units:
    """Measure the units over the training episodes of all tasks.

    Without word from the configuration or its name, a dimension says how to move if it goes along
    with the change of some state more than with any state itself.

    Args:
        dataset: Where the frames are.
        episodes: The training episodes; held-out ones must not be among them.
        actions: What actions say: "absolute" where to be, "relative" how to move, or "auto".

    Raises:
        DataError: A recorded number is not a finite one.
    """
    size = dataset.spec.action_dim
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    levels = _Moments(actions=size, states=dataset.spec.state_dim)
    changes = _Moments(actions=size, states=dataset.spec.state_dim)
    sizes = robot_sizes(dataset.spec)
    for episode in episodes_to_measure(episodes):
        columns = dataset.columns(episode)
        recorded = finite(episode, "action", columns.actions)
        own = slice(sizes[episode.task][1])
        low[own] = np.minimum(low[own], recorded.min(axis=0)[own])
        high[own] = np.maximum(high[own], recorded.max(axis=0)[own])
        if actions == "auto":
            states = finite(episode, "state", columns.states)
            some = np.arange(0, len(states) - 1, 1 + len(states) // FRAMES)
            levels.add(recorded[some], states[some])
            changes.add(recorded[some], _usual(states[some + 1] - states[some]))
    told = np.full(size, actions == "relative")
    moves = changes.strongest() > levels.strongest() if actions == "auto" else told
    if actions == "auto":
        for dim, named in enumerate(named_moves(dataset.spec)):
            moves[dim] = moves[dim] if named is None else named
    return Units(ranges=np.maximum(high - low, 0.0), moves=moves)


def _usual(
    changes: Float64[np.ndarray, "frames state"],
) -> Float64[np.ndarray, "frames state"]:
    """Return changes with jumps cut, such as those where one recording follows another."""
    most = JUMP * np.abs(changes).mean(axis=0) if len(changes) else 0.0
    return np.clip(changes, -most, most)


class _Moments:
    """Sums from which the correlations of actions with states follow, in double precision."""

    def __init__(self, *, actions: int, states: int) -> None:
        self._frames = 0
        self._actions, self._states = np.zeros((2, actions)), np.zeros((2, states))
        self._products = np.zeros((actions, states))

    def add(
        self,
        actions: Float64[np.ndarray, "frames action"],
        states: Float64[np.ndarray, "frames state"],
    ) -> None:
        self._frames += len(actions)
        self._actions += np.stack([actions.sum(axis=0), (actions**2).sum(axis=0)])
        self._states += np.stack([states.sum(axis=0), (states**2).sum(axis=0)])
        self._products += actions.T @ states

    def strongest(self) -> Float64[np.ndarray, " action"]:
        """Return each action's largest correlation, in size, with any state; 0 without states."""
        count = max(self._frames, 1)
        means, squares = self._actions / count
        state_means, state_squares = self._states / count
        spread = np.sqrt(np.maximum(squares - means**2, 0.0))
        state_spread = np.sqrt(np.maximum(state_squares - state_means**2, 0.0))
        together = self._products / count - np.outer(means, state_means)
        scale = np.outer(spread, state_spread)
        found = np.divide(np.abs(together), scale, out=np.zeros_like(scale), where=scale > 1e-12)
        return found.max(axis=1, initial=0.0)
