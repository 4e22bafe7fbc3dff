"""The errors of a window by action dimension: what policies are asked for, and what is kept.

    squared[w, d] = sum over h of m[h] * (predicted[h, d] - recorded[h, d])^2, over sum m

h runs over the executed part of a chunk and m is 0 for padding. Scores and verdicts are made of
these, and of what was recorded, without asking the policy again (`scan.score`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Float64

from etude.core.errors import DataError, PolicyError
from etude.core.types import WindowChoice


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DimensionErrors:
    """Errors of some windows by action dimension, means over the steps that are no padding."""

    squared: Float64[np.ndarray, "batch action"]
    absolute: Float64[np.ndarray, "batch action"]


def dimension_errors(
    choices: Sequence[WindowChoice],
    *,
    predicted: Float32[np.ndarray, "chunks chunk size"],
    actions: Float32[np.ndarray, "batch horizon action"],
    valid: Bool[np.ndarray, "batch horizon"],
) -> DimensionErrors:
    """Return how far each window's prediction is from what was recorded.

    Args:
        choices: Which windows these are, for messages.
        predicted: What the policy returned; actions beyond the horizon are not judged.
        actions: What was recorded, over the executed horizon.
        valid: False for padding.

    Raises:
        PolicyError: The prediction has another size, or a number in it is not finite.
        DataError: A window has nothing but padding, or a recorded number is not finite.
    """
    _check_size(choices, predicted, actions)
    played = predicted[:, : actions.shape[1]]
    _check_recorded(choices, actions, valid)
    _check_predicted(choices, played, valid)
    difference = played.astype(np.float64) - actions
    difference = np.where(valid[:, :, None], difference, 0.0)
    steps = valid.sum(axis=1)[:, None]
    return DimensionErrors(
        squared=(difference**2).sum(axis=1) / steps,
        absolute=np.abs(difference).sum(axis=1) / steps,
    )


def _check_size(
    choices: Sequence[WindowChoice],
    predicted: Float32[np.ndarray, "chunks chunk size"],
    actions: Float32[np.ndarray, "batch horizon action"],
) -> None:
    if len(predicted) != len(choices):
        raise PolicyError(
            f"the policy returned {len(predicted)} chunks for {len(choices)} observations",
            hint="Let it return one chunk for each observation, in order.",
        )
    if not choices:
        return
    first = choices[0].task
    if predicted.shape[2] != actions.shape[2]:
        raise PolicyError(
            f"the policy returned actions of {predicted.shape[2]} numbers for {first}, "
            f"whose dataset has {actions.shape[2]}",
            hint="Scan it on the dataset that it was trained for.",
        )
    if predicted.shape[1] < actions.shape[1]:
        raise PolicyError(
            f"the policy returned {predicted.shape[1]} actions for {first}, "
            f"fewer than the {actions.shape[1]} to be judged",
            hint=f"Set scan.horizon to {predicted.shape[1]} or less.",
        )


def _check_recorded(
    choices: Sequence[WindowChoice],
    actions: Float32[np.ndarray, "batch horizon action"],
    valid: Bool[np.ndarray, "batch horizon"],
) -> None:
    empty = np.flatnonzero(~valid.any(axis=1))
    if len(empty):
        raise DataError(f"{_address(choices[int(empty[0])])} has no recorded action, only padding")
    bad = np.argwhere(~np.isfinite(actions) & valid[:, :, None])
    if len(bad):
        window, ahead, dim = map(int, bad[0])
        raise DataError(
            f"{_address(choices[window], ahead=ahead)}: action {dim} is recorded as "
            f"{actions[window, ahead, dim]}",
            hint="Repair the episode, or leave it out with --dataset.on_bad skip.",
        )


def _check_predicted(
    choices: Sequence[WindowChoice],
    played: Float32[np.ndarray, "batch horizon action"],
    valid: Bool[np.ndarray, "batch horizon"],
) -> None:
    bad = np.argwhere(~np.isfinite(played) & valid[:, :, None])
    if len(bad):
        window, ahead, dim = map(int, bad[0])
        raise PolicyError(
            f"{_address(choices[window])}: the policy returned {played[window, ahead, dim]} for "
            f"action {dim} of step {ahead}",
            hint="Check its weights, and that its normaliser has no zero scale.",
        )


def _address(choice: WindowChoice, *, ahead: int = 0) -> str:
    return f"{choice.task} episode {choice.episode} frame {choice.frame + ahead}"
