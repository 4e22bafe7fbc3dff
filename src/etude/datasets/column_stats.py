"""Statistics of columns that can be merged: of any frames, in any order, on any machine.

A quantile is read off a histogram whose bins are the same everywhere: the leading 16 bits of a
float32, which are its sign, its exponent and 7 bits of its fraction. So it is off by at most
1/256 of its own size (`TOLERANCE`), and counts of two datasets need only be added.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64, Int64, UInt32

from etude.core.protocols import Dataset
from etude.core.task_table import robot_sizes
from etude.core.types import EpisodeSpan
from etude.datasets.lerobot_schema import ACTION, STATE

TOLERANCE = 1 / 256
"""Largest error of a quantile, as a share of the quantile itself."""
QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}

_BITS = 16
_SIGN = np.uint32(1 << 31)
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnStats:
    """Statistics of each dimension of one column; a dimension may have frames of its own."""

    count: Int64[np.ndarray, " dim"]
    mean: Float64[np.ndarray, " dim"]
    squares: Float64[np.ndarray, " dim"]
    """Sum of squared distances from the mean."""
    low: Float64[np.ndarray, " dim"]
    high: Float64[np.ndarray, " dim"]
    bins: Int64[np.ndarray, "dim 65536"]

    @property
    def std(self) -> Float64[np.ndarray, " dim"]:
        """The population's standard deviation."""
        return np.sqrt(self.squares / np.maximum(self.count, 1))

    def quantile(self, share: float) -> Float64[np.ndarray, " dim"]:
        """Return the value of each dimension under which `share` of its frames lie."""
        passed = np.cumsum(self.bins, axis=1)
        rank = share * np.maximum(self.count - 1, 0)
        place = (passed <= rank[:, None]).sum(axis=1).clip(max=self.bins.shape[1] - 1)
        return np.clip(_middles()[place], self.low, self.high)

    def to_json(self) -> dict[str, list[float] | list[int]]:
        """Return the statistics under the names that LeRobot gives them."""
        return {
            "min": self.low.tolist(),
            "max": self.high.tolist(),
            "mean": self.mean.tolist(),
            "std": self.std.tolist(),
            "count": self.count.tolist(),
            **{name: self.quantile(share).tolist() for name, share in QUANTILES.items()},
        }


def measure_columns(
    dataset: Dataset, episodes: Iterable[EpisodeSpan] | None = None
) -> Mapping[str, ColumnStats]:
    """Return the statistics of states and actions over some episodes, all by default.

    No video is touched. Dimensions that an episode's robot does not have are not counted.
    """
    spec = dataset.spec
    sizes = robot_sizes(spec)
    states, actions = _Gathering(spec.state_dim), _Gathering(spec.action_dim)
    for episode in dataset.episodes if episodes is None else episodes:
        columns = dataset.columns(episode)
        state_size, action_size = sizes[episode.task]
        states.add(columns.states[:, :state_size])
        actions.add(columns.actions[:, :action_size])
    return {STATE: states.stats(), ACTION: actions.stats()}


def merge_stats(parts: Sequence[ColumnStats]) -> ColumnStats:
    """Return the statistics of all frames of `parts` together.

    Source: Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983.
    """
    whole, *others = parts
    for part in others:
        total = np.maximum(whole.count + part.count, 1)
        delta = part.mean - whole.mean
        whole = ColumnStats(
            count=whole.count + part.count,
            mean=whole.mean + delta * part.count / total,
            squares=whole.squares + part.squares + delta**2 * whole.count * part.count / total,
            low=np.minimum(whole.low, part.low),
            high=np.maximum(whole.high, part.high),
            bins=whole.bins + part.bins,
        )
    return whole


class _Gathering:
    """Collects rows of one number of dimensions, and measures them when there are enough."""

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._rows: dict[int, list[Float32[np.ndarray, "frames own"]]] = {}
        self._waiting = 0
        self._stats = _none(dim)

    def add(self, rows: Float32[np.ndarray, "frames own"]) -> None:
        self._rows.setdefault(rows.shape[1], []).append(rows)
        self._waiting += len(rows)
        if self._waiting >= _ROWS_AT_ONCE:
            self._measure()

    def stats(self) -> ColumnStats:
        self._measure()
        return self._stats

    def _measure(self) -> None:
        for pieces in self._rows.values():
            self._stats = merge_stats([self._stats, _measured(np.concatenate(pieces), self._dim)])
        self._rows, self._waiting = {}, 0


def _none(dim: int) -> ColumnStats:
    zeros = np.zeros(dim)
    return ColumnStats(
        count=np.zeros(dim, np.int64),
        mean=zeros,
        squares=zeros,
        low=np.full(dim, np.inf),
        high=np.full(dim, -np.inf),
        bins=np.zeros((dim, 1 << _BITS), np.int64),
    )


def _measured(rows: Float32[np.ndarray, "frames own"], dim: int) -> ColumnStats:
    """Return the statistics of rows of a robot that has the first dimensions of `dim`."""
    empty, own = _none(dim), rows.shape[1]
    exact = rows.astype(np.float64)
    mean = empty.mean.copy()
    mean[:own] = exact.mean(axis=0)
    squares = empty.squares.copy()
    squares[:own] = ((exact - mean[:own]) ** 2).sum(axis=0)
    low, high = empty.low, empty.high
    low[:own], high[:own] = exact.min(axis=0), exact.max(axis=0)
    keys = _keys(rows)
    for place in range(own):
        empty.bins[place] = np.bincount(keys[:, place], minlength=1 << _BITS)
    count = empty.count
    count[:own] = len(rows)
    return ColumnStats(count=count, mean=mean, squares=squares, low=low, high=high, bins=empty.bins)


def _keys(values: Float32[np.ndarray, "*shape"]) -> UInt32[np.ndarray, "*shape"]:
    """Return the bin of each value; bins stand in the order of values."""
    # Adding 0 makes -0 and 0 the same number in one bin.
    bits = np.ascontiguousarray(values + np.float32(0)).view(np.uint32)
    ordered = np.where(bits & _SIGN, ~bits, bits | _SIGN)
    return ordered >> np.uint32(32 - _BITS)


def _middles() -> Float64[np.ndarray, " bins"]:
    """Return the value in the middle of each bin."""
    lowest = np.arange(1 << _BITS, dtype=np.uint32) << np.uint32(32 - _BITS)
    edges = [lowest, lowest | np.uint32((1 << (32 - _BITS)) - 1)]
    values = [
        np.where(edge & _SIGN, edge & ~_SIGN, ~edge).astype(np.uint32).view(np.float32)
        for edge in edges
    ]
    with np.errstate(invalid="ignore", over="ignore"):
        middles = (values[0].astype(np.float64) + values[1]) / 2
    # The bins on both sides of 0 are there for 0 itself; what else they hold is under 1e-40.
    return np.where(np.abs(middles) < 1e-40, 0.0, middles)
