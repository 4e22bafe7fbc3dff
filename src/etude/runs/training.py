"""Training a policy on a dataset, in a run folder."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etude.checkpoints.commit import CheckpointStore
from etude.core.errors import StateError
from etude.core.protocols import Dataset, Progress
from etude.core.types import CheckpointRef
from etude.curriculum.plan import uniform_plan
from etude.curriculum.sampler import CurriculumSampler
from etude.datasets.split import Split, hold_out
from etude.events.recorder import Recorder
from etude.events.schema import AttemptStarted, PhaseFinished, Warned
from etude.runs.build import dataset_folder, module_builder, open_dataset
from etude.runs.demo_provenance import PROVENANCE_FILE
from etude.runs.run_config import RunConfig
from etude.runs.run_files import begin, describe_data, require_usable
from etude.store.atomic import read_json
from etude.store.layout import RunFolder
from etude.train.loader import Loader
from etude.train.loop import TrainingLoop, TrainingParts
from etude.train.reproducible import start_from
from etude.train.step import Optimisation
from etude.train.stop import stop_on_signals


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOutcome:
    """What a finished training leaves behind."""

    step: int
    folder: str
    """The run's folder."""
    checkpoint: str
    """Relative to the run's folder."""
    weights: str
    seconds: float
    """What this call took."""


def train(
    config: RunConfig, *, command: list[str], resume: bool, progress: Progress
) -> TrainOutcome:
    """Train from the beginning, or with `resume` from the newest checkpoint if there is one.

    Raises:
        StateError: The output folder cannot be used as asked; nothing has been touched.
        DataError: The dataset is missing or faulty.
        Interrupted: A signal came; what was done is saved.
        TrainingError: A loss was not finite.
        StorageError: Something could not be written; earlier checkpoints are intact.
    """
    folder = RunFolder(Path(config.output_dir))
    with folder.claim():
        require_usable(folder, config, resume=resume)
        return train_claimed(config, folder, command=command, progress=progress)


def train_claimed(
    config: RunConfig,
    folder: RunFolder,
    *,
    command: list[str],
    progress: Progress,
    recorded_s: float | None = None,
) -> TrainOutcome:
    """Do what `train` does in a folder that this process has claimed and found usable.

    Args:
        recorded_s: Seconds that the demonstrations have just taken, for the run's record.
    """
    begun = time.perf_counter()
    dataset = open_dataset(config)
    split = hold_out(
        dataset.episodes, per_task=config.dataset.config.hold_out_episodes, seed=config.seed
    )
    start_from(config.seed, threads=config.train.threads)
    module, warnings = module_builder(config)(
        config.policy.config, dataset=dataset, episodes=split.train
    )
    store = CheckpointStore(folder.checkpoints, keep_last=config.save.keep_last)
    done = _last_checkpoint(config, folder, store)
    begin(folder, config, dataset, command=command)
    describe_data(folder, dataset, split, recorded=_recorded(dataset_folder(config)))
    store.sweep()
    recorder = Recorder(folder.events)
    try:
        started = AttemptStarted(command=" ".join(command), step=done.step if done else 0)
        recorder.emit(started)
        if recorded_s is not None:
            recorder.emit(PhaseFinished(phase="demos", seconds=round(recorded_s, 3)))
        for message in (*_dataset_warnings(dataset), *warnings):
            recorder.emit(Warned(message=message))
        parts = TrainingParts(
            dataset=dataset,
            held_out=split.held_out,
            loader=Loader(dataset, _sampler(config, dataset, split), module.window),
            optimisation=Optimisation(module, config.train, steps=config.steps),
            store=store,
            recorder=recorder,
            progress=progress,
        )
        with recorder.phase("train"):
            ref = _train(config, parts, done)
    finally:
        recorder.close()
    return TrainOutcome(
        step=ref.step,
        folder=str(folder.root),
        checkpoint=ref.folder,
        weights=ref.weights,
        seconds=round(time.perf_counter() - begun, 2),
    )


def _last_checkpoint(
    config: RunConfig, folder: RunFolder, store: CheckpointStore
) -> CheckpointRef | None:
    done = store.latest()
    if done is not None and done.step > config.steps:
        raise StateError(
            f"steps is {config.steps}, below the {done.step} that {folder.root} has trained",
            hint="Raise --steps, or choose another --output_dir.",
        )
    return done


def _sampler(config: RunConfig, dataset: Dataset, split: Split) -> CurriculumSampler:
    plan = uniform_plan([task.id for task in dataset.spec.tasks])
    return CurriculumSampler(split.train, plan, batch_size=config.batch_size, seed=config.seed)


def _train(config: RunConfig, parts: TrainingParts, done: CheckpointRef | None) -> CheckpointRef:
    loop = TrainingLoop(parts, train=config.train, save=config.save, steps=config.steps)
    if done is not None:
        loop.resume(done)
    with stop_on_signals() as stop:
        return loop.run(stop)


def _dataset_warnings(dataset: Dataset) -> Sequence[str]:
    warnings: Sequence[str] = getattr(dataset, "warnings", ())
    skipped: Sequence[Any] = getattr(dataset, "skipped", ())
    left_out = [f"{len(skipped)} episodes were left out: {skipped[0].reason}"] if skipped else []
    return [*warnings, *left_out]


def _recorded(folder: Path) -> Mapping[str, Any] | None:
    path = folder / PROVENANCE_FILE
    if not path.is_file():
        return None
    found = read_json(path)
    return {**found["settings"], "versions": found["versions"]}
