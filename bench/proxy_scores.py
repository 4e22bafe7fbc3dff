"""Open-loop scores of a task that could stand for its success, each over the same predictions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from etude.scan.strata import STRATA, importance

EXECUTED = 4
"""Actions of a chunk that are played, and judged unless a score says otherwise."""
STILL = 0.1
"""Added to the motion by which an error is divided; half of it is 5 % of an action's range."""
GRIPPER = 3
"""The action dimension that closes the gripper; those before it move the hand."""

Values = Float64[np.ndarray, " windows"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Predictions:
    """What a policy would have done at every frame of some demonstrations."""

    predicted: Float64[np.ndarray, "windows horizon action"]
    recorded: Float64[np.ndarray, "windows horizon action"]
    valid: Bool[np.ndarray, "windows horizon"]
    tasks: Int64[np.ndarray, " windows"]
    frames: Int64[np.ndarray, " windows"]
    """Place of each window in its episode."""
    strata: Int64[np.ndarray, " windows"]
    """Place in `scan.strata.STRATA`."""
    last: Float64[np.ndarray, "windows action"]
    """The action before; at the beginning of an episode its first one."""

    def squared(
        self, first: int = 0, stop: int = EXECUTED
    ) -> Float64[np.ndarray, "windows action"]:
        """Return the mean squared error over a part of the chunk."""
        return self.mean_over((self.predicted - self.recorded) ** 2, first, stop)

    def mean_over(
        self, values: Float64[np.ndarray, "windows horizon action"], first: int, stop: int
    ) -> Float64[np.ndarray, "windows action"]:
        """Return the mean of `values` over a part of the chunk, padding left out."""
        valid = self.valid[:, first:stop, None]
        kept = np.where(valid, values[:, first:stop], 0.0).sum(axis=1)
        return kept / np.maximum(valid.sum(axis=1), 1)

    @property
    def motion(self) -> Values:
        """How far the demonstration moves the hand while the actions are played."""
        return np.sqrt(self.mean_over(self.recorded**2, 0, EXECUTED)[:, :GRIPPER].sum(axis=1))

    @property
    def slow(self) -> Bool[np.ndarray, " windows"]:
        """The half of each task's windows in which the demonstration moves least."""
        medians = by_task(self, lambda chosen: float(np.median(self.motion[chosen])))
        return self.motion <= medians[self.tasks]


def by_task(
    told: Predictions, value: Callable[[Bool[np.ndarray, " windows"]], float]
) -> Float64[np.ndarray, " tasks"]:
    """Return a number for each task, from which windows are its own."""
    return np.array([value(told.tasks == task) for task in range(int(told.tasks.max()) + 1)])


def task_means(
    told: Predictions, values: Values, chosen: Bool[np.ndarray, " windows"] | None = None
) -> Float64[np.ndarray, " tasks"]:
    """Return each task's mean over its windows, or those `chosen`; of none, over all."""

    def mean(mine: Bool[np.ndarray, " windows"]) -> float:
        kept = mine & chosen if chosen is not None and (mine & chosen).any() else mine
        return float(values[kept].mean())

    return by_task(told, mean)


def _important(told: Predictions, values: Values) -> Float64[np.ndarray, " tasks"]:
    """Return each task's mean, in which moments count as they do in a scan."""
    weights = np.array([importance(name) for name in STRATA])[told.strata]
    return by_task(told, lambda mine: float(np.average(values[mine], weights=weights[mine])))


def _hand(told: Predictions, first: int = 0, stop: int = EXECUTED) -> Values:
    return np.sqrt(told.squared(first, stop)[:, :GRIPPER].sum(axis=1))


def _closing(told: Predictions, first: int = 0, stop: int = EXECUTED) -> Values:
    return np.sqrt(told.squared(first, stop)[:, GRIPPER])


def _scaled(told: Predictions, first: int = 0, stop: int = EXECUTED) -> Values:
    return _hand(told, first, stop) / (told.motion + STILL) + _closing(told, first, stop)


def _stock(told: Predictions) -> Float64[np.ndarray, " tasks"]:
    error = (told.predicted - told.recorded) ** 2
    chosen = (told.frames % 50 == 0) & (told.frames < 500)
    return task_means(told, error.mean(axis=(1, 2)), chosen)


def _by_task_scale(told: Predictions) -> Values:
    first = told.recorded[:, 0]
    spread = np.stack(
        [by_task(told, lambda mine, d=d: float(first[mine, d].std())) for d in range(4)]
    )
    scale = np.maximum(spread.T, 0.05 * np.ptp(first, axis=0))
    return (told.squared() / scale[told.tasks] ** 2).mean(axis=1)


def _to_holding(told: Predictions) -> Values:
    """Return the ratio to repeating the last action, both as means of the task."""
    first = told.recorded[:, 0]
    held = told.mean_over((told.recorded - told.last[:, None]) ** 2, 0, EXECUTED)
    means = np.stack([task_means(told, held[:, d]) for d in range(4)], axis=1)
    floor = (0.05 * np.ptp(first, axis=0)) ** 2
    ratio = told.squared() / np.maximum(means, floor)[told.tasks]
    return (ratio[:, :GRIPPER].mean(axis=1) + ratio[:, GRIPPER]) / 2


def _direction(told: Predictions) -> Values:
    ours, theirs = told.predicted[:, 0, :GRIPPER], told.recorded[:, 0, :GRIPPER]
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return 1 - (ours * theirs).sum(axis=1) / (lengths + 1e-6)


def _drift(told: Predictions) -> Values:
    signed = told.mean_over(told.predicted - told.recorded, 0, told.valid.shape[1])
    hand = np.linalg.norm(signed[:, :GRIPPER], axis=1)
    return hand / (told.motion + STILL) + np.abs(signed[:, GRIPPER])


def _quantile(told: Predictions, values: Values, share: float) -> Float64[np.ndarray, " tasks"]:
    return by_task(told, lambda mine: float(np.quantile(values[mine], share)))


def _geometric(told: Predictions, values: Values) -> Float64[np.ndarray, " tasks"]:
    return np.exp(task_means(told, np.log(values + 1e-4)))


def _worst_group(told: Predictions) -> Values:
    return np.maximum(_hand(told) / (told.motion + STILL), _closing(told))


Score = Callable[[Predictions], Float64[np.ndarray, " tasks"]]
SCORES: Mapping[str, Score] = {
    "raw MSE, stride 50, whole chunk (stock)": _stock,
    "raw MSE, whole chunk": lambda p: task_means(p, p.squared(stop=8).mean(axis=1)),
    "raw MSE": lambda p: task_means(p, p.squared().mean(axis=1)),
    "raw MAE": lambda p: task_means(
        p, p.mean_over(np.abs(p.predicted - p.recorded), 0, EXECUTED).mean(axis=1)
    ),
    "by the task's scale": lambda p: task_means(p, _by_task_scale(p)),
    "ratio to repeating, median": lambda p: _quantile(p, _to_holding(p), 0.5),
    "ratio to repeating, mean": lambda p: task_means(p, _to_holding(p)),
    "ratio to repeating, geometric mean": lambda p: _geometric(p, _to_holding(p)),
    "by motion": lambda p: task_means(p, _scaled(p)),
    "by motion, median": lambda p: _quantile(p, _scaled(p), 0.5),
    "by motion, 90 % quantile": lambda p: _quantile(p, _scaled(p), 0.9),
    "by motion, geometric mean": lambda p: _geometric(p, _scaled(p)),
    "by motion, squared": lambda p: task_means(p, _scaled(p) ** 2),
    "by motion, worst group": lambda p: task_means(p, _worst_group(p)),
    "by motion, arm alone": lambda p: task_means(p, _hand(p) / (p.motion + STILL)),
    "by motion, gripper alone": lambda p: task_means(p, _closing(p)),
    "by motion, slow half": lambda p: task_means(p, _scaled(p), p.slow),
    "by motion, around gripper events": lambda p: task_means(p, _scaled(p), p.strata == 0),
    "by motion, all but transit": lambda p: task_means(p, _scaled(p), p.strata != 5),
    "by motion, important moments": lambda p: _important(p, _scaled(p)),
    "by motion, important moments, capped": lambda p: _important(p, np.minimum(_scaled(p), 2)),
    "by motion, important moments, capped, whole chunk": lambda p: _important(
        p, np.minimum(_scaled(p, 0, 8), 2)
    ),
    "by motion, first action": lambda p: task_means(p, _scaled(p, 0, 1)),
    "by motion, whole chunk": lambda p: task_means(p, _scaled(p, 0, 8)),
    "by motion of the task": lambda p: (
        task_means(p, _hand(p)) / task_means(p, p.motion) + task_means(p, _closing(p))
    ),
    "drift over the chunk, by motion": lambda p: task_means(p, _drift(p)),
    "direction, slow half, and gripper": lambda p: (
        task_means(p, _direction(p), p.slow) + task_means(p, _closing(p), p.slow)
    ),
}
"""Every score by its name; lower is better."""
