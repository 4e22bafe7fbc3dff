"""GMSE, the score of a window: grouped, motion-scaled error.

    ratio[w, g] = e / (m + STILL)           of an arm or a base
    ratio[w, g] = e / GRIPPER               of a gripper
    GMSE[w] = mean over g of ratio[w, g]

e is the root mean square of (predicted - recorded) over the executed part of the chunk and the
dimensions of group g, and m that of holding still: of the recorded motion itself. Both count in
units of each dimension's range over all tasks. So an error is judged by how far the demonstration
moves just there: 0 is perfect, and 1 no better than holding still, give or take `STILL`.

Across the tasks of one policy it follows closed-loop success much more closely than raw errors do
(docs/decisions/0008). It is a proxy of success, never success.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float64

from etude.core.errors import DataError
from etude.core.protocols import Dataset
from etude.core.task_table import robot_sizes
from etude.core.types import WindowChoice, WindowScore, WindowSpec
from etude.scan.groups import ActionGroup
from etude.scan.units import Units

STILL = 0.05
"""Share of a dimension's range that is added to the motion, so that what rests can be judged."""
GRIPPER = 0.5
"""Share of its range by which a gripper has to be off for a ratio of 1: to the wrong half."""


class Judge:
    """Turns errors of windows, in the dataset's units, into scores."""

    def __init__(
        self, dataset: Dataset, *, groups: Sequence[ActionGroup], units: Units, horizon: int
    ) -> None:
        """Judge `groups` over the first `horizon` actions of a window.

        Dimensions that never change in any task are not judged: nothing can be wrong with them
        that could be told in units of their range.

        Raises:
            DataError: No dimension ever changes.
        """
        moving = np.flatnonzero(units.ranges > 0).tolist()
        if not moving:
            raise DataError(
                f"no action of {dataset.spec.repo_id} ever changes, so no error can be judged",
                hint="Scan a dataset whose demonstrations move.",
            )
        self._dataset = dataset
        self._units = units
        self._window = WindowSpec(action_offsets=tuple(range(-1, horizon)))
        self._sizes = {task: actions for task, (_, actions) in robot_sizes(dataset.spec).items()}
        self._starts = {span.index: span.start for span in dataset.episodes}
        self._groups = {
            group: [dim for dim in group.dims if dim in moving]
            for group in groups
            if set(group.dims) & set(moving)
        }

    def scores(
        self,
        choices: Sequence[WindowChoice],
        squared: Sequence[Sequence[float]],
        absolute: Sequence[Sequence[float]],
    ) -> list[WindowScore]:
        """Return the score of each window.

        Args:
            choices: Which windows they are.
            squared: Mean squared error of each by action dimension.
            absolute: Mean absolute error of each by action dimension.

        Raises:
            DataError: A frame cannot be read.
        """
        if not choices:
            return []
        motion, errors = self._motion(choices), np.array(squared, np.float64)
        deviations = np.array(absolute, np.float64)
        scores: list[WindowScore | None] = [None] * len(choices)
        sizes = np.array([self._sizes[choice.task] for choice in choices])
        for size in np.unique(sizes).tolist():
            # Dimensions that a robot does not have carry no error.
            own = np.flatnonzero(sizes == size)
            ratios = self._ratios(size, errors[own], motion[own])
            rows = zip(
                own.tolist(),
                zip(*ratios.values(), strict=True),
                errors[own, :size].mean(axis=1).tolist(),
                deviations[own, :size].mean(axis=1).tolist(),
                strict=True,
            )
            for place, found, mse, mae in rows:
                scores[place] = WindowScore(
                    choice=choices[place],
                    groups=dict(zip(ratios, found, strict=True)),
                    mse=mse,
                    mae=mae,
                )
        return [score for score in scores if score is not None]

    def _ratios(
        self,
        size: int,
        squared: Float64[np.ndarray, "batch action"],
        motion: Float64[np.ndarray, "batch action"],
    ) -> dict[str, list[float]]:
        """Return each group's ratios for a robot that has the first `size` dimensions."""
        own = {group: [dim for dim in dims if dim < size] for group, dims in self._groups.items()}
        if not any(own.values()):
            raise DataError(
                f"no action of the robot with {size} dimensions ever changes",
                hint="Scan demonstrations that move.",
            )
        return {
            group.name: self._ratio(group, dims, squared, motion).tolist()
            for group, dims in own.items()
            if dims
        }

    def _ratio(
        self,
        group: ActionGroup,
        dims: list[int],
        squared: Float64[np.ndarray, "batch action"],
        motion: Float64[np.ndarray, "batch action"],
    ) -> Float64[np.ndarray, " batch"]:
        ranges = self._units.ranges[dims]
        error = np.sqrt((squared[:, dims] / ranges**2).mean(axis=1))
        if group.is_gripper:
            return error / GRIPPER
        return error / (np.sqrt((motion[:, dims] / ranges**2).mean(axis=1)) + STILL)

    def _motion(self, choices: Sequence[WindowChoice]) -> Float64[np.ndarray, "batch action"]:
        """Return the mean square of what holding still lacks, by action dimension."""
        rows = [self._starts[choice.episode] + choice.frame for choice in choices]
        windows = self._dataset.windows(np.array(rows, np.int64), self._window)
        actions = windows.actions.astype(np.float64)
        return still_errors(
            actions[:, 1:], actions[:, 0], windows.actions_valid[:, 1:], moves=self._units.moves
        )


def still_errors(
    actions: Float64[np.ndarray, "batch horizon action"],
    before: Float64[np.ndarray, "batch action"],
    valid: Bool[np.ndarray, "batch horizon"],
    *,
    moves: Bool[np.ndarray, " action"],
) -> Float64[np.ndarray, "batch action"]:
    """Return the mean squared error of holding still over the actions that are no padding.

    Args:
        actions: What was recorded.
        before: The action before them; at the beginning of an episode its first one.
        valid: False for padding.
        moves: Whether 0 is to hold still, or `before` is.
    """
    still = np.where(moves, 0.0, before)
    squares = np.where(valid[:, :, None], (actions - still[:, None]) ** 2, 0.0)
    return squares.sum(axis=1) / valid.sum(axis=1)[:, None]


def passes(groups: Mapping[str, float], *, tau: float) -> bool:
    """Return whether the worst group of a window is good enough."""
    return max(groups.values()) <= tau
