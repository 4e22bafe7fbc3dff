"""The open-loop error on held-out episodes: a proxy of success, cheap enough to watch."""

from collections.abc import Sequence

import numpy as np
import torch

from etude.compute.batch import to_tensors
from etude.core.protocols import Dataset, Ranks
from etude.core.ranks import Solo
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
        ranks: Ranks | None = None,
    ) -> None:
        self._dataset = dataset
        self._episodes = episodes
        self._device = device
        self._ranks = Solo() if ranks is None else ranks
        spans = [np.arange(span.start, span.stop) for span in episodes]
        self._rows = np.concatenate(spans) if spans else np.zeros(0, dtype=np.int64)

    @torch.no_grad()
    def measure(self, module: Trainable, step: int) -> HeldOutErrors:
        """Return the mean loss of each task over what all ranks share among them.

        Nothing of the training state changes. All ranks call the module equally often, as they
        must where it is sharded: a rank that has nothing left asks about a row that does not count.
        """
        tasks = len(self._dataset.spec.tasks)
        sums, counts = np.zeros(tasks), np.zeros(tasks, dtype=np.int64)
        rank, size = self._ranks.rank, self._ranks.size
        for start in range(0, len(self._rows), ROWS_AT_ONCE * size):
            mine = self._rows[start : start + ROWS_AT_ONCE * size][rank::size]
            windows = self._dataset.windows(mine if len(mine) else self._rows[:1], module.window)
            losses = module(to_tensors(windows, self._device)).cpu().numpy()[: len(mine)]
            owners = windows.tasks[: len(mine)]
            sums += np.bincount(owners, weights=losses, minlength=tasks)
            counts += np.bincount(owners, minlength=tasks)
        shares = self._ranks.gather((sums, counts))
        sums = np.sum([share[0] for share in shares], axis=0)
        counts = np.sum([share[1] for share in shares], axis=0)
        errors = [
            float(total / count) if count else None
            for total, count in zip(sums, counts.tolist(), strict=True)
        ]
        return HeldOutErrors(step=step, errors=errors, episodes=len(self._episodes))
