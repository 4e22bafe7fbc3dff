"""Rank correlation."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's rank correlation; NaN where one side is constant."""
    left, right = ranks(one), ranks(other)
    spread = left.std() * right.std()
    if not spread:
        return float("nan")
    return float(((left - left.mean()) * (right - right.mean())).mean() / spread)


def ranks(values: Sequence[float]) -> Float64[np.ndarray, " n"]:
    """Return the rank of each value; equal ones share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]
