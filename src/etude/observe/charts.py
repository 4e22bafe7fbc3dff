"""Where the points of a learning curve lie in its frame. Geometry only; a template draws it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 1000.0, 240.0
"""The frame's own units; it is stretched to the width of the page."""
BUCKETS = 500
DOTS_UP_TO = 60
MARGIN = 0.06
"""Share of the value range left free above and below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One logged value."""

    step: int
    value: float | None
    """None where the logged number is not finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A labelled line across the frame."""

    at: float
    """Per cent of the frame, from the left or from the top."""
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A series ready to be drawn."""

    lines: tuple[str, ...]
    """Unbroken pieces as SVG `points`; a value that is not finite parts two of them."""
    dots: tuple[tuple[float, float], ...]
    """Per cent from the left and from the top; empty where there are too many to tell apart."""
    marks: tuple[float, ...]
    """Per cent from the left of every value that is not finite."""
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    logarithmic: bool
    logged: int
    drawn: int
    first: Point | None
    """First, last and lowest finite point."""
    last: Point | None
    lowest: Point | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A range of values and how it is spread over the frame."""

    low: float
    high: float
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Return where `value` lies between `low` (0) and `high` (1)."""
        low, high, at = (
            (math.log10(v) for v in (self.low, self.high, value))
            if self.logarithmic
            else (self.low, self.high, value)
        )
        return (at - low) / (high - low)


def curve(points: Sequence[Point]) -> Curve | None:
    """Lay out points of ascending steps; None of no points.

    The value axis is logarithmic unless a value is not over 0. A long series is drawn as the
    lowest and highest value of each of 500 slices, so that no spike is lost.
    """
    if not points:
        return None
    finite = [point for point in points if point.value is not None]
    values = [point.value for point in finite if point.value is not None]
    x_axis = Axis(low=0.0, high=float(max(points[-1].step, 1)))
    y_axis = _value_axis(values)
    kept = _thin(points, x_axis)
    pieces = _pieces(kept)
    placed = [
        [(x_axis.share(p.step), 1 - y_axis.share(p.value or 0.0)) for p in piece]
        for piece in pieces
    ]
    few = len(kept) <= DOTS_UP_TO
    return Curve(
        lines=tuple(" ".join(f"{x * WIDTH:.1f},{y * HEIGHT:.1f}" for x, y in p) for p in placed),
        dots=tuple(
            (100 * x, 100 * y) for piece in placed for x, y in piece if few or len(piece) == 1
        ),
        marks=tuple(100 * x_axis.share(p.step) for p in kept if p.value is None),
        x_ticks=tuple(
            Tick(at=100 * x_axis.share(step), label=f"{step:,.0f}")
            for step in _even(x_axis, 4)
            if step.is_integer()
        ),
        y_ticks=tuple(
            Tick(at=100 - 100 * y_axis.share(v), label=f"{v:.10g}") for v in _ticks(y_axis)
        )
        if values
        else (),
        logarithmic=y_axis.logarithmic,
        logged=len(points),
        drawn=len(kept),
        first=finite[0] if finite else None,
        last=finite[-1] if finite else None,
        lowest=min(finite, key=lambda point: point.value or 0.0) if finite else None,
    )


def _value_axis(values: Sequence[float]) -> Axis:
    if not values:
        return Axis(low=0.0, high=1.0)
    low, high = min(values), max(values)
    if low > 0:
        span = max(math.log10(high / low), 0.3)
        bottom, top = low * 10 ** (-MARGIN * span), low * 10 ** (span * (1 + MARGIN))
        return Axis(low=bottom, high=top, logarithmic=True)
    span = (high - low) or 1.0
    return Axis(low=low - MARGIN * span, high=low + (1 + MARGIN) * span)


def _thin(points: Sequence[Point], axis: Axis) -> list[Point]:
    if len(points) <= 2 * BUCKETS:
        return list(points)
    slices: dict[int, list[Point]] = {}
    for point in points:
        slices.setdefault(int(axis.share(point.step) * BUCKETS), []).append(point)
    return [point for members in slices.values() for point in _extremes(members)]


def _extremes(points: Sequence[Point]) -> list[Point]:
    finite = [point for point in points if point.value is not None]
    kept = {point.step for point in points if point.value is None}
    if finite:
        kept.add(min(finite, key=lambda point: point.value or 0.0).step)
        kept.add(max(finite, key=lambda point: point.value or 0.0).step)
    return [point for point in points if point.step in kept]


def _pieces(points: Sequence[Point]) -> list[list[Point]]:
    pieces: list[list[Point]] = [[]]
    for point in points:
        if point.value is None:
            pieces.append([])
        else:
            pieces[-1].append(point)
    return [piece for piece in pieces if piece]


def _ticks(axis: Axis) -> list[float]:
    if not axis.logarithmic:
        return _even(axis, 5)
    decades = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
        inside = [
            float(f"{factor * 10.0**decade:.6g}")
            for decade in decades
            for factor in factors
            if axis.low <= factor * 10.0**decade <= axis.high
        ]
        if len(inside) >= 3:
            break
    else:
        return _even(axis, 4)
    return inside[:: math.ceil(len(inside) / 6)]


def _even(axis: Axis, wanted: int) -> list[float]:
    """Return up to about `wanted` round values, evenly spaced."""
    rough = (axis.high - axis.low) / wanted
    magnitude = 10.0 ** math.floor(math.log10(rough))
    gap = next(f * magnitude for f in (1, 2, 5, 10) if f * magnitude >= rough * 0.999)
    first = math.ceil(axis.low / gap - 1e-9)
    last = math.floor(axis.high / gap + 1e-9)
    decimals = max(0, -math.floor(math.log10(gap)))
    return [round(i * gap, decimals) for i in range(first, last + 1)]
