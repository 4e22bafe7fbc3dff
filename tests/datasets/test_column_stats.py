from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from etude.core.types import TaskId
from etude.datasets.column_stats import QUANTILES, TOLERANCE, measure_columns, merge_stats
from etude.datasets.mixture import open_dataset
from etude.datasets.mixture_config import MixtureConfig
from etude.testing.fakes import MemoryDataset, MemoryEpisode, toy_tasks
from robots import write_robot
from tiny_dataset import read, write_tiny

TASKS = toy_tasks(1)
NUMBERS = st.floats(-1e6, 1e6, width=32)


def dataset_of(*episodes: np.ndarray) -> MemoryDataset:
    return MemoryDataset(
        [
            MemoryEpisode(task=TaskId("toy/0"), states=values, actions=values[:, :1])
            for values in episodes
        ],
        tasks=TASKS,
    )


def test_moments_are_those_of_all_frames(tmp_path: Path):
    stats = measure_columns(read(write_tiny(tmp_path / "set", [3, 2])))

    # The first dimension is 0, 1, 2, 100, 101.
    action = stats["action"]
    assert action.count.tolist() == [5, 5]
    assert action.mean[0] == pytest.approx(40.8)
    assert action.std[0] == pytest.approx(48.749974)
    assert (action.low[0], action.high[0]) == (0, 101)
    assert stats["observation.state"].mean[2] == pytest.approx(40.8)
    assert action.quantile(0.5)[0] == pytest.approx(2, rel=TOLERANCE)


@given(values=arrays(np.float32, st.tuples(st.integers(1, 60), st.just(2)), elements=NUMBERS))
def test_a_quantile_is_off_by_no_more_than_the_tolerance(values: np.ndarray):
    stats = measure_columns(dataset_of(values))["observation.state"]

    for share in QUANTILES.values():
        exact = np.quantile(values.astype(np.float64), share, axis=0, method="lower")
        error = np.abs(stats.quantile(share) - exact)
        assert (error <= TOLERANCE * np.abs(exact) + 1e-38).all()


@given(
    values=arrays(np.float32, st.tuples(st.integers(2, 40), st.just(2)), elements=NUMBERS),
    cut=st.integers(1, 39),
)
def test_parts_merge_into_the_whole(values: np.ndarray, cut: int):
    cut = min(cut, len(values) - 1)
    whole = measure_columns(dataset_of(values))["observation.state"]

    parts = [
        measure_columns(dataset_of(part))["observation.state"]
        for part in (values[:cut], values[cut:])
    ]
    merged = merge_stats(parts)

    assert (merged.bins == whole.bins).all()
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(merged.std, whole.std, rtol=1e-6, atol=1e-4)
    assert (merged.low.tolist(), merged.high.tolist()) == (whole.low.tolist(), whole.high.tolist())


def test_negative_zero_is_zero():
    values = np.array([[-0.0, 1.0], [0.0, 1.0]], np.float32)

    stats = measure_columns(dataset_of(values))["observation.state"]

    assert (stats.bins[0] > 0).sum() == 1
    assert stats.quantile(0.5).tolist()[0] == 0


def test_a_dimension_is_counted_where_a_robot_has_it(tmp_path: Path):
    write_robot(tmp_path / "one", size=7, lengths=[5])
    write_robot(tmp_path / "two", size=14, lengths=[3])
    mixed = open_dataset(MixtureConfig(roots=(str(tmp_path / "one"), str(tmp_path / "two"))))

    action = measure_columns(mixed)["action"]

    assert action.count.tolist() == [8] * 7 + [3] * 7
    assert action.mean[13] == 2
    assert action.low[13] == 1


def test_the_names_are_those_of_lerobot(tmp_path: Path):
    told = measure_columns(read(write_tiny(tmp_path / "set", [3])))["action"].to_json()

    assert list(told) == ["min", "max", "mean", "std", "count", *QUANTILES]
    assert told["count"] == [3, 3]
