"""Which windows of each task a scan looks at.

* stride: the stock rule, every 50th of the first 500 frames of an episode
* sliding: end to end over whole episodes
* uniform: spread evenly over whole episodes
* panel: spread evenly over strata of what happens, so that short, decisive moments are not missed

What is chosen of an episode depends on its number and its own frames. So the choice is the same
everywhere, one more episode changes little of it, and no list of windows is ever made: an episode
is looked at, the places of its windows are kept, and it is forgotten.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float64, Int64

from etude.core.protocols import Dataset
from etude.core.types import EpisodeSpan, TaskId, WindowChoice
from etude.curriculum.permutation import combine
from etude.scan.baseline import draw_episodes, finite
from etude.scan.plan import Cell, TaskPlan, cell_weights
from etude.scan.scan_config import ScanConfig
from etude.scan.strata import STRATA, strata_of
from etude.store.content import content_key

STRIDE = 50
STRIDE_FRAMES = 500
EPISODES = 32
"""Most episodes of a task that one capped scan draws windows from."""
AUDIT_SHARE = 8
"""One block of frames in so many is kept for audits and never steers anything. Episodes of fewer
blocks are kept whole for steering."""
AUDIT_BLOCK = 8
"""Frames of a block; neighbours are so alike that single frames would not be apart."""
LEAST = 2
"""Windows that every stratum gets, where it has them, before the rest is shared out."""
SPREADS: Mapping[str, float] = {"gripper": 2.0, "waypoint": 1.5, "change": 1.5, "slow": 1.5}
"""Standard deviation of the errors in a stratum relative to transit, where none was measured."""

Frames = Int64[np.ndarray, " frames"]
_GOLDEN = (math.sqrt(5) - 1) / 2
_PLASTIC = 0.7548776662466927
"""Spreads episodes as the golden ratio spreads windows, and independently of it."""
_Queue = tuple[EpisodeSpan, list[int]]
"""The frames of a cell in the order in which they are to be chosen."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chooser:
    """Everything that the choice of windows depends on, besides the episodes."""

    dataset: Dataset
    config: ScanConfig
    horizon: int
    """Actions that are judged; the step of `sliding`."""
    grippers: tuple[int, ...] = ()
    """Action dimensions that open and close grippers."""
    ranges: Float64[np.ndarray, " action"] = field(default_factory=lambda: np.zeros(0))
    """Range over all tasks of each action dimension; needed where there are grippers."""
    spreads: Mapping[str, float] = field(default_factory=lambda: SPREADS)
    """Standard deviation of the errors in each stratum, from earlier scans."""
    audit: bool = False
    """Draw the panel that shares no window with any that steers."""

    def plan(self, task: TaskId, episodes: Sequence[EpisodeSpan], *, most: int) -> TaskPlan:
        """Choose at most `most` windows of a task from all its episodes; 0 chooses all.

        Raises:
            DataError: A recorded number of an episode that is looked at is not finite.
        """
        cells: dict[Cell, int] = {}
        queues: dict[str, list[_Queue]] = {}
        for episode in draw_episodes(episodes, EPISODES if most else len(episodes)):
            for stratum, frames in self._candidates(episode).items():
                cells[stratum, episode.index] = len(frames)
                drawn = self._draw(episode, stratum, frames, most)
                queues.setdefault(stratum, []).append((episode, drawn.tolist()))
        of = self._count(np.array([episode.length for episode in episodes], np.int64))
        order = _neyman(
            {name: _in_turn(name, cells_of) for name, cells_of in queues.items()},
            _shares(cells, self.spreads),
        )
        choices = [choice for _, choice in zip(range(most or of), order, strict=False)]
        weights = cell_weights(choices, cells, of=of)
        return TaskPlan(
            task=task,
            of=of,
            cells=cells,
            choices=tuple(
                replace(choice, weight=weight)
                for choice, weight in zip(choices, weights, strict=True)
            ),
        )

    def _count(self, lengths: Int64[np.ndarray, " episodes"]) -> int:
        """Return how many windows the strategy could choose from."""
        match self.config.strategy:
            case "stride":
                counts = -(-np.minimum(lengths, STRIDE_FRAMES) // STRIDE)
            case "sliding":
                counts = -(-lengths // self._step)
            case "uniform" | "panel":
                counts = lengths
        return int(counts.sum())

    @property
    def _step(self) -> int:
        return self.config.step or self.horizon

    def _candidates(self, episode: EpisodeSpan) -> dict[str, Frames]:
        """Return the frames that may be chosen, by stratum."""
        match self.config.strategy:
            case "stride":
                return {"stride": np.arange(0, min(episode.length, STRIDE_FRAMES), STRIDE)}
            case "sliding":
                return {"sliding": np.arange(0, episode.length, self._step)}
            case "uniform":
                return {"uniform": np.arange(episode.length)}
            case "panel":
                return self._strata(episode)

    def _strata(self, episode: EpisodeSpan) -> dict[str, Frames]:
        columns = self.dataset.columns(episode)
        actions = finite(episode, "action", columns.actions)
        states = finite(episode, "state", columns.states)
        grippers = list(self.grippers)
        labels = strata_of(
            states if states.shape[1] else actions,
            actions[:, grippers],
            gripper_ranges=self.ranges[grippers],
        )
        found = {name: np.flatnonzero(labels == place) for place, name in enumerate(STRATA)}
        return {name: frames for name, frames in found.items() if len(frames)}

    def _draw(
        self, episode: EpisodeSpan, stratum: str, frames: Frames, most: int
    ) -> Int64[np.ndarray, " drawn"]:
        """Return the frames of a cell in the order in which they are to be chosen.

        Any number of them is spread evenly over the cell, in the manner of the golden ratio, which
        needs far fewer windows than chance does because neighbours are alike.
        """
        if self.config.strategy == "panel":
            frames = frames[_audited(episode, frames) == self.audit]
        if not most:
            return frames
        ranks = np.arange(min(most, len(frames)))
        slots = round(1 / self.config.rotation) if self.config.rotation else 1
        turns = (ranks + episode.index + _place(stratum)) % slots
        generations = (self.config.round + turns) // slots if self.config.rotation else 0 * turns
        phases = combine(generations.astype(np.uint64), _place(stratum)) / 2.0**64
        spots = (phases + episode.index * _PLASTIC + ranks * _GOLDEN) % 1.0
        return frames[_apart(np.floor(spots * len(frames)).astype(np.int64), len(frames))]


def episodes_to_scan(
    train: Sequence[EpisodeSpan], held_out: Sequence[EpisodeSpan]
) -> tuple[dict[TaskId, list[EpisodeSpan]], frozenset[TaskId]]:
    """Return the episodes of each task that a scan may look at.

    Those are the held-out ones, or for a task without any its training episodes; the second value
    names these tasks, whose errors flatter the policy.
    """
    found: dict[TaskId, list[EpisodeSpan]] = {}
    for episode in held_out:
        found.setdefault(episode.task, []).append(episode)
    seen: dict[TaskId, list[EpisodeSpan]] = {}
    for episode in train:
        if episode.task not in found:
            seen.setdefault(episode.task, []).append(episode)
    return {**found, **seen}, frozenset(seen)


def noise_seed(task: TaskId, episode: int, frame: int) -> int:
    """Return the seed of a policy's noise at one window, the same in every scan."""
    return int(content_key("scan-noise/1", task, episode, frame)[:8], 16) >> 1


def _choice(episode: EpisodeSpan, frame: int, stratum: str) -> WindowChoice:
    return WindowChoice(
        task=episode.task,
        episode=episode.index,
        frame=frame,
        stratum=stratum,
        weight=1.0,
        seed=noise_seed(episode.task, episode.index, frame),
    )


def _audited(episode: EpisodeSpan, frames: Frames) -> Bool[np.ndarray, " frames"]:
    if episode.length < AUDIT_SHARE * AUDIT_BLOCK:
        return np.zeros(len(frames), np.bool_)
    turn = combine(episode.index, 3) % np.uint64(AUDIT_SHARE)
    return frames // AUDIT_BLOCK % AUDIT_SHARE == turn.astype(np.int64)


def _apart(wanted: Frames, size: int) -> Frames:
    """Return places in [0, size), each as wanted or, where that is taken, the next free one."""
    free = np.ones(size, np.bool_)
    places = wanted.copy()
    for turn, place in enumerate(wanted.tolist()):
        places[turn] = (place + int(np.roll(free, -place).argmax())) % size
        free[places[turn]] = False
    return places


def _in_turn(stratum: str, queues: Sequence[_Queue]) -> Iterator[WindowChoice]:
    """Yield the first of every cell, then the second of every cell, and so on.

    Each stratum begins with another episode, so that the first few windows come from many.
    """
    begin = _place(stratum) % len(queues)
    order = [*queues[begin:], *queues[:begin]]
    for rank in range(max(len(frames) for _, frames in order)):
        for episode, frames in order:
            if rank < len(frames):
                yield _choice(episode, frames[rank], stratum)


def _place(stratum: str) -> int:
    return STRATA.index(stratum) if stratum in STRATA else 0


def _shares(cells: Mapping[Cell, int], spreads: Mapping[str, float]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for (stratum, _), size in cells.items():
        shares[stratum] = shares.get(stratum, 0.0) + size * spreads.get(stratum, 1.0)
    return shares


def _neyman(
    strata: dict[str, Iterator[WindowChoice]], shares: Mapping[str, float]
) -> Iterator[WindowChoice]:
    """Yield from all strata so that after any number each has what Neyman allocation gives it.

    Every stratum first gets `LEAST`, the weightiest first; then the next window goes where the
    share for each window is largest (Webster's divisors keep the counts within rounding).

    Source: Neyman, "On the two different aspects of the representative method", 1934.
    """
    taken = dict.fromkeys(strata, 0)
    left = dict(strata)
    while left:
        name = max(
            left,
            key=lambda each: (
                -min(taken[each], LEAST),
                shares[each] / (2 * taken[each] + 1),
                each,
            ),
        )
        choice = next(left[name], None)
        if choice is None:
            del left[name]
        else:
            taken[name] += 1
            yield choice
