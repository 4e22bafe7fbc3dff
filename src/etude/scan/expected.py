"""What error to expect of a window before any policy is asked, from the recorded actions alone.

    expected[w] = min(mean over parts of ratio[w, part], WORST) + EVEN
    ratio[w, arm]     = sqrt(r^2 + STILL^2) / (m + STILL)
    ratio[w, gripper] = r / GRIPPER

r is how far the recorded actions are from their own mean over `REACH` frames to each side: what
changes from frame to frame, no policy foresees. m is the recorded motion, and everything is in the
units of a window's score. So this is about the score of a policy that plays the demonstration
smoothly and, but for that, errs by `STILL`.

It need not be right. Windows are drawn more often where more error is expected, and found errors
are set against it; the worse it is, the less is gained, and nothing is lost (docs/decisions/0011).
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float64, Int64

from etude.scan.fold import WORST
from etude.scan.score import GRIPPER, STILL
from etude.scan.units import Units

REACH = 2
"""Frames to each side over which actions are smoothed."""
EVEN = 0.2
"""Expected everywhere, so that an expected 0 is not left out and a rare 1 not drawn too often."""

Rows = Float64[np.ndarray, "dim frames"]
Errors = Float64[np.ndarray, " frames"]
Span = tuple[Int64[np.ndarray, " frames"], Int64[np.ndarray, " frames"]]
"""Where what is averaged begins and stops, for each frame."""


def expected_errors(
    actions: Sequence[Float64[np.ndarray, "_ action"]],
    *,
    units: Units,
    grippers: Sequence[int],
    horizon: int,
) -> list[Float64[np.ndarray, " _"]]:
    """Return the error to expect of the window at each frame of some episodes.

    Args:
        actions: What was recorded in each episode.
        units: Of the dataset's actions.
        grippers: Dimensions that only open and close something.
        horizon: Actions of a window that are judged.
    """
    moving = np.flatnonzero(units.ranges > 0)
    closes = np.array([dim in grippers for dim in moving.tolist()], np.bool_)
    rows = np.concatenate([each.T[moving] for each in actions], axis=1)
    rows /= units.ranges[moving, None]
    lengths = np.array([len(each) for each in actions])
    ends = np.cumsum(lengths)
    begins, stops = np.repeat(ends - lengths, lengths), np.repeat(ends, lengths)
    frames = np.arange(len(stops))
    around = np.maximum(frames - REACH, begins), np.minimum(frames + REACH + 1, stops)
    window = frames, np.minimum(frames + horizon, stops)
    lacking = _means(rows, around) - rows
    parts: list[Errors] = []
    if not closes.all():
        arm = ~closes
        motion = _motion(rows[arm], units.moves[moving][arm], begins, window)
        rough = _pooled(lacking[arm], window)
        parts.append(np.sqrt(rough + STILL**2) / (np.sqrt(motion) + STILL))
    if closes.any():
        parts.append(np.sqrt(_pooled(lacking[closes], window)) / GRIPPER)
    mean = sum(parts, np.zeros(len(frames))) / max(len(parts), 1)
    return np.split(np.minimum(mean, WORST) + EVEN, ends[:-1])


def _motion(
    rows: Rows, moves: Bool[np.ndarray, " dim"], begins: Int64[np.ndarray, " frames"], window: Span
) -> Errors:
    """Return the mean square, over each window, of what holding still lacks.

    Where an action says how to move that is the action, otherwise its distance from the action
    before. The square of the distance is multiplied out, so that no window is listed.
    """
    if moves.all():
        return _pooled(rows, window)
    frames = np.arange(len(begins))
    still = ~moves[:, None]
    origins = np.where(still, rows.take(begins, axis=1), 0.0)
    before = rows.take(np.maximum(frames - 1, begins), axis=1)
    rows, before = rows - origins, np.where(still, before - origins, 0.0)
    crossed = before * (before - 2 * _means(rows, window))
    return np.maximum(_pooled(rows, window) + crossed.mean(axis=0), 0.0)


def _pooled(rows: Rows, window: Span) -> Errors:
    """Return the mean square of all rows over the window at each frame."""
    squares = np.einsum("df,df->f", rows, rows) / len(rows)
    return np.maximum(_means(squares[None], window)[0], 0.0)


def _means(rows: Rows, span: Span) -> Rows:
    begins, stops = span
    sums = np.zeros((len(rows), rows.shape[1] + 1))
    np.cumsum(rows, axis=1, out=sums[:, 1:])
    means = sums.take(stops, axis=1)
    means -= sums.take(begins, axis=1)
    means /= stops - begins
    return means
