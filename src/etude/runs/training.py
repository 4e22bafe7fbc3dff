"""Training a policy on a dataset, in a run folder, on one rank or several."""

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etude.checkpoints.commit import CheckpointStore
from etude.compute.world import join
from etude.core.errors import StateError
from etude.core.protocols import Dataset, Progress, Ranks
from etude.core.ranks import together
from etude.core.types import CheckpointRef
from etude.datasets.split import Split, hold_out
from etude.events.recorder import Recorder
from etude.events.schema import AttemptStarted, PhaseFinished, Warned
from etude.runs.adaptive import Adaptive
from etude.runs.adaptive_build import open_adaptive, open_sampler, require_start
from etude.runs.adaptive_config import StartConfig
from etude.runs.build import dataset_folder, module_builder, open_dataset
from etude.runs.demo_provenance import PROVENANCE_FILE
from etude.runs.guidance import read_guidance
from etude.runs.initial_weights import InitialWeights, initial_weights
from etude.runs.loss_watch import LossWatch
from etude.runs.run_config import RunConfig
from etude.runs.run_files import begin, claimed, describe_data
from etude.runs.session import Session
from etude.runs.window_scans import weigh_windows
from etude.store.atomic import read_json
from etude.store.layout import RunFolder
from etude.train.loader import Loader
from etude.train.loop import TrainingLoop, TrainingParts
from etude.train.reproducible import start_from
from etude.train.restore import newest
from etude.train.step import Optimisation
from etude.train.stop import stop_on_signals


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOutcome:
    """What a finished training leaves behind."""

    rank: int
    """Which of the processes tells it; all tell the same."""
    step: int
    folder: str
    """The run's folder."""
    checkpoint: str
    """Relative to the run's folder."""
    weights: str
    seconds: float
    """What this call took."""

    def to_json(self) -> dict[str, Any]:
        """Return what `etude train --json` prints."""
        names = ("step", "folder", "checkpoint", "weights", "seconds")
        return {name: getattr(self, name) for name in names}


def train(
    config: RunConfig,
    *,
    command: list[str],
    resume: bool,
    progress: Progress,
    start: StartConfig | None = None,
) -> TrainOutcome:
    """Train from the beginning, or with `resume` from the newest checkpoint if there is one.

    Every process that a launcher started calls this, and all of them share the work.

    Args:
        config: Of the run.
        command: What was typed, for the run's record.
        resume: Whether the folder may hold a run, which goes on.
        progress: Told how far it is.
        start: Which task states it begins with; those beside the weights if left out.

    Raises:
        StateError: The output folder cannot be used as asked; nothing has been touched.
        DataError: The dataset is missing or faulty.
        Interrupted: A signal came; what was done is saved.
        TrainingError: A loss was not finite.
        StorageError: Something could not be written; earlier checkpoints are intact.
    """
    begun = time.perf_counter()
    start = start or StartConfig()
    require_start(config, start)
    folder = RunFolder(Path(config.output_dir))
    with join(config.world) as ranks, claimed(folder, config, ranks, resume=resume):
        ref = train_claimed(
            config,
            folder,
            ranks,
            command=command,
            progress=progress,
            start=start,
        )
        return TrainOutcome(
            rank=ranks.rank,
            step=ref.step,
            folder=str(folder.root),
            checkpoint=ref.folder,
            weights=ref.weights,
            seconds=round(time.perf_counter() - begun, 2),
        )


def train_claimed(
    config: RunConfig,
    folder: RunFolder,
    ranks: Ranks,
    *,
    command: list[str],
    progress: Progress,
    start: StartConfig,
    recorded_s: float | None = None,
) -> CheckpointRef:
    """Do what `train` does in a folder that has been claimed, and return the last checkpoint.

    Args:
        config: Of the run.
        folder: Of the run.
        ranks: Who trains together.
        command: What was typed, for the run's record.
        progress: Told how far it is, by rank 0.
        start: Which task states it begins with.
        recorded_s: Seconds that the demonstrations have just taken, for the run's record.
    """
    dataset = open_dataset(config)
    split = hold_out(
        dataset.episodes, per_task=config.dataset.config.hold_out_episodes, seed=config.seed
    )
    store = CheckpointStore(folder.checkpoints, keep_last=config.save.keep_last)
    done = _last_checkpoint(config, folder, newest(store, ranks))
    start_from(config.seed, threads=config.train.threads)
    module, warnings = module_builder(config)(
        config.policy.config, dataset=dataset, episodes=split.train
    )
    initial = initial_weights("" if done else config.init, module)

    def prepare() -> None:
        if ranks.rank == 0:
            _begin(config, folder, dataset, split, start, command=command)
            store.sweep()

    # Before anything is written, since it may be refused.
    guidance = read_guidance(config, dataset, split.train, ranks)
    together(ranks, prepare)
    losses = LossWatch([task.id for task in dataset.spec.tasks], config.drift)
    with _open_recorder(folder, ranks, losses) as recorder:
        if ranks.rank == 0:
            doubts = (*_dataset_warnings(dataset), *warnings, *guidance.doubts)
            _introduce(recorder, command, done, recorded_s, doubts)
        session = Session(
            config=config,
            folder=folder,
            ranks=ranks,
            dataset=dataset,
            split=split,
            module=module,
            sampler=open_sampler(config, dataset, split, guidance),
            recorder=recorder,
            guidance=guidance,
            losses=losses,
            start=start,
        )
        return _train(session, store, done, initial, progress=progress)


def _train(
    session: Session,
    store: CheckpointStore,
    done: CheckpointRef | None,
    initial: InitialWeights,
    *,
    progress: Progress,
) -> CheckpointRef:
    config, first = session.config, session.ranks.rank == 0
    with open_adaptive(session) as adaptive:
        parts = _parts(session, store, adaptive, progress=progress if first else _silent)
        loop = TrainingLoop(parts, train=config.train, save=config.save, steps=config.steps)
        if done is not None:
            loop.resume(done, accept_data_change=session.start.accept_data_change)
        elif adaptive is not None:
            adaptive.start(initial.key, beside=initial.beside)
        weighed = weigh_windows(session.sampler, session.guidance.windows)
        if weighed is not None and first:
            session.recorder.emit(weighed)
        if adaptive is not None:
            adaptive.begin(parts.optimisation.average, step=done.step if done else 0)
        phase = session.recorder.phase("train") if first else nullcontext()
        with phase, stop_on_signals() as stop:
            return loop.run(stop)


def _parts(
    session: Session, store: CheckpointStore, adaptive: Adaptive | None, *, progress: Progress
) -> TrainingParts:
    config, ranks = session.config, session.ranks
    return TrainingParts(
        dataset=session.dataset,
        held_out=session.split.held_out,
        loader=Loader(
            session.dataset,
            session.sampler,
            session.module.window,
            ranks=ranks,
            accumulate=config.parallel.accumulate,
        ),
        optimisation=Optimisation(
            session.module,
            config.train,
            steps=config.steps,
            ranks=ranks,
            parallel=config.parallel,
        ),
        store=store,
        recorder=session.recorder,
        progress=progress,
        steering=adaptive,
    )


def _last_checkpoint(
    config: RunConfig, folder: RunFolder, done: CheckpointRef | None
) -> CheckpointRef | None:
    if done is not None and done.step > config.steps:
        raise StateError(
            f"steps is {config.steps}, below the {done.step} that {folder.root} has trained",
            hint="Raise --steps, or choose another --output_dir.",
        )
    return done


def _begin(
    config: RunConfig,
    folder: RunFolder,
    dataset: Dataset,
    split: Split,
    start: StartConfig,
    *,
    command: list[str],
) -> None:
    begin(folder, config, dataset, command=command)
    describe_data(
        folder,
        dataset,
        split,
        recorded=_recorded(dataset_folder(config)),
        accept_change=start.accept_data_change,
    )


@contextmanager
def _open_recorder(
    folder: RunFolder, ranks: Ranks, losses: LossWatch
) -> Generator[Recorder, None, None]:
    recorder = Recorder(folder.events, rank=ranks.rank, sinks=[losses])
    try:
        yield recorder
    finally:
        recorder.close()


def _introduce(
    recorder: Recorder,
    command: Sequence[str],
    done: CheckpointRef | None,
    recorded_s: float | None,
    warnings: Sequence[str],
) -> None:
    recorder.emit(AttemptStarted(command=" ".join(command), step=done.step if done else 0))
    if recorded_s is not None:
        recorder.emit(PhaseFinished(phase="demos", seconds=round(recorded_s, 3)))
    for message in warnings:
        recorder.emit(Warned(message=message))


def _dataset_warnings(dataset: Dataset) -> Sequence[str]:
    warnings: Sequence[str] = getattr(dataset, "warnings", ())
    skipped: Sequence[Any] = getattr(dataset, "skipped", ())
    left_out = [f"{len(skipped)} episodes were left out: {skipped[0].reason}"] if skipped else []
    return [*warnings, *left_out]


def _recorded(folder: Path) -> Mapping[str, Any] | None:
    path = folder / PROVENANCE_FILE
    found = read_json(path) if path.is_file() else {}
    if "settings" not in found:
        return None
    return {**found["settings"], "versions": found["versions"]}


def _silent(phase: str, done: int, total: int, note: str = "", /) -> None:
    del phase, done, total, note
