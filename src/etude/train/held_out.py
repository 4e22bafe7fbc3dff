"""The open-loop error on held-out episodes: a proxy of success, cheap enough to watch."""

from collections.abc import Sequence

import numpy as np
import torch

from etude.compute.batch import to_tensors
from etude.core.protocols import Dataset
from etude.core.types import EpisodeSpan
from etude.events.schema import HeldOutErrors
from etude.train.trainable import Trainable

ROWS_AT_ONCE = 2048


class HeldOutCheck:
    """Measures the policy's loss on every window of the held-out episodes."""

    def __init__(
        self,
        dataset: Dataset,
        episodes: Sequence[EpisodeSpan],
        *,
        device: torch.device | None = None,
    ) -> None:
        self._dataset = dataset
        self._episodes = episodes
        self._device = device
        spans = [np.arange(span.start, span.stop) for span in episodes]
        self._rows = np.concatenate(spans) if spans else np.zeros(0, dtype=np.int64)

    @torch.no_grad()
    def measure(self, module: Trainable, step: int) -> HeldOutErrors:
        """Return the mean loss of each task; nothing of the training state changes."""
        tasks = len(self._dataset.spec.tasks)
        sums, counts = np.zeros(tasks), np.zeros(tasks, dtype=np.int64)
        for start in range(0, len(self._rows), ROWS_AT_ONCE):
            rows = self._rows[start : start + ROWS_AT_ONCE]
            windows = self._dataset.windows(rows, module.window)
            losses = module(to_tensors(windows, self._device)).cpu().numpy()
            sums += np.bincount(windows.tasks, weights=losses, minlength=tasks)
            counts += np.bincount(windows.tasks, minlength=tasks)
        errors = [
            float(total / count) if count else None
            for total, count in zip(sums, counts.tolist(), strict=True)
        ]
        return HeldOutErrors(step=step, errors=errors, episodes=len(self._episodes))
