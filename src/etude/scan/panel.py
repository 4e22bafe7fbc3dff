"""Which windows of each task a scan looks at.

* stride: the stock rule, every 50th of the first 500 frames of an episode
* sliding: end to end over whole episodes
* uniform: spread evenly over whole episodes
* panel: as uniform, but denser where errors count more, and where something rare happens

Errors follow the course of an episode more than anything else, so all but `stride` go through
episodes evenly; decision 8 has the measurement. What is chosen of an episode depends on its number
and its own frames. So the choice is the same everywhere, one more episode changes little of it, and
no list of windows is ever made: an episode is looked at, the places of its windows are kept, and it
is forgotten.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from jaxtyping import Bool, Float64, Int8, Int64

from etude.core.protocols import Dataset
from etude.core.types import EpisodeSpan, TaskId, WindowChoice
from etude.curriculum.permutation import combine
from etude.scan.episodes import EPISODES, draw_episodes, finite
from etude.scan.plan import Cell, TaskPlan
from etude.scan.scan_config import ScanConfig
from etude.scan.strata import STRATA, importance, robot_path, strata_of
from etude.scan.units import Units
from etude.store.content import content_key

STRIDE = 50
STRIDE_FRAMES = 500
AUDIT_SHARE = 8
"""One block of frames in so many is kept for audits and never steers anything. Episodes of fewer
blocks are kept whole for steering."""
AUDIT_BLOCK = 8
"""Frames of a block; neighbours are so alike that single frames would not be apart."""
LEAST_SHARE = 1 / 16
"""Share of an episode's windows that every stratum gets, however short it is: two of 32."""
DENSEST = 3.0
"""Most that a rare stratum may be drawn above the rest; what it gains, others lose."""

TOGETHER = 8
"""Episodes whose frames are in memory at once; more at a time would not be faster."""

_PLACES = tuple(enumerate(STRATA))
Frames = Int64[np.ndarray, " frames"]
_GOLDEN = (math.sqrt(5) - 1) / 2
_PLASTIC = 0.7548776662466927
"""Spreads episodes as the golden ratio spreads windows, and independently of it."""
_Queue = list[tuple[EpisodeSpan, int, str, int]]
"""An episode's frames in the order in which they are to be chosen, with strata and noise seeds."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chooser:
    """Everything that the choice of windows depends on, besides the episodes."""

    dataset: Dataset
    config: ScanConfig
    horizon: int
    """Actions that are judged; the step of `sliding`."""
    units: Units
    grippers: tuple[int, ...] = ()
    """Action dimensions that open and close grippers."""
    spreads: Mapping[str, float] = field(default_factory=dict[str, float])
    """Standard deviation of the errors in each stratum relative to the others, from earlier scans;
    1 where none is named, since they differ little (docs/decisions/0008)."""
    audit: bool = False
    """Draw the panel that shares no window with any that steers."""

    def plan(self, task: TaskId, episodes: Sequence[EpisodeSpan], *, most: int) -> TaskPlan:
        """Choose at most `most` windows of a task from all its episodes; 0 chooses all.

        Raises:
            DataError: A recorded number of an episode that is looked at is not finite.
        """
        cells: dict[Cell, int] = {}
        densities: dict[Cell, float] = {}
        queues: list[_Queue] = []
        drawn = draw_episodes(episodes, EPISODES if most else len(episodes))
        share = _share(self._counts(drawn), most)
        for episode, found in self._candidates(drawn):
            dense = self._densities({name: len(frames) for name, frames in found.items()})
            for stratum, frames in found.items():
                cells[stratum, episode.index] = len(frames)
                densities[stratum, episode.index] = dense[stratum]
            queues.append(self._draw(episode, found, dense, share))
        of = int(self._counts(episodes).sum())
        choices = [choice for _, choice in zip(range(most or of), _in_turn(queues), strict=False)]
        return TaskPlan(task=task, of=of, cells=cells, densities=densities, choices=tuple(choices))

    def _counts(self, episodes: Sequence[EpisodeSpan]) -> Int64[np.ndarray, " episodes"]:
        """Return how many windows of each episode the strategy could choose from."""
        lengths = np.array([episode.length for episode in episodes], np.int64)
        match self.config.strategy:
            case "stride":
                return -(-np.minimum(lengths, STRIDE_FRAMES) // STRIDE)
            case "sliding":
                return -(-lengths // self._step)
            case "uniform" | "panel":
                return lengths

    @property
    def _step(self) -> int:
        return self.config.step or self.horizon

    def _candidates(
        self, episodes: Sequence[EpisodeSpan]
    ) -> Iterator[tuple[EpisodeSpan, dict[str, Frames]]]:
        """Yield each episode with the frames that may be chosen, by stratum."""
        for begin in range(0, len(episodes), TOGETHER):
            some = episodes[begin : begin + TOGETHER]
            for episode, labels in zip(some, self._strata(some), strict=True):
                frames = self._frames(episode)
                found = {name: frames[labels[frames] == place] for place, name in _PLACES}
                yield episode, {name: members for name, members in found.items() if len(members)}

    def _frames(self, episode: EpisodeSpan) -> Frames:
        match self.config.strategy:
            case "stride":
                return np.arange(0, min(episode.length, STRIDE_FRAMES), STRIDE)
            case "sliding":
                return np.arange(0, episode.length, self._step)
            case "uniform" | "panel":
                return np.arange(episode.length)

    def _strata(self, episodes: Sequence[EpisodeSpan]) -> list[Int8[np.ndarray, " _"]]:
        grippers = list(self.grippers)
        recorded = [
            finite(episode, "action", self.dataset.columns(episode).actions) for episode in episodes
        ]
        return strata_of(
            [robot_path(each, moves=self.units.moves, grippers=grippers) for each in recorded],
            [each[:, grippers] for each in recorded],
            gripper_ranges=self.units.ranges[grippers],
        )

    def _densities(self, sizes: Mapping[str, int]) -> dict[str, float]:
        """Return how densely each stratum of an episode is drawn, relative to each other.

        What counts more, or whose errors vary more, is drawn more often: in proportion to both,
        which is Neyman's allocation. Strata that would get less than `LEAST_SHARE` get more.

        Source: Neyman, "On the two different aspects of the representative method", 1934.
        """
        if self.config.strategy != "panel":
            return dict.fromkeys(sizes, 1.0)
        wanted = {name: importance(name) * self.spreads.get(name, 1.0) for name in sizes}
        total = sum(wanted[name] * size for name, size in sizes.items())
        return {
            name: max(wanted[name], min(DENSEST, LEAST_SHARE * total / size))
            for name, size in sizes.items()
        }

    def _draw(
        self,
        episode: EpisodeSpan,
        found: Mapping[str, Frames],
        densities: Mapping[str, float],
        most: int,
    ) -> _Queue:
        """Return the frames of an episode in the order in which they are to be chosen.

        Any number of them is spread evenly, but for the densities, in the manner of the golden
        ratio, which needs far fewer windows than chance does because neighbours are alike.
        """
        names = list(found)
        labels = np.repeat(np.arange(len(names)), [len(found[name]) for name in names])
        frames = np.concatenate([found[name] for name in names])
        order = np.argsort(frames)
        if self.config.strategy == "panel":
            order = order[_audited(episode, frames[order]) == self.audit]
        if most and len(order):
            density = np.array([densities[name] for name in names])[labels[order]]
            along = np.cumsum(density)
            spots = self._spots(episode, min(most, len(order)))
            places = cast("Frames", along.searchsorted(spots * along[-1], side="right"))
            order = order[_apart(places.tolist(), len(order))]
        chosen = frames[order]
        rows = zip(
            chosen.tolist(),
            labels[order].tolist(),
            noise_seeds(episode.task, episode.index, chosen).tolist(),
            strict=True,
        )
        return [(episode, frame, names[label], seed) for frame, label, seed in rows]

    def _spots(self, episode: EpisodeSpan, count: int) -> Float64[np.ndarray, " count"]:
        """Return places in [0, 1), of which any first few are spread evenly."""
        ranks = np.arange(count)
        slots = round(1 / self.config.rotation) if self.config.rotation else 1
        turns = (ranks + episode.index) % slots
        generations = (self.config.round + turns) // slots if self.config.rotation else 0 * turns
        phases = combine(generations.astype(np.uint64), 1) / 2.0**64
        return (phases + episode.index * _PLASTIC + ranks * _GOLDEN) % 1.0


def noise_seeds(task: TaskId, episode: int, frames: Frames) -> Frames:
    """Return the seeds of a policy's noise at some windows, the same in every scan."""
    told = int(content_key("scan-noise/2", task)[:15], 16)
    return (combine(told, episode, frames.astype(np.uint64)) >> np.uint64(33)).astype(np.int64)


def _choice(episode: EpisodeSpan, frame: int, stratum: str, seed: int) -> WindowChoice:
    return WindowChoice(
        task=episode.task,
        episode=episode.index,
        frame=frame,
        stratum=stratum,
        weight=1.0,
        seed=seed,
    )


def _audited(episode: EpisodeSpan, frames: Frames) -> Bool[np.ndarray, " frames"]:
    if episode.length < AUDIT_SHARE * AUDIT_BLOCK:
        return np.zeros(len(frames), np.bool_)
    turn = combine(episode.index, 3) % np.uint64(AUDIT_SHARE)
    return frames // AUDIT_BLOCK % AUDIT_SHARE == turn.astype(np.int64)


def _apart(wanted: Iterable[int], size: int) -> list[int]:
    """Return places in [0, size), each as wanted or, where that is taken, the next free one."""
    free = bytearray(b"\1") * size
    places: list[int] = []
    for place in wanted:
        found = free.find(1, place)
        places.append(found if found >= 0 else free.find(1))
        free[places[-1]] = 0
    return places


def _share(counts: Int64[np.ndarray, " episodes"], most: int) -> int:
    """Return how many windows each episode has to offer for `most` to be found; 0 offers all.

    A quarter of an episode may be kept for audits.
    """
    offered = np.sort(counts * 3 // 4)
    for place, least in enumerate(offered.tolist()):
        rest = most - int(offered[:place].sum())
        share = -(-rest // (len(offered) - place))
        if share <= least:
            return share
    return most


def _in_turn(queues: Sequence[_Queue]) -> Iterator[WindowChoice]:
    """Yield the first of every episode, then the second of every episode, and so on."""
    for rank in range(max(map(len, queues), default=0)):
        for queue in queues:
            if rank < len(queue):
                yield _choice(*queue[rank])
