"""What a window's error is compared with: the scale of a task's actions, and holding still."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float32, Float64

from etude.core.errors import DataError
from etude.core.protocols import Dataset
from etude.core.types import EpisodeSpan, TaskId
from etude.curriculum.permutation import combine
from etude.scan.groups import ActionGroup

EPISODES = 32
"""Most training episodes of a task that are measured, so that the cost doesn't grow with data."""
RELATIVE_FLOOR = 1e-3
"""Smallest scale of a dimension, as a share of its range over all tasks."""
ABSOLUTE_FLOOR = 1e-6
"""Smallest scale of a dimension that never changes."""
STILL = 0.05
"""A dimension that moves less than this share of its range in a task counts as standing still."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskBaseline:
    """The units of one task. They come from training episodes, so no scanned window is in them."""

    scale: Float64[np.ndarray, " action"]
    """Standard deviation over the task's frames, never under the floor."""
    hold: Mapping[str, float]
    """Normalised squared error of holding the last action, by group."""
    floored: tuple[int, ...]
    """Dimensions whose standard deviation was under the floor."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Baselines:
    """The units of all tasks."""

    tasks: Mapping[TaskId, TaskBaseline]
    ranges: Float64[np.ndarray, " action"]
    """Largest less smallest recorded value of each dimension, over all tasks."""

    def of(self, task: TaskId) -> TaskBaseline:
        """Return the units of `task`.

        Raises:
            DataError: No training episode of it was measured.
        """
        if task not in self.tasks:
            raise DataError(
                f"{task} has no training episode to measure its actions by",
                hint="Hold out fewer episodes, or scan other tasks.",
            )
        return self.tasks[task]


@dataclass(slots=True, kw_only=True)
class _Sums:
    """Moments of one task's actions, collected episode by episode in double precision."""

    frames: int = 0
    mean: Float64[np.ndarray, " action"] = field(default_factory=lambda: np.zeros(1))
    squares: Float64[np.ndarray, " action"] = field(default_factory=lambda: np.zeros(1))
    inside: Float64[np.ndarray, " action"] = field(default_factory=lambda: np.zeros(1))
    """Sum of squares around each episode's own mean."""
    windows: int = 0
    held: Float64[np.ndarray, " action"] = field(default_factory=lambda: np.zeros(1))

    def add(self, actions: Float64[np.ndarray, "frames action"], *, horizon: int) -> None:
        """Merge an episode in.

        Source: Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983.
        """
        mean = actions.mean(axis=0)
        delta, total = mean - self.mean, self.frames + len(actions)
        around = ((actions - mean) ** 2).sum(axis=0)
        self.inside = self.inside + around
        self.squares = self.squares + around + delta**2 * self.frames * len(actions) / total
        self.mean = self.mean + delta * len(actions) / total
        self.frames = total
        self.held = self.held + hold_errors(actions, horizon=horizon).sum(axis=0)
        self.windows += len(actions) - 1


def task_baselines(
    dataset: Dataset,
    episodes: Iterable[EpisodeSpan],
    *,
    groups: Sequence[ActionGroup],
    horizon: int,
) -> Baselines:
    """Measure the units of every task that has one of `episodes`.

    A dimension that stands still in a task, like a gripper that stays closed, makes holding still
    perfect and every ratio infinite. So holding still never counts as better than a predictor that
    is off by what the dimension lacks in movement: by `STILL` of its range where it has none.

    Args:
        dataset: Where the frames are.
        episodes: The training episodes; held-out ones must not be among them.
        groups: What is judged together.
        horizon: Number of actions that are judged.

    Raises:
        DataError: A recorded action is not a finite number.
    """
    low = np.full(dataset.spec.action_dim, np.inf)
    high = np.full(dataset.spec.action_dim, -np.inf)
    sums: dict[TaskId, _Sums] = {}
    for episode in _drawn(episodes):
        actions = finite(episode, "action", dataset.columns(episode).actions)
        low, high = np.minimum(low, actions.min(axis=0)), np.maximum(high, actions.max(axis=0))
        sums.setdefault(episode.task, _Sums()).add(actions, horizon=horizon)
    ranges = np.maximum(high - low, 0.0)
    return Baselines(
        tasks={task: _baseline(each, ranges, groups) for task, each in sums.items()},
        ranges=ranges,
    )


def hold_errors(
    actions: Float64[np.ndarray, "frames action"], *, horizon: int
) -> Float64[np.ndarray, "windows action"]:
    """Return the mean squared error of repeating the last action, for each frame but the first.

    The first frame has no last action. Windows are cut at the episode's end.
    """
    count = len(actions) - 1
    total = np.zeros((max(count, 0), actions.shape[1]))
    for ahead in range(min(horizon, count)):
        total[: count - ahead] += (actions[1 + ahead :] - actions[: count - ahead]) ** 2
    steps = np.minimum(horizon, np.arange(count, 0, -1))
    return total / steps[:, None]


def finite(
    episode: EpisodeSpan, column: str, values: Float32[np.ndarray, "frames dim"]
) -> Float64[np.ndarray, "frames dim"]:
    """Return a column of an episode in double precision.

    Raises:
        DataError: One of its numbers is not finite.
    """
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        frame, dim = bad[0].tolist()
        raise DataError(
            f"{episode.task} episode {episode.index} frame {frame}: {column} {dim} is recorded as "
            f"{values[frame, dim]}",
            hint="Find all of them with `etude data check`.",
        )
    return values.astype(np.float64)


def _drawn(episodes: Iterable[EpisodeSpan]) -> list[EpisodeSpan]:
    """Return at most `EPISODES` of each task; a longer dataset changes few of them."""
    by_task: dict[TaskId, list[EpisodeSpan]] = {}
    for episode in episodes:
        by_task.setdefault(episode.task, []).append(episode)
    return [each for members in by_task.values() for each in draw_episodes(members, EPISODES)]


def draw_episodes(episodes: Sequence[EpisodeSpan], most: int) -> list[EpisodeSpan]:
    """Return at most `most` of the episodes, by chance that depends on their numbers alone."""
    order = combine(np.array([episode.index for episode in episodes], np.uint64), 1)
    return [episodes[place] for place in np.argsort(order, kind="stable")[:most].tolist()]


def _baseline(
    sums: _Sums, ranges: Float64[np.ndarray, " action"], groups: Sequence[ActionGroup]
) -> TaskBaseline:
    deviation = np.sqrt(sums.squares / sums.frames)
    floor = np.maximum(RELATIVE_FLOOR * ranges, ABSOLUTE_FLOOR)
    scale = np.maximum(deviation, floor)
    moved = np.sqrt(sums.inside / sums.frames)
    lacking = np.maximum(np.maximum(STILL * ranges, ABSOLUTE_FLOOR) - moved, 0.0)
    held = sums.held / sums.windows if sums.windows else np.zeros_like(scale)
    hold = np.maximum(held, lacking**2) / scale**2
    return TaskBaseline(
        scale=scale,
        hold={group.name: float(hold[list(group.dims)].mean()) for group in groups},
        floored=tuple(np.flatnonzero(deviation < floor).tolist()),
    )
