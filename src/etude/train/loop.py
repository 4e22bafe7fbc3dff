"""The training loop: draw, step, log, check, save, until the last step or a signal."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass

from etude.checkpoints.commit import CheckpointStore
from etude.checkpoints.save_config import SaveConfig
from etude.compute.strategy_agreement import highest
from etude.core.errors import EtudeError, Interrupted, TrainingError
from etude.core.kill_points import kill_point
from etude.core.protocols import Dataset, Progress
from etude.core.ranks import together
from etude.core.types import CheckpointRef, EpisodeSpan
from etude.events.recorder import Recorder
from etude.events.schema import CheckpointCommitted, Event, Warned
from etude.train.held_out import HeldOutCheck
from etude.train.loader import LoadedBatch, Loader
from etude.train.restore import load_snapshot
from etude.train.snapshot import Saves
from etude.train.steering import Steering
from etude.train.step import Optimisation, learning_rate
from etude.train.step_log import StepLog
from etude.train.stop import StopRequest
from etude.train.train_config import TrainConfig


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingParts:
    """What a training run is made of on one rank."""

    dataset: Dataset
    held_out: Sequence[EpisodeSpan]
    loader: Loader
    optimisation: Optimisation
    """It knows the ranks; the loader must have been given the same."""
    store: CheckpointStore
    recorder: Recorder
    """Of this rank; only rank 0 says what all ranks know."""
    progress: Progress
    steering: Steering | None = None


class TrainingLoop:
    """Runs steps; every row of events covers the same steps however often it was resumed.

    Every rank runs it, with the same settings, and all of them end alike: at the last step, after
    the step in which a signal has reached one of them, or with the error of one of them.
    """

    def __init__(
        self, parts: TrainingParts, *, train: TrainConfig, save: SaveConfig, steps: int
    ) -> None:
        self._parts = parts
        self._train = train
        self._save = save
        self._steps = steps
        self._step = 0
        self._ranks = parts.optimisation.ranks
        self._stopped_by: signal.Signals | None = None
        self._ref: CheckpointRef | None = None
        self._held_out = HeldOutCheck(
            parts.dataset, parts.held_out, device=parts.loader.device, ranks=self._ranks
        )
        self._log = StepLog(
            parts.recorder,
            tasks=len(parts.dataset.spec.tasks),
            on_nonfinite=train.on_nonfinite,
            ranks=self._ranks,
        )
        self._saves = Saves(
            parts.store, parts.optimisation, parts.loader.sampler, save, steering=parts.steering
        )

    def resume(self, ref: CheckpointRef, *, accept_data_change: bool = False) -> None:
        """Continue behind a checkpoint, which must be the same on all ranks.

        Raises:
            StateError: It belongs to another run.
        """
        parts = self._parts
        restored = load_snapshot(
            parts.store,
            ref,
            parts.optimisation,
            parts.loader.sampler,
            accept_data_change=accept_data_change,
        )
        self._step, self._ref = restored.step, ref
        for message in restored.warnings:
            self._tell(Warned(message=message))
        if parts.steering:
            parts.steering.resume(parts.store.path(ref), self._step)

    def run(self, stop: StopRequest) -> CheckpointRef:
        """Train to the last step and return its checkpoint.

        Raises:
            Interrupted: A signal came; the last finished step is saved.
            TrainingError: A loss was not finite.
            StorageError: A checkpoint could not be written.
        """
        try:
            while self._step < self._steps:
                self._next_step(stop)
        except TrainingError:
            # All ranks are here; what was saved before the failure is worth keeping.
            self._settle()
            raise
        if self._ref is None:
            self._saves.begin(self._step, final=True)
        self._settle()
        self._saves.close()
        assert self._ref is not None
        return self._ref

    def _next_step(self, stop: StopRequest) -> None:
        optimisation, steering = self._parts.optimisation, self._parts.steering
        batch = self._draw(stop)
        done = optimisation.step(batch.tensors, self._step, rows=len(batch.rows), of=batch.of)
        self._log.add(batch, done)
        self._step += 1
        kill_point("train.step_done")
        for message in optimisation.strategy.news():
            self._tell(Warned(message=message))
        last = self._step == self._steps
        stopping = self._stopping(stop)
        due = last or stopping or self._due(self._save.every)
        # A save closes the row of events, so that a resumed run writes the same rows.
        if due or self._due(self._train.log_every):
            self._flush()
        if last or self._due(self._train.held_out_every):
            self._check_held_out()
        if steering:
            steering.after_step(self._step, optimisation.average)
        if due:
            self._begin_save(final=last, wait=last or stopping)
        if stopping and not last:
            self._saves.close()
            raise self._interrupted()

    def _draw(self, stop: StopRequest) -> LoadedBatch:
        """Return the next batch, once it is known that every rank has its own.

        The same exchange tells the ranks who was asked to stop and whether all have written their
        part of a checkpoint.
        """
        batch: LoadedBatch | None = None
        failure: EtudeError | None = None
        try:
            batch = self._parts.loader.next_batch()
        except EtudeError as error:
            failure = error
        asked, failed, busy = highest(
            self._ranks,
            [stop.signal or 0, int(failure is not None), int(self._saves.busy)],
        )
        if failed:
            together(self._ranks, lambda: _fail(failure))
        if asked and self._ranks.size > 1:
            self._stopped_by = signal.Signals(asked)
        if self._saves.pending and not busy:
            self._settle()
        assert batch is not None
        return batch

    def _stopping(self, stop: StopRequest) -> bool:
        """Return what all ranks agree on; a rank that is alone need not ask."""
        if self._ranks.size == 1:
            self._stopped_by = stop.signal
        return self._stopped_by is not None

    def _due(self, every: int) -> bool:
        return every > 0 and self._step % every == 0

    def _flush(self) -> None:
        lr = learning_rate(self._step - 1, steps=self._steps, config=self._train)
        loss = self._log.flush(self._step, lr=lr)
        self._parts.progress("train", self._step, self._steps, f"loss {loss:.4f}")

    def _check_held_out(self) -> None:
        if self._parts.held_out and self._train.held_out_every:
            average = self._parts.optimisation.average
            self._tell(self._held_out.measure(average, self._step))

    def _begin_save(self, *, final: bool, wait: bool) -> None:
        self._settle()
        self._saves.begin(self._step, final=final)
        if wait or self._save.mode == "sync":
            self._settle()

    def _settle(self) -> None:
        """Commit the save that has begun, if there is one, however long it takes to write."""
        if not self._saves.pending:
            return
        self._ref = ref = self._saves.commit()
        self._tell(CheckpointCommitted(step=ref.step, folder=ref.folder, weights=ref.weights))

    def _tell(self, event: Event) -> None:
        if self._ranks.rank == 0:
            self._parts.recorder.emit(event)

    def _interrupted(self) -> Interrupted:
        name = self._stopped_by.name if self._stopped_by else "a signal"
        return Interrupted(
            f"stopped by {name} after step {self._step} of {self._steps}; the step is saved",
            hint="Run the same command with --resume to continue.",
        )


def _fail(failure: EtudeError | None) -> None:
    if failure is not None:
        raise failure
