"""The training loop: draw, step, log, check, save, until the last step or a signal."""

from collections.abc import Sequence
from dataclasses import dataclass

from etude.checkpoints.commit import CheckpointStore
from etude.checkpoints.save_config import SaveConfig
from etude.core.errors import Interrupted
from etude.core.kill_points import kill_point
from etude.core.protocols import Dataset, Progress
from etude.core.types import CheckpointRef, EpisodeSpan
from etude.events.recorder import Recorder
from etude.events.schema import CheckpointCommitted
from etude.train.held_out import HeldOutCheck
from etude.train.loader import Loader
from etude.train.snapshot import load_snapshot, save_snapshot
from etude.train.step import Optimisation, learning_rate
from etude.train.step_log import StepLog
from etude.train.stop import StopRequest
from etude.train.train_config import TrainConfig


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingParts:
    """What a training run is made of."""

    dataset: Dataset
    held_out: Sequence[EpisodeSpan]
    loader: Loader
    optimisation: Optimisation
    store: CheckpointStore
    recorder: Recorder
    progress: Progress


class TrainingLoop:
    """Runs steps; every row of events covers the same steps however often it was resumed."""

    def __init__(
        self, parts: TrainingParts, *, train: TrainConfig, save: SaveConfig, steps: int
    ) -> None:
        self._parts = parts
        self._train = train
        self._save = save
        self._steps = steps
        self._step = 0
        self._held_out = HeldOutCheck(parts.dataset, parts.held_out)
        self._log = StepLog(
            parts.recorder,
            tasks=len(parts.dataset.spec.tasks),
            on_nonfinite=train.on_nonfinite,
        )

    def resume(self, ref: CheckpointRef) -> None:
        """Continue behind a checkpoint.

        Raises:
            StateError: It belongs to another run.
        """
        parts = self._parts
        self._step = load_snapshot(parts.store, ref, parts.optimisation, parts.loader.sampler)

    def run(self, stop: StopRequest) -> CheckpointRef:
        """Train to the last step and return its checkpoint.

        Raises:
            Interrupted: A signal came; the last finished step is saved.
            TrainingError: A loss was not finite.
            StorageError: A checkpoint could not be written.
        """
        parts = self._parts
        ref = parts.store.latest() if self._step else None
        while self._step < self._steps:
            batch = parts.loader.next_batch()
            self._log.add(batch, parts.optimisation.step(batch.tensors, self._step))
            self._step += 1
            kill_point("train.step_done")
            last = self._step == self._steps
            due = last or self._step % self._save.every == 0
            # A save closes the row of events, so that a resumed run writes the same rows.
            if due or stop.asked or self._step % self._train.log_every == 0:
                self._flush()
            if last or self._due(self._train.held_out_every):
                self._check_held_out()
            if due or stop.asked:
                ref = self._commit()
            if stop.asked and not last:
                raise self._interrupted(stop)
        if ref is None:
            ref = self._commit()
        return ref

    def _due(self, every: int) -> bool:
        return every > 0 and self._step % every == 0

    def _flush(self) -> None:
        lr = learning_rate(self._step - 1, steps=self._steps, config=self._train)
        loss = self._log.flush(self._step, lr=lr)
        self._parts.progress("train", self._step, self._steps, f"loss {loss:.4f}")

    def _check_held_out(self) -> None:
        if self._parts.held_out and self._train.held_out_every:
            average = self._parts.optimisation.average
            self._parts.recorder.emit(self._held_out.measure(average, self._step))

    def _commit(self) -> CheckpointRef:
        parts = self._parts
        ref = save_snapshot(parts.store, parts.optimisation, parts.loader.sampler, step=self._step)
        parts.recorder.emit(
            CheckpointCommitted(step=ref.step, folder=ref.folder, weights=ref.weights)
        )
        return ref

    def _interrupted(self, stop: StopRequest) -> Interrupted:
        name = stop.signal.name if stop.signal else "a signal"
        return Interrupted(
            f"stopped by {name} after step {self._step} of {self._steps}; the step is saved",
            hint="Run the same command with --resume to continue.",
        )
