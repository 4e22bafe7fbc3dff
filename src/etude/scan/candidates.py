"""The frames of an episode from which windows are chosen, and what is known of them beforehand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int8, Int64

from etude.core.types import EpisodeSpan
from etude.scan.strata import STRATA, robot_path, strata_of
from etude.scan.units import Units


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """The frames of one episode that a strategy names."""

    episode: EpisodeSpan
    frames: Int64[np.ndarray, " frames"]
    """Ascending."""
    labels: Int8[np.ndarray, " frames"]
    """Places in `STRATA`."""
    expected: Float64[np.ndarray, " frames"]
    """Errors to expect; 1 where nothing is known."""
    sizes: Mapping[str, int]
    """Frames of each stratum that has any."""
    means: Mapping[str, float]
    """Mean error to expect in each of these strata."""


def candidates_of(
    episode: EpisodeSpan,
    frames: Int64[np.ndarray, " candidates"],
    labels: Int8[np.ndarray, " frames"],
    expected: Float64[np.ndarray, " frames"],
) -> Candidates:
    """Count the strata of some frames of an episode.

    Args:
        episode: Which one it is.
        frames: Its frames that may be chosen, ascending.
        labels: The place in `STRATA` of each of its frames' stratum.
        expected: The error to expect at each of its frames.
    """
    labels, expected = labels[frames], expected[frames]
    counts = np.bincount(labels, minlength=len(STRATA)).tolist()
    sums = np.bincount(labels, weights=expected, minlength=len(STRATA)).tolist()
    rows = [row for row in zip(STRATA, counts, sums, strict=True) if row[1]]
    return Candidates(
        episode=episode,
        frames=frames,
        labels=labels,
        expected=expected,
        sizes={name: size for name, size, _ in rows},
        means={name: total / size for name, size, total in rows},
    )


def labels_of(
    recorded: Sequence[Float64[np.ndarray, "_ action"]], *, units: Units, grippers: Sequence[int]
) -> list[Int8[np.ndarray, " _"]]:
    """Return the place in `STRATA` of every frame, for some episodes at once.

    Args:
        recorded: The actions of each episode.
        units: Of the dataset's actions.
        grippers: Dimensions that only open and close something.
    """
    held = list(grippers)
    return strata_of(
        [robot_path(each, moves=units.moves, grippers=held) for each in recorded],
        [each[:, held] for each in recorded],
        gripper_ranges=units.ranges[held],
    )
