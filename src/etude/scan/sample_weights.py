"""How much more often than uniformly the windows of each stratum of a task deserve training.

    multiplier = UNIFORM_SHARE + ERROR_SHARE * rank + STALE_SHARE * staleness

Each of the three parts averages 1 over the task's windows, and so does their sum. What is kept is
one row for each stratum: a table of all frames would grow with the data, and be noise besides.

* rank: of a window's error among the task's, from 0 for the least to 2 for the largest, and equal
  for errors that are equal once they are clipped; a stratum has the mean of its windows. Errors up
  to the irreducible one count alike, for no training removes them. So do those from the 95th
  percentile up, for outliers are often faults of the data. A stratum without a scanned window, and
  a suspect one, count as 1.
* staleness: how many scans ago a window of the stratum was last looked at, relative to the mean.

Source: the mixture with rank-based priorities follows prioritized replay, arXiv 1511.05952; keeping
a part for what was not looked at for long, prioritized level replay, arXiv 2010.03934.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from etude.core.types import WindowScore
from etude.scan.difficulty import task_difficulty
from etude.scan.fold import weighted_quantile
from etude.scan.plan import Cell
from etude.scan.strata import STRATA

UNIFORM_SHARE = 0.5
ERROR_SHARE = 0.35
STALE_SHARE = 0.15
LARGEST = 8.0
"""No window is drawn more often than this many times uniformly."""
EASIEST = 0.05
"""The error under which this share of a task's windows lies is irreducible: what a policy keeps
even where it is best."""
HARDEST = 0.95

Window = tuple[int, int]
"""The episode's number and the frame in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StratumWeight:
    """One stratum of a task: how difficult its windows are, and how often to draw them."""

    stratum: str
    windows: int
    """Windows that were scored."""
    of: int
    """Windows of the task that lie in the stratum, estimated where not all episodes were read."""
    difficulty: float
    """Mean error, weighted; the task's where no window was scored."""
    multiplier: float
    """How often to draw each of its windows, relative to uniform."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWeights:
    """How to draw the windows of one task; the multipliers average 1 over its windows."""

    difficulty: float
    """Mean error, weighted; of suspects nothing counts, here and below."""
    irreducible: float
    """Error that is expected to stay, whatever is trained."""
    strata: tuple[StratumWeight, ...]


def task_weights(
    scores: Sequence[WindowScore],
    *,
    sizes: Mapping[str, int],
    suspects: AbstractSet[Window] = frozenset(),
    staleness: Mapping[str, int] | None = None,
) -> TaskWeights:
    """Return how to draw the windows of one task, from those that were scored.

    Args:
        scores: The windows, each with how many of the task's it stands for, in any order.
        sizes: How many windows of the task lie in each stratum, at least 1.
        suspects: Windows whose error is more likely the data's fault than the policy's.
        staleness: Scans since each stratum was last looked at; 0 where it is not named.

    Raises:
        ScanError: No window was scored, or nothing but suspects.
    """
    scores = sorted(scores, key=lambda score: score.choice.place)
    kept = [score for score in scores if score.choice.place not in suspects]
    difficulty = task_difficulty(kept)
    irreducible = _quantile(kept, EASIEST)
    names = sorted(sizes, key=_order)
    shares = np.array([sizes[name] for name in names], np.float64)
    shares = shares / shares.sum()
    rank_of = _stratum_ranks(scores, kept, sizes, irreducible=irreducible)
    ranks = np.array([rank_of[name] for name in names], np.float64)
    stale = np.array([(staleness or {}).get(name, 0) for name in names], np.float64)
    mixed = UNIFORM_SHARE + ERROR_SHARE * ranks + STALE_SHARE * _relative(stale, shares)
    scored = Counter(score.choice.stratum for score in scores)
    return TaskWeights(
        difficulty=difficulty.mean,
        irreducible=irreducible,
        strata=tuple(
            StratumWeight(
                stratum=name,
                windows=scored[name],
                of=sizes[name],
                difficulty=difficulty.of_stratum(name),
                multiplier=multiplier,
            )
            for name, multiplier in zip(names, _capped(mixed, shares).tolist(), strict=True)
        ),
    )


def stratum_sizes(cells: Mapping[Cell, int], *, of: int) -> dict[str, int]:
    """Return how many of a task's `of` windows lie in each stratum, as whole numbers that sum.

    They are scaled up from the episodes in `cells`, and exact where those are all; what rounding
    leaves over goes to the largest remainders.
    """
    counts: dict[str, int] = {}
    for (stratum, _), size in cells.items():
        counts[stratum] = counts.get(stratum, 0) + size
    total = sum(counts.values())
    sizes = {name: count * of // total for name, count in counts.items()}
    rest = sorted(counts, key=lambda name: (-(counts[name] * of % total), _order(name)))
    for name in rest[: of - sum(sizes.values())]:
        sizes[name] += 1
    return sizes


def scans_since(strata: Collection[str], looked_at: Sequence[AbstractSet[str]]) -> dict[str, int]:
    """Return how many scans ago each stratum was last looked at: 0 in the latest one.

    One that never was counts from the oldest scan, so that a first scan makes nothing stale.

    Args:
        strata: Those of the task.
        looked_at: For each scan, oldest first, the strata of which a window was scored.
    """
    latest = {name: place for place, names in enumerate(looked_at) for name in names}
    return {name: len(looked_at) - 1 - latest.get(name, 0) for name in strata}


def _stratum_ranks(
    scores: Sequence[WindowScore],
    kept: Sequence[WindowScore],
    sizes: Mapping[str, int],
    *,
    irreducible: float,
) -> dict[str, float]:
    """Return the mean rank of each stratum's windows, that of suspect ones being 1."""
    errors = np.array([score.gmse for score in kept], np.float64)
    excess = np.clip(errors - irreducible, 0.0, _quantile(kept, HARDEST) - irreducible)
    parts = dict(zip(_places(scores), _parts(scores, sizes), strict=True))
    places = _places(kept)
    weights = np.array([parts[place] for place in places], np.float64)
    rank_of = dict(zip(places, _ranks(excess, weights).tolist(), strict=True))
    ranks: dict[str, float] = {}
    for name in sizes:
        windows = _places(score for score in scores if score.choice.stratum == name)
        values = [rank_of.get(window, 1.0) * parts[window] for window in windows]
        ranks[name] = math.fsum(values) / sizes[name] if windows else 1.0
    return ranks


def _parts(scores: Sequence[WindowScore], sizes: Mapping[str, int]) -> list[float]:
    """Return how many windows of its stratum each score stands for; they sum to its size."""
    sums: dict[str, float] = {}
    for score in scores:
        name = score.choice.stratum
        sums[name] = sums.get(name, 0.0) + score.choice.weight
    return [
        sizes[score.choice.stratum] * score.choice.weight / sums[score.choice.stratum]
        for score in scores
    ]


def _ranks(
    values: Float64[np.ndarray, " windows"], weights: Float64[np.ndarray, " windows"]
) -> Float64[np.ndarray, " windows"]:
    """Return twice the share of the weight below each value, half of that of equals included."""
    _, places = np.unique(values, return_inverse=True)
    equals = np.bincount(places, weights=weights)
    return ((2 * np.cumsum(equals) - equals) / equals.sum())[places]


def _relative(
    values: Float64[np.ndarray, " strata"], shares: Float64[np.ndarray, " strata"]
) -> Float64[np.ndarray, " strata"]:
    """Return values relative to their mean; all alike where that is 0."""
    mean = float(shares @ values)
    return values / mean if mean else np.ones_like(values)


def _capped(
    values: Float64[np.ndarray, " strata"], shares: Float64[np.ndarray, " strata"]
) -> Float64[np.ndarray, " strata"]:
    """Return values that average 1 with none over `LARGEST`; what is cut goes to the others."""
    cut: Bool[np.ndarray, " strata"] = np.zeros(len(values), np.bool_)
    while True:
        left = 1.0 - LARGEST * float(shares[cut].sum())
        scaled = values * (left / float(shares[~cut] @ values[~cut]))
        over = ~cut & (scaled > LARGEST)
        if not over.any():
            return np.where(cut, LARGEST, scaled)
        cut |= over


def _quantile(scores: Sequence[WindowScore], share: float) -> float:
    return weighted_quantile(
        [score.gmse for score in scores], [score.choice.weight for score in scores], share
    )


def _places(scores: Iterable[WindowScore]) -> list[Window]:
    return [score.choice.place for score in scores]


def _order(stratum: str) -> tuple[int, str]:
    return STRATA.index(stratum) if stratum in STRATA else len(STRATA), stratum
