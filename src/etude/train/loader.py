"""Batches for training: which rows comes from the sampler, what they hold from the dataset."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int64

from etude.compute.batch import TensorBatch, to_tensors
from etude.core.protocols import Dataset
from etude.core.types import WindowSpec
from etude.curriculum.sampler import CurriculumSampler


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadedBatch:
    """One rank's share of a global batch."""

    rows: Int64[np.ndarray, " share"]
    tasks: Int64[np.ndarray, " share"]
    """Place of each row's task in `DataSpec.tasks`."""
    tensors: TensorBatch


class Loader:
    """Draws the next batch, gathers its windows, and hands them over as tensors."""

    def __init__(
        self,
        dataset: Dataset,
        sampler: CurriculumSampler,
        window: WindowSpec,
        *,
        device: torch.device | None = None,
    ) -> None:
        self._dataset = dataset
        self._window = window
        self._device = device
        self.sampler = sampler

    def next_batch(self) -> LoadedBatch:
        """Return the batch of the step that the sampler has come to."""
        rows = self.sampler.next_rows()
        windows = self._dataset.windows(rows, self._window)
        return LoadedBatch(
            rows=rows, tasks=windows.tasks, tensors=to_tensors(windows, self._device)
        )
