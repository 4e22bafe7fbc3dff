"""Which windows of each task a scan looks at.

* stride: the stock rule, every 50th of the first 500 frames of an episode
* sliding: end to end over whole episodes
* uniform: spread evenly over whole episodes
* panel: as uniform, but denser where errors count more, where larger ones are expected, and where
  something rare happens

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
from etude.scan.candidates import Candidates, candidates_of, labels_of
from etude.scan.episodes import EPISODES, draw_episodes, finite
from etude.scan.expected import expected_errors
from etude.scan.plan import Cell, TaskPlan
from etude.scan.scan_config import ScanConfig
from etude.scan.strata import STRATA, importance
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

Frames = Int64[np.ndarray, " frames"]
Actions = Float64[np.ndarray, "_ action"]
_GOLDEN = (math.sqrt(5) - 1) / 2
_PLASTIC = 0.7548776662466927
"""Spreads episodes as the golden ratio spreads windows, and independently of it."""
_Queue = list[tuple[EpisodeSpan, int, str, int, float]]
"""An episode's frames in the order in which they are to be chosen, with strata, noise seeds and
expected errors."""


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
        means: dict[Cell, float] = {}
        queues: list[_Queue] = []
        drawn = draw_episodes(episodes, EPISODES if most else len(episodes))
        share = _share(self._counts(drawn), most)
        for found in self._candidates(drawn):
            dense = self._densities(found)
            for stratum, size in found.sizes.items():
                cells[stratum, found.episode.index] = size
                densities[stratum, found.episode.index] = dense[stratum]
                if self._expects:
                    means[stratum, found.episode.index] = found.means[stratum]
            queues.append(self._draw(found, dense, share))
        of = int(self._counts(episodes).sum())
        taken = [each for _, each in zip(range(most or of), _in_turn(queues), strict=False)]
        return TaskPlan(
            task=task,
            of=of,
            cells=cells,
            densities=densities,
            choices=tuple(choice for choice, _ in taken),
            means=means,
            expected={choice.place: error for choice, error in taken if means},
        )

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

    @property
    def _expects(self) -> bool:
        return self.config.strategy == "panel"

    def _candidates(self, episodes: Sequence[EpisodeSpan]) -> Iterator[Candidates]:
        for begin in range(0, len(episodes), TOGETHER):
            some = episodes[begin : begin + TOGETHER]
            recorded = [
                finite(episode, "action", self.dataset.columns(episode).actions) for episode in some
            ]
            found = zip(some, self._labels(recorded), self._expected(recorded), strict=True)
            for episode, labels, expected in found:
                yield candidates_of(episode, self._frames(episode), labels, expected)

    def _frames(self, episode: EpisodeSpan) -> Frames:
        match self.config.strategy:
            case "stride":
                return np.arange(0, min(episode.length, STRIDE_FRAMES), STRIDE)
            case "sliding":
                return np.arange(0, episode.length, self._step)
            case "uniform" | "panel":
                return np.arange(episode.length)

    def _labels(self, recorded: Sequence[Actions]) -> list[Int8[np.ndarray, " _"]]:
        return labels_of(recorded, units=self.units, grippers=self.grippers)

    def _expected(self, recorded: Sequence[Actions]) -> list[Float64[np.ndarray, " _"]]:
        if not self._expects:
            return [np.ones(len(each)) for each in recorded]
        return expected_errors(
            recorded, units=self.units, grippers=self.grippers, horizon=self.horizon
        )

    def _densities(self, found: Candidates) -> dict[str, float]:
        """Return how densely each stratum of an episode is drawn, relative to each other.

        What counts more, or whose errors vary more, is drawn more often: in proportion to both,
        which is Neyman's allocation; larger errors vary more. Strata that would get less than
        `LEAST_SHARE` get more.

        Source: Neyman, "On the two different aspects of the representative method", 1934.
        """
        sizes, means = found.sizes, found.means
        if not self._expects:
            return dict.fromkeys(sizes, 1.0)
        mean = sum(sizes[name] * means[name] for name in sizes) / len(found.frames)
        wanted = {
            name: importance(name) * self.spreads.get(name, 1.0) * means[name] / mean
            for name in sizes
        }
        total = sum(wanted[name] * size for name, size in sizes.items())
        return {
            name: max(wanted[name], min(DENSEST, LEAST_SHARE * total / size))
            for name, size in sizes.items()
        }

    def _draw(self, found: Candidates, densities: Mapping[str, float], most: int) -> _Queue:
        """Return the frames of an episode in the order in which they are to be chosen.

        Any number of them is spread evenly, but for the densities, in the manner of the golden
        ratio, which needs far fewer windows than chance does because neighbours are alike. Within
        a stratum, frames are drawn in proportion to the error that is expected of them.
        """
        episode, order = found.episode, np.arange(len(found.frames))
        if self.config.strategy == "panel":
            order = order[_audited(episode, found.frames) == self.audit]
        if most and len(order):
            rates = [densities.get(name, 0.0) / found.means.get(name, 1.0) for name in STRATA]
            density = found.expected * np.array(rates)[found.labels]
            along = np.cumsum(density[order])
            spots = self._spots(episode, min(most, len(order)))
            places = cast("Frames", along.searchsorted(spots * along[-1], side="right"))
            order = order[_apart(places.tolist(), len(order))]
        chosen = found.frames[order]
        rows = zip(
            chosen.tolist(),
            found.labels[order].tolist(),
            noise_seeds(episode.task, episode.index, chosen).tolist(),
            found.expected[order].tolist(),
            strict=True,
        )
        return [(episode, frame, STRATA[label], seed, error) for frame, label, seed, error in rows]

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


def _in_turn(queues: Sequence[_Queue]) -> Iterator[tuple[WindowChoice, float]]:
    """Yield the first of every episode, then the second of every episode, and so on."""
    for rank in range(max(map(len, queues), default=0)):
        for queue in queues:
            if rank < len(queue):
                episode, frame, stratum, seed, error = queue[rank]
                yield _choice(episode, frame, stratum, seed), error
