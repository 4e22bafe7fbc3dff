"""Asking a policy about windows of recorded episodes, in batches of one fixed shape."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float32

from etude.core.errors import DataError
from etude.core.protocols import Dataset, Policy
from etude.core.types import ActionChunk, Observation, WindowBatch, WindowChoice, WindowSpec
from etude.scan.metric import DimensionErrors, dimension_errors

SEED = 0
"""Of every call, so that a window's result does not depend on the call that it was part of."""


class OpenLoop:
    """Scores windows. Every call of the policy has `batch_size` observations.

    A batch that is not full is filled by repeating its windows: what a window gets must not depend
    on how many others were still missing, and the shape of a batch changes the last bits of a
    result. All calls are made with the seed `SEED`, for a call has one seed and many windows. A
    policy that draws noise must derive it from that seed and the observation, never from a row's
    place in the batch; one that does not answers with other noise whenever other windows are
    missing.
    """

    def __init__(
        self,
        policy: Policy,
        dataset: Dataset,
        *,
        horizon: int,
        batch_size: int,
        cameras: tuple[str, ...] = (),
    ) -> None:
        """Judge the first `horizon` actions of the chunks that `policy` returns.

        Args:
            policy: What is asked.
            dataset: Where the windows are.
            horizon: Actions of a chunk that are judged.
            batch_size: Observations of every call.
            cameras: Those whose pictures the policy sees; no other is decoded.
        """
        self._policy = policy
        self._dataset = dataset
        self._window = WindowSpec(action_offsets=tuple(range(horizon)), cameras=cameras)
        self._batch_size = batch_size
        self._starts = {span.index: span.start for span in dataset.episodes}

    def errors(self, choices: Sequence[WindowChoice]) -> DimensionErrors:
        """Return the errors of at most `batch_size` windows by action dimension.

        Raises:
            PolicyError: The policy refuses, or returns actions of another size or not finite.
            DataError: A recorded state or action is not finite, or a picture cannot be read.
        """
        places = np.resize(np.arange(len(choices)), self._batch_size)
        rows = [self._starts[choice.episode] + choice.frame for choice in choices]
        windows = self._dataset.windows(np.array(rows, np.int64)[places], self._window)
        _check_states(choices, windows.states)
        chunks = self._policy.act(self._observations(windows), seed=SEED)
        found = dimension_errors(
            [choices[place] for place in places.tolist()],
            predicted=np.stack([chunk.actions for chunk in chunks]),
            actions=windows.actions,
            valid=_judged(windows.actions_valid, chunks),
        )
        return DimensionErrors(
            squared=found.squared[: len(choices)], absolute=found.absolute[: len(choices)]
        )

    def _observations(self, windows: WindowBatch) -> list[Observation]:
        tasks = self._dataset.spec.tasks
        places: list[int] = windows.tasks.tolist()
        return [
            Observation(
                task=tasks[place].id,
                state=windows.states[row, 0],
                instruction=tasks[place].text,
                images={name: images[row, 0] for name, images in windows.images.items()},
            )
            for row, place in enumerate(places)
        ]


def _check_states(
    choices: Sequence[WindowChoice], states: Float32[np.ndarray, "batch observations state"]
) -> None:
    bad = np.argwhere(~np.isfinite(states[: len(choices), 0]))
    if len(bad):
        row, dim = map(int, bad[0])
        choice = choices[row]
        raise DataError(
            f"{choice.task} episode {choice.episode} frame {choice.frame}: state {dim} is recorded "
            f"as {states[row, 0, dim]}",
            hint="Repair the episode, or leave it out with --dataset.on_bad skip.",
        )


def _judged(
    recorded: Bool[np.ndarray, "batch horizon"], chunks: Sequence[ActionChunk]
) -> Bool[np.ndarray, "batch horizon"]:
    """Return which steps are padding on neither side."""
    if len(chunks) != len(recorded):
        return recorded
    judged = recorded.copy()
    for row, chunk in zip(judged, chunks, strict=True):
        played = chunk.valid[: len(row)]
        row[: len(played)] &= played
    return judged
