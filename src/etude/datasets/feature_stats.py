"""Statistics of one column, as LeRobot v3.0 keeps them of each episode and of the whole."""

from typing import Any

import numpy as np

from etude.datasets.lerobot_schema import Feature

QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}

_VALUES_AT_ONCE = 1 << 22
"""Bounds the float64 copies that a long column would need."""


def summarise(values: np.ndarray, feature: Feature) -> dict[str, list[Any]]:
    """Return the statistics of a column's `values`, [frames] or [frames, size].

    The standard deviation is the population's. The quantiles are those of the values themselves,
    interpolated linearly; LeRobot reads its own off histograms, and takes those of a whole dataset
    as the mean of its episodes'.
    """
    table = values.reshape(len(values), feature.size)
    width = max(1, _VALUES_AT_ONCE // len(values))
    merged: dict[str, list[Any]] = {}
    for start in range(0, feature.size, width):
        for name, numbers in _summarise(table[:, start : start + width], feature).items():
            merged.setdefault(name, []).extend(numbers)
    return {**merged, "count": [len(values)]}


def _summarise(table: np.ndarray, feature: Feature) -> dict[str, list[Any]]:
    wide = table.astype(np.float64)
    extremes = wide if feature.dtype == "float32" else table
    quantiles = np.quantile(wide, list(QUANTILES.values()), axis=0)
    return {
        "min": extremes.min(axis=0).tolist(),
        "max": extremes.max(axis=0).tolist(),
        "mean": wide.mean(axis=0).tolist(),
        "std": wide.std(axis=0).tolist(),
        "count": [],
        **dict(zip(QUANTILES, quantiles.tolist(), strict=True)),
    }
