"""Where points lie."""

import math

from hypothesis import given
from hypothesis import strategies as st

from etude.observe.charts import HEIGHT, WIDTH, Point, curve


def series(*values: float | None) -> list[Point]:
    return [Point(step=10 * (i + 1), value=value) for i, value in enumerate(values)]


def test_no_points_make_no_curve() -> None:
    assert curve([]) is None


def test_values_over_zero_are_spread_by_their_logarithm() -> None:
    drawn = curve(series(1.0, 0.1, 0.01))
    assert drawn is not None
    assert drawn.logarithmic
    heights = [y for _, y in drawn.dots]
    assert math.isclose(heights[1] - heights[0], heights[2] - heights[1])
    assert [round(x, 1) for x, _ in drawn.dots] == [33.3, 66.7, 100.0]


def test_a_value_of_zero_makes_the_axis_linear_and_is_drawn() -> None:
    drawn = curve(series(2.0, 0.0, 1.0))
    assert drawn is not None
    assert not drawn.logarithmic
    heights = [y for _, y in drawn.dots]
    assert math.isclose(heights[2], (heights[0] + heights[1]) / 2)


def test_values_that_are_not_finite_are_gaps_with_marks() -> None:
    """Loss 1.0, NaN, Infinity, 0.5: four points, two of them marked, none drawn as 0."""
    drawn = curve(series(1.0, None, None, 0.5))
    assert drawn is not None
    assert drawn.logged == 4
    assert drawn.marks == (50.0, 75.0)
    assert len(drawn.lines) == 2
    assert len(drawn.dots) == 2
    assert (drawn.first, drawn.last) == (Point(step=10, value=1.0), Point(step=40, value=0.5))


def test_a_series_without_a_finite_value_has_marks_only() -> None:
    drawn = curve(series(None, None))
    assert drawn is not None
    assert drawn.lines == ()
    assert drawn.y_ticks == ()
    assert drawn.marks == (50.0, 100.0)
    assert drawn.first is drawn.last is drawn.lowest is None


def test_a_single_point_is_a_dot() -> None:
    drawn = curve(series(0.25))
    assert drawn is not None
    assert len(drawn.dots) == 1
    assert len(drawn.y_ticks) >= 2


def test_a_long_series_is_thinned_without_losing_its_spike() -> None:
    points = [Point(step=i + 1, value=1.0 + (i % 7) / 100) for i in range(20_000)]
    points[12_345] = Point(step=12_346, value=50.0)
    points[777] = Point(step=778, value=None)
    drawn = curve(points)
    assert drawn is not None
    assert drawn.logged == 20_000
    assert drawn.drawn <= 1_010
    assert len(drawn.marks) == 1
    top = min(float(pair.split(",")[1]) for line in drawn.lines for pair in line.split())
    bottom = max(float(pair.split(",")[1]) for line in drawn.lines for pair in line.split())
    assert bottom - top > HEIGHT * 0.85


def test_step_ticks_are_whole_steps() -> None:
    drawn = curve([Point(step=1, value=1.0), Point(step=3, value=0.5)])
    assert drawn is not None
    assert [tick.label for tick in drawn.x_ticks] == ["0", "1", "2", "3"]


def test_a_large_value_that_never_changes_has_ticks_around_it() -> None:
    drawn = curve(series(-100_001.5))
    assert drawn is not None
    assert [t.label for t in drawn.y_ticks] == ["-100001.5", "-100001", "-100000.5"]


@given(
    st.lists(
        st.none()
        | st.floats(min_value=-1e6, max_value=1e6)
        | st.floats(min_value=1e-9, max_value=1),
        min_size=1,
        max_size=80,
    )
)
def test_everything_lies_inside_the_frame(values: list[float | None]) -> None:
    drawn = curve(series(*values))
    assert drawn is not None
    pairs = [pair.split(",") for line in drawn.lines for pair in line.split()]
    assert len(pairs) + len(drawn.marks) == len(values)
    assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in pairs)
    ticks = [tick.at for tick in (*drawn.x_ticks, *drawn.y_ticks)]
    assert all(-1e-6 <= at <= 100 + 1e-6 for at in ticks)
    if pairs:
        assert 1 <= len(drawn.y_ticks) <= 8
