"""Strata: what happens at each frame of a demonstration, from its actions alone.

Each frame belongs to the first of these that fits:

* gripper: close to where a gripper opens or closes
* waypoint: close to one of the fewest points that straight lines between them follow the path
* change: the motion changes direction or speed more than it does elsewhere
* idle: next to no motion
* slow: slower than three quarters of the moving frames
* transit: everything else

Everything is measured in units of the episode itself, so that a frame's stratum does not depend on
which other episodes there are.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Bool, Float64, Int8, Int64

STRATA = ("gripper", "waypoint", "change", "idle", "slow", "transit")

IMPORTANCE = {"gripper": 3.0, "transit": 0.3}
"""How much the errors of a stratum count in a task's score; 1 where it is not named. Chosen by how
well scores follow success (docs/decisions/0008)."""
AROUND_GRIPPER = 8
"""Frames to each side of a gripper event that count as close to it."""
AROUND_WAYPOINT = 1
"""Frames to each side of a waypoint."""
DEBOUNCE = 3
"""Frames that a gripper has to stay open or closed for it to count."""
GRIPPER_SWING = 0.2
"""Smallest swing of a gripper that can hold an event, as a share of its range over all tasks."""
PATH_ERROR = 0.05
"""How far straight lines may stray from the path, as a share of its extent."""
SMOOTHING = 3
"""Frames over which motion is averaged, to each side of where it may change."""
IDLE_SPEED = 0.02
"""Share of the fast frames' speed under which nothing moves."""
SLOW_QUANTILE = 0.25
FAST_QUANTILE = 0.9
LEAST_CHANGE = 1e-6
"""Smallest change of motion that is none of rounding, as a share of the path's extent."""
CHANGE_FACTOR = 3.0
"""A change point changes the motion this many times as much as the median frame."""

Flags = Bool[np.ndarray, " frames"]
Path = Float64[np.ndarray, "frames dim"]
Paths = Sequence[Float64[np.ndarray, "_ dim"]]
"""Those of several episodes, each of its own length."""


def robot_path(
    actions: Float64[np.ndarray, "frames action"],
    *,
    moves: Bool[np.ndarray, " action"],
    grippers: Sequence[int],
) -> Path:
    """Return where the actions lead the robot, grippers left out.

    Args:
        actions: What was recorded.
        moves: Whether a dimension says how to move, and is added up, or where to be.
        grippers: Dimensions that only open and close something.
    """
    summed = np.where(moves, np.cumsum(actions, axis=0), actions)
    return np.delete(summed, list(grippers), axis=1)


def strata_of(
    paths: Paths,
    grippers: Sequence[Float64[np.ndarray, "_ gripper"]],
    *,
    gripper_ranges: Float64[np.ndarray, " gripper"],
) -> list[Int8[np.ndarray, " _"]]:
    """Return the place in `STRATA` of each frame's stratum, for some episodes at once.

    Args:
        paths: Where the robot is in each episode, in any units; of as many dimensions in all.
        grippers: The actions that open and close grippers.
        gripper_ranges: Largest less smallest value of those actions over all tasks.
    """
    scaled = [_scaled(path) for path in paths]
    corners = waypoints(scaled, error=PATH_ERROR)
    events = [gripper_events(each, gripper_ranges) for each in grippers]
    return [_labels(*each) for each in zip(scaled, corners, events, strict=True)]


def _labels(path: Path, corners: list[int], events: list[int]) -> Int8[np.ndarray, " frames"]:
    velocity = _velocity(path)
    speed = _smoothed(np.sqrt(np.einsum("fd,fd->f", velocity, velocity)))
    idle = speed <= IDLE_SPEED * _quantile(speed, FAST_QUANTILE)
    moving = speed[~idle]
    slow = speed < _quantile(moving, SLOW_QUANTILE) if len(moving) else idle
    found = {
        "gripper": _near(events, len(path), AROUND_GRIPPER),
        "waypoint": _near(corners[1:-1], len(path), AROUND_WAYPOINT),
        "change": change_points(velocity),
        "idle": idle,
        "slow": slow,
    }
    labels = np.full(len(path), STRATA.index("transit"), np.int8)
    for name in reversed(STRATA[:-1]):
        labels[found[name]] = STRATA.index(name)
    return labels


def importance(stratum: str) -> float:
    """Return how much errors of a stratum count."""
    return IMPORTANCE.get(stratum, 1.0)


def gripper_events(
    grippers: Float64[np.ndarray, "frames gripper"], ranges: Float64[np.ndarray, " gripper"]
) -> list[int]:
    """Return the frames at which a gripper begins to be open or closed, in order.

    A gripper changes when it crosses from the lower third of its swing to the upper third or back,
    and only if it stays there, so that noise and chatter are no events.
    """
    events: set[int] = set()
    for column, extent in zip(grippers.T, ranges, strict=True):
        low, high = float(column.min()), float(column.max())
        if high - low >= GRIPPER_SWING * extent and high > low:
            third = (high - low) / 3
            events.update(_flips(column >= high - third, column <= low + third))
    return sorted(events)


def waypoints(paths: Paths, *, error: float) -> list[list[int]]:
    """Return each path's frames whose straight connections stay within `error` of all its frames.

    Each line that strays too far is broken at its farthest frame, all lines of all paths at once,
    until none does; so they are nearly, not provably, the fewest. The first and the last frame are
    among them.

    Source: the criterion of AWE, arXiv 2307.14326; the way there is that of Ramer, "An iterative
    procedure for the polygonal approximation of plane curves", 1972.
    """
    lengths = np.array([len(path) for path in paths], np.int64)
    ends = np.cumsum(lengths)
    columns = np.ascontiguousarray(np.concatenate(paths).T)
    starts, stops = ends - lengths, ends - 1
    corners = [starts, stops]
    while True:
        # Lines between neighbours have nothing to be broken at.
        long = stops - starts > 1
        starts, stops = starts[long], stops[long]
        if not len(starts):
            break
        frames, away, begins = _away(columns, starts, stops)
        worst = np.maximum.reduceat(away, begins)
        bent = np.flatnonzero(worst > error**2)
        hits = np.flatnonzero(away == np.repeat(worst, stops - starts))
        farthest = frames[hits[np.searchsorted(hits, begins[bent])]]
        corners.append(farthest)
        starts, stops = (
            np.concatenate([starts[bent], farthest]),
            np.concatenate([farthest, stops[bent]]),
        )
    kept = np.unique(np.concatenate(corners))
    found = np.split(kept, np.searchsorted(kept, ends[:-1]))
    return [(each - begin).tolist() for each, begin in zip(found, ends - lengths, strict=True)]


def change_points(velocity: Path) -> Flags:
    """Return where motion before and after differ most, compared with the frames around."""
    frames = len(velocity)
    if frames <= 2 * SMOOTHING:
        return np.zeros(frames, np.bool_)
    sums = np.concatenate([np.zeros((1, velocity.shape[1])), np.cumsum(velocity, axis=0)])
    means = (sums[SMOOTHING:] - sums[:-SMOOTHING]) / SMOOTHING
    change = np.zeros(frames)
    change[SMOOTHING : frames - SMOOTHING + 1] = np.linalg.norm(
        means[SMOOTHING:] - means[:-SMOOTHING], axis=1
    )
    left = np.concatenate([[0.0], change[:-1]])
    right = np.concatenate([change[1:], [0.0]])
    least = max(CHANGE_FACTOR * _quantile(change, 0.5), LEAST_CHANGE)
    return (change > left) & (change >= right) & (change > least)


def _scaled(places: Path) -> Path:
    """Bring what moves to [0, 1], all of it together to an extent of at most 1, the rest to 0."""
    least = places.min(axis=0)
    extent = places.max(axis=0) - least
    moving = extent > 0
    size = np.where(moving, extent, 1.0) * math.sqrt(max(moving.sum(), 1))
    return (places - least) / size


def _velocity(path: Path) -> Path:
    """Return each frame's motion since the frame before; the first moves as the second does."""
    steps = np.diff(path, axis=0)
    return np.concatenate([steps[:1], steps]) if len(steps) else np.zeros_like(path)


def _smoothed(speed: Float64[np.ndarray, " frames"]) -> Float64[np.ndarray, " frames"]:
    """Average over `SMOOTHING` frames, over fewer at the ends."""
    kernel = np.ones(SMOOTHING)
    counts = np.convolve(np.ones_like(speed), kernel)[SMOOTHING // 2 :][: len(speed)]
    return np.convolve(speed, kernel)[SMOOTHING // 2 :][: len(speed)] / counts


def _near(events: Iterable[int], frames: int, reach: int) -> Flags:
    flags = np.zeros(frames, np.bool_)
    for event in events:
        flags[max(0, event - reach) : event + reach + 1] = True
    return flags


def _flips(up: Flags, down: Flags) -> list[int]:
    """Return where a signal settles on its other side; frames on neither side do not count."""
    decided = np.flatnonzero(up | down)
    side = up[decided]
    starts = np.concatenate([[0], np.flatnonzero(side[1:] != side[:-1]) + 1])
    lengths = np.diff(np.concatenate([starts, [len(side)]]))
    settled = starts[lengths >= DEBOUNCE]
    changed = np.flatnonzero(side[settled[1:]] != side[settled[:-1]]) + 1
    return decided[settled[changed]].tolist()


def _quantile(values: Float64[np.ndarray, " values"], share: float) -> float:
    """Return the least value that at least `share` of all values do not exceed."""
    place = max(math.ceil(share * len(values)) - 1, 0)
    return float(np.partition(values, place)[place])


def _away(
    columns: Float64[np.ndarray, "dim frames"],
    starts: Int64[np.ndarray, " lines"],
    stops: Int64[np.ndarray, " lines"],
) -> tuple[Int64[np.ndarray, " near"], Float64[np.ndarray, " near"], Int64[np.ndarray, " lines"]]:
    """Return the frames [start, stop) of all lines, their squared distances from them, and where
    those of each line begin.

    Dimension by dimension, since that needs a third of the time of whole points.
    """
    counts = stops - starts
    begins = np.cumsum(counts) - counts
    frames = np.arange(int(counts.sum())) + np.repeat(starts - begins, counts)
    lines = columns[:, stops] - columns[:, starts]
    lengths = np.maximum((lines**2).sum(axis=0), np.finfo(np.float64).tiny)
    points = [
        column[frames] - np.repeat(origin, counts)
        for column, origin in zip(columns, columns[:, starts], strict=True)
    ]
    along = np.zeros(len(frames))
    for point, line in zip(points, lines, strict=True):
        along += point * np.repeat(line / lengths, counts)
    np.clip(along, 0.0, 1.0, out=along)
    away = np.zeros(len(frames))
    for point, line in zip(points, lines, strict=True):
        away += (point - along * np.repeat(line, counts)) ** 2
    return frames, away, begins
