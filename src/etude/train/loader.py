"""Batches for training: which rows comes from the sampler, what they hold from the dataset."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64

from etude.compute.batch import TensorBatch, to_tensors
from etude.core.protocols import Dataset, Ranks
from etude.core.ranks import Solo
from etude.core.types import WindowSpec
from etude.curriculum.sampler import CurriculumSampler


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadedBatch:
    """One rank's share of a global batch."""

    rows: Int64[np.ndarray, " share"]
    tasks: Int64[np.ndarray, " share"]
    """Place of each row's task in `DataSpec.tasks`."""
    of: int
    """Rows of the global batch."""
    tensors: TensorBatch
    """The windows of `rows`, then copies that fill up to as many as the other ranks have."""


class Loader:
    """Draws the next batch, gathers the windows of one rank, and hands them over as tensors."""

    def __init__(
        self,
        dataset: Dataset,
        sampler: CurriculumSampler,
        window: WindowSpec,
        *,
        device: torch.device | None = None,
        ranks: Ranks | None = None,
        accumulate: int = 1,
    ) -> None:
        """Load from `dataset` what `sampler` draws.

        Args:
            dataset: The same on every rank.
            sampler: The same on every rank.
            window: What a window holds.
            device: Where tensors shall lie.
            ranks: Who shares each batch; None for this process alone.
            accumulate: Equal parts into which a share must fall.
        """
        self._dataset = dataset
        self._window = window
        self.device = device
        self._ranks = Solo() if ranks is None else ranks
        self._accumulate = accumulate
        self.sampler = sampler

    def next_batch(self) -> LoadedBatch:
        """Return this rank's share of the batch of the step that the sampler has come to."""
        rows = self.sampler.next_rows()
        share = self.sampler.slots(rows, rank=self._ranks.rank, size=self._ranks.size)
        parts = self._ranks.size * self._accumulate
        most = -(-len(rows) // parts) * self._accumulate
        # Ranks whose numbers of rows differ would wait for each other; no copy counts.
        filled = np.concatenate([share, np.repeat(rows[:1], most - len(share))])
        windows = self._dataset.windows(filled, self._window)
        return LoadedBatch(
            rows=share,
            tasks=windows.tasks[: len(share)],
            of=len(rows),
            tensors=to_tensors(windows, self.device),
        )
