"""Small training runs on several real processes, and what their ranks have seen."""

import json
import os
import resource
import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from etude.checkpoints.commit import CheckpointStore
from etude.checkpoints.save_config import SaveConfig
from etude.compute.strategy_config import ParallelConfig
from etude.compute.world import World, join
from etude.compute.world_config import WorldConfig
from etude.core.errors import DataError, EtudeError, Interrupted
from etude.core.ranks import Solo
from etude.store.journal import Journal, read_journal
from etude.train.loader import LoadedBatch
from etude.train.loop import TrainingLoop, TrainingParts
from etude.train.restore import load_snapshot
from etude.train.snapshot import Saves
from etude.train.stop import StopRequest, stop_on_signals
from etude.train.train_config import TrainConfig
from rank_processes import RankRuns, ranks_of, serve
from training_run import CONFIG, continue_run


def rank_runs() -> AbstractContextManager[RankRuns]:
    """Start the process from which ranks that `train_here` are forked."""
    return ranks_of(Path(__file__))


def train_here(
    folder: Path,
    *,
    train: Mapping[str, Any] | None = None,
    parallel: Mapping[str, Any] | None = None,
    poisoned_row: int | None = None,
    signal_at: tuple[int, int, int] = (-1, 0, 0),
    torn_at: tuple[int, int] = (-1, 0),
    stuck_at: tuple[int, int] = (-1, 0),
    full_from: tuple[int, int] = (-1, 0),
    start_from: str = "",
    **options: Any,
) -> None:
    """Be one rank of a run, and leave in `folder` what it has seen.

    Args:
        folder: Of the run.
        train: Settings beside those of `training_run`.
        parallel: Settings of the strategy.
        poisoned_row: Whose state is NaN.
        signal_at: Rank, step and number of a signal that comes while its batch is drawn.
        torn_at: Rank and step whose batch cannot be read.
        stuck_at: Rank and step whose batch never comes.
        full_from: Rank and step from which on files cannot grow over a few bytes.
        start_from: Folder of a finished run whose state is loaded instead of the run's own.
        **options: Of `continue_run`.
    """
    with join(WorldConfig(join_timeout_s=60, timeout_s=40)) as ranks, stop_on_signals() as stop:
        loop, parts = continue_run(
            folder,
            config=TrainConfig(**{**fields(CONFIG), **(train or {})}),
            ranks=ranks,
            parallel=ParallelConfig(**(parallel or {})),
            **options,
        )
        if poisoned_row is not None:
            first = parts.dataset.episodes[0]
            parts.dataset.columns(first).states[poisoned_row - first.start, 0] = np.nan

        def before_draw(step: int) -> None:
            if (ranks.rank, step) == tuple(signal_at[:2]):
                os.kill(os.getpid(), signal_at[2])
            if (ranks.rank, step) == tuple(torn_at):
                raise DataError("episode 3 is torn")
            if (ranks.rank, step) == tuple(stuck_at):
                signal.pause()
            if (ranks.rank, step) == tuple(full_from):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))

        if start_from:
            store = CheckpointStore(Path(start_from) / "checkpoints")
            ref = store.latest()
            load_snapshot(store, ref, parts.optimisation, parts.loader.sampler)
            saves = Saves(parts.store, parts.optimisation, parts.loader.sampler, SaveConfig())
            saves.begin(ref.step)
            saves.commit()
            return
        run_noted(loop, parts, folder, ranks, stop, before_draw)


def run_noted(
    loop: TrainingLoop,
    parts: TrainingParts,
    folder: Path,
    ranks: World | Solo,
    stop: StopRequest,
    before_draw: Callable[[int], None],
) -> None:
    """Run the loop while this rank notes its rows, and then how it ended."""
    attempt = ranks.gather(parts.recorder.attempt)[0]
    place = folder / f"rows-{ranks.rank}-{attempt}.jsonl"
    said: dict[str, Any] = {"error": None}
    with Journal(place, sync=False) as journal:
        draw = parts.loader.next_batch

        def noted() -> LoadedBatch:
            before_draw(parts.loader.sampler.step + 1)
            batch = draw()
            journal.append({"step": parts.loader.sampler.step, "rows": batch.rows.tolist()})
            return batch

        parts.loader.next_batch = noted
        try:
            said["ref"] = loop.run(stop).folder
        except EtudeError as error:
            said = {"error": type(error).__name__, "message": str(error)}
            if not isinstance(error, Interrupted):
                raise
        finally:
            (folder / f"said-{ranks.rank}.json").write_text(json.dumps(said))


def said(folder: Path, ranks: int) -> list[dict[str, Any]]:
    """What each rank has said at its end."""
    return [json.loads((folder / f"said-{rank}.json").read_text()) for rank in range(ranks)]


def global_rows(folder: Path) -> dict[int, list[int]]:
    """The sorted rows of every step, of all ranks; later attempts replace earlier ones."""
    steps: dict[int, tuple[int, list[int]]] = {}
    for path in sorted(folder.glob("rows-*.jsonl")):
        attempt = int(path.stem.split("-")[2])
        for record in read_journal(path):
            known, rows = steps.get(record["step"], (0, []))
            if attempt > known:
                steps[record["step"]] = (attempt, list(record["rows"]))
            elif attempt == known:
                steps[record["step"]] = (attempt, rows + record["rows"])
    return {step: sorted(rows) for step, (_, rows) in sorted(steps.items())}


def fields(config: TrainConfig) -> dict[str, Any]:
    return {name: getattr(config, name) for name in config.__slots__}


if __name__ == "__main__":
    serve(train_here)
