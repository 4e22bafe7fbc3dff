"""What happened in the last steps, kept on the device until somebody looks."""

import math

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from etude.core.errors import TrainingError
from etude.events.recorder import Recorder
from etude.events.schema import StepsFinished, StepSkipped, TaskLosses
from etude.train.loader import LoadedBatch
from etude.train.step import StepOutcome

MOST_SKIPPED_IN_A_ROW = 3


class StepLog:
    """Collects outcomes and turns them into events every so many steps."""

    def __init__(self, recorder: Recorder, *, tasks: int, on_nonfinite: str) -> None:
        self._recorder = recorder
        self._task_count = tasks
        self._on_nonfinite = on_nonfinite
        self._skipped_in_a_row = 0
        self._losses: list[Float32[Tensor, " batch"]] = []
        self._norms: list[Tensor] = []
        self._rows: list[Int64[np.ndarray, " batch"]] = []
        self._tasks: list[Int64[np.ndarray, " batch"]] = []

    def add(self, batch: LoadedBatch, outcome: StepOutcome) -> None:
        """Remember one step."""
        self._losses.append(outcome.losses)
        self._norms.append(outcome.grad_norm)
        self._rows.append(batch.rows)
        self._tasks.append(batch.tasks)

    def flush(self, step: int, *, lr: float) -> float:
        """Write what was remembered as events, and return the mean loss.

        Args:
            step: Steps done so far.
            lr: Of the last step.

        Raises:
            TrainingError: A loss was not finite and the run must stop, or too many in a row were.
        """
        steps = len(self._losses)
        if not steps:
            return math.nan
        losses = torch.stack(self._losses).cpu().numpy()
        norms = torch.stack(self._norms).cpu().numpy()
        usable = np.isfinite(losses).all(axis=1) & np.isfinite(norms)
        self._judge(losses, usable, first=step - steps + 1)
        loss = float(losses[usable].mean(dtype=np.float64)) if usable.any() else math.nan
        norm = float(norms[usable].mean(dtype=np.float64)) if usable.any() else math.nan
        self._recorder.emit(StepsFinished(step=step, steps=steps, loss=loss, grad_norm=norm, lr=lr))
        self._recorder.emit(self._by_task(losses[usable], step, usable))
        for kept in (self._losses, self._norms, self._rows, self._tasks):
            kept.clear()
        return loss

    def _judge(
        self, losses: Float32[np.ndarray, "steps batch"], usable: np.ndarray, *, first: int
    ) -> None:
        for place, good in enumerate(usable.tolist()):
            if good:
                self._skipped_in_a_row = 0
                continue
            bad = self._rows[place][~np.isfinite(losses[place])].tolist()
            self._recorder.emit(StepSkipped(step=first + place, rows=bad))
            self._skipped_in_a_row += 1
            where = f"rows {', '.join(map(str, bad[:8]))}" if bad else "the gradient"
            if self._on_nonfinite == "stop":
                raise TrainingError(
                    f"the loss of step {first + place} is not finite, in {where}; "
                    f"the weights are those of step {first + place - 1}",
                    hint="Check the data, lower --train.lr, or set --train.on_nonfinite skip.",
                )
            if self._skipped_in_a_row > MOST_SKIPPED_IN_A_ROW:
                raise TrainingError(
                    f"{self._skipped_in_a_row} steps in a row were not finite, the last being "
                    f"{first + place}, in {where}",
                    hint="Lower --train.lr, or resume from an earlier checkpoint.",
                )

    def _by_task(
        self, losses: Float32[np.ndarray, "steps batch"], step: int, usable: np.ndarray
    ) -> TaskLosses:
        kept = [tasks for tasks, good in zip(self._tasks, usable.tolist(), strict=True) if good]
        owners = np.concatenate(kept) if kept else np.zeros(0, dtype=np.int64)
        counts = np.bincount(owners, minlength=self._task_count)
        sums = np.bincount(owners, weights=losses.reshape(-1), minlength=self._task_count)
        means = [
            float(total / count) if count else None
            for total, count in zip(sums, counts.tolist(), strict=True)
        ]
        return TaskLosses(step=step, losses=means, samples=counts.tolist())
