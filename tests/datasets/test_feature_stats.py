import numpy as np
import pytest

from etude.datasets.feature_stats import summarise
from etude.datasets.lerobot_schema import Feature


def test_statistics_of_a_whole_come_from_all_its_values():
    values = np.array([0] * 90 + [100] * 10, np.float32)

    summary = summarise(values, Feature(dtype="float32"))

    assert summary["q99"] == [100]
    assert summary["mean"] == [10]
    assert summary["std"] == [30]
    assert (summary["min"], summary["max"], summary["count"]) == ([0], [100], [100])


def test_each_dimension_has_its_own_statistics():
    values = np.array([[0, 5], [1, 5], [2, 5]], np.float32)

    summary = summarise(values, Feature(dtype="float32", size=2))

    assert summary["mean"] == [1, 5]
    assert summary["std"] == pytest.approx([(2 / 3) ** 0.5, 0])
    assert summary["q50"] == [1, 5]
    assert summary["q10"] == pytest.approx([0.2, 5])
    assert summary["count"] == [3]


@pytest.mark.parametrize(
    ("values", "dtype", "kind"),
    [([3, 4], "int64", int), ([False, True], "bool", bool), ([3, 4], "float32", float)],
)
def test_extremes_keep_the_type_of_the_column(values: list[int], dtype: str, kind: type):
    summary = summarise(np.array(values, dtype), Feature(dtype=dtype))

    assert type(summary["min"][0]) is kind
    assert type(summary["mean"][0]) is float
