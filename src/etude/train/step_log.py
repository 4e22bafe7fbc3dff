"""What happened in the last steps, kept on the device until somebody looks."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor

from etude.core.errors import TrainingError
from etude.core.protocols import Ranks
from etude.core.ranks import Solo
from etude.events.recorder import Recorder
from etude.events.schema import Event, StepsFinished, StepSkipped, TaskLosses
from etude.train.loader import LoadedBatch
from etude.train.step import StepOutcome

MOST_SKIPPED_IN_A_ROW = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Steps:
    """Some steps of one rank, or of all, in the order of the global batches."""

    losses: Float32[np.ndarray, "steps batch"]
    rows: Int64[np.ndarray, "steps batch"]
    tasks: Int64[np.ndarray, "steps batch"]


class StepLog:
    """Collects outcomes and turns those of all ranks into events every so many steps."""

    def __init__(
        self, recorder: Recorder, *, tasks: int, on_nonfinite: str, ranks: Ranks | None = None
    ) -> None:
        self._recorder = recorder
        self._task_count = tasks
        self._on_nonfinite = on_nonfinite
        self._ranks = Solo() if ranks is None else ranks
        self._skipped_in_a_row = 0
        self._losses: list[Float32[Tensor, " share"]] = []
        self._norms: list[Tensor] = []
        self._rows: list[Int64[np.ndarray, " share"]] = []
        self._tasks: list[Int64[np.ndarray, " share"]] = []

    def add(self, batch: LoadedBatch, outcome: StepOutcome) -> None:
        """Remember one step."""
        self._losses.append(outcome.losses)
        self._norms.append(outcome.grad_norm)
        self._rows.append(batch.rows)
        self._tasks.append(batch.tasks)

    def flush(self, step: int, *, lr: float) -> float:
        """Write what all ranks remember as events of rank 0, and return the mean loss.

        Args:
            step: Steps done so far.
            lr: Of the last step.

        Raises:
            TrainingError: A loss was not finite and the run must stop, or too many in a row were;
                on all ranks, whichever had it.
        """
        steps = len(self._losses)
        if not steps:
            return math.nan
        norms = torch.stack(self._norms).cpu().numpy()
        done = self._of_all_ranks()
        usable = np.isfinite(done.losses).all(axis=1) & np.isfinite(norms)
        self._judge(done, usable, first=step - steps + 1)
        loss = float(done.losses[usable].mean(dtype=np.float64)) if usable.any() else math.nan
        norm = float(norms[usable].mean(dtype=np.float64)) if usable.any() else math.nan
        self._emit(StepsFinished(step=step, steps=steps, loss=loss, grad_norm=norm, lr=lr))
        self._emit(self._by_task(done, usable, step))
        for kept in (self._losses, self._norms, self._rows, self._tasks):
            kept.clear()
        return loss

    def _of_all_ranks(self) -> _Steps:
        own = _Steps(
            losses=torch.stack(self._losses).float().cpu().numpy(),
            rows=np.stack(self._rows),
            tasks=np.stack(self._tasks),
        )
        if self._ranks.size == 1:
            return own
        shares = self._ranks.gather(own)
        return _Steps(
            losses=_dealt_back([share.losses for share in shares]),
            rows=_dealt_back([share.rows for share in shares]),
            tasks=_dealt_back([share.tasks for share in shares]),
        )

    def _judge(self, done: _Steps, usable: Bool[np.ndarray, " steps"], *, first: int) -> None:
        for place, good in enumerate(usable.tolist()):
            if good:
                self._skipped_in_a_row = 0
                continue
            bad = done.rows[place][~np.isfinite(done.losses[place])].tolist()
            self._emit(StepSkipped(step=first + place, rows=bad))
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

    def _by_task(self, done: _Steps, usable: Bool[np.ndarray, " steps"], step: int) -> TaskLosses:
        owners, losses = done.tasks[usable].reshape(-1), done.losses[usable].reshape(-1)
        counts = np.bincount(owners, minlength=self._task_count)
        sums = np.bincount(owners, weights=losses, minlength=self._task_count)
        means = [
            float(total / count) if count else None
            for total, count in zip(sums, counts.tolist(), strict=True)
        ]
        return TaskLosses(step=step, losses=means, samples=counts.tolist())

    def _emit(self, event: Event) -> None:
        """One rank speaks for all, since all know the same."""
        if self._ranks.rank == 0:
            self._recorder.emit(event)


def _dealt_back(shares: list[np.ndarray]) -> np.ndarray:
    """Return global batches in the order in which they were dealt out, slot by slot."""
    steps = len(shares[0])
    whole = np.empty((steps, sum(share.shape[1] for share in shares)), shares[0].dtype)
    for rank, share in enumerate(shares):
        whole[:, rank :: len(shares)] = share
    return whole
