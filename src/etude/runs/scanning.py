"""What all scans have in common: whom they ask, about what, and where results are kept."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from etude.compute.queues import open_queue
from etude.compute.world import join
from etude.core.protocols import Dataset, Progress, Ranks
from etude.datasets.split import Split, hold_out
from etude.events.recorder import Recorder
from etude.events.schema import Event, WindowsAsked
from etude.runs.build import open_dataset
from etude.runs.run_config import RunConfig
from etude.runs.saved_policy import SavedPolicy, read_saved_policy
from etude.scan.logic import Logic
from etude.scan.scoring import ScoringParts
from etude.store.cache import SegmentCache
from etude.store.content import content_key
from etude.store.layout import RunFolder
from etude.store.segments import Subject


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scanning:
    """One scan on one rank, with everything that it works with."""

    ranks: Ranks
    dataset: Dataset
    split: Split
    policy: SavedPolicy
    horizon: int
    """Actions of a chunk that are judged."""
    parts: ScoringParts
    tell: Callable[[Event], None]
    """Records an event, if the output folder is a run."""


@contextmanager
def open_scan(
    config: RunConfig, logic: Logic, *, progress: Progress, warn: Callable[[str], None]
) -> Generator[Scanning, None, None]:
    """Join the other processes and put the parts of a scan together; no policy is loaded.

    Every process that a launcher started calls this, and all of them share the work.

    Raises:
        PolicyError: There is no such checkpoint, or it holds no such policy.
        DataError: The dataset or the checkpoint is missing or faulty.
    """
    with join(config.world) as ranks:
        policy = read_saved_policy(config)
        horizon = config.scan.horizon or policy.played_actions
        dataset = open_dataset(config)
        # One rank speaks for all, since all see the same.
        first = ranks.rank == 0
        with (
            _events_of_run(RunFolder(Path(config.output_dir)), ranks) as tell,
            SegmentCache(
                config.cache.folder,
                _subject(logic, policy, horizon=horizon),
                batch_entries=config.scan.batch_size,
                pause_s=config.scan.write_every_s,
                warn=warn if first else _unsaid,
            ) as cache,
        ):
            yield Scanning(
                ranks=ranks,
                dataset=dataset,
                split=hold_out(
                    dataset.episodes,
                    per_task=config.dataset.config.hold_out_episodes,
                    seed=config.seed,
                ),
                policy=policy,
                horizon=horizon,
                parts=ScoringParts(
                    dataset=dataset,
                    load=policy.load,
                    cache=cache,
                    ranks=ranks,
                    queue=open_queue(ranks),
                    progress=progress if first else _silent,
                    horizon=horizon,
                    asked=lambda windows, seconds: tell(
                        WindowsAsked(
                            scan=logic.namespace, windows=windows, seconds=round(seconds, 4)
                        )
                    ),
                ),
                tell=tell,
            )


@contextmanager
def _events_of_run(folder: RunFolder, ranks: Ranks) -> Generator[Callable[[Event], None]]:
    """Lend what records this rank's events; without a run in `folder` nothing is recorded."""
    if not folder.manifest.exists():
        yield _unrecorded
        return
    recorder = Recorder(folder.events, rank=ranks.rank)
    try:
        yield recorder.emit
    finally:
        recorder.close()


def _subject(logic: Logic, policy: SavedPolicy, *, horizon: int) -> Subject:
    """Return what all results of the scan depend on.

    The batch size is none of it: it changes no more than the last bits of a result.
    """
    return Subject(
        logic=logic.name,
        weights=policy.weights,
        inference={
            "use": policy.use,
            "horizon": horizon,
            "export": content_key("export/1", policy.described),
        },
    )


def _silent(phase: str, done: int, total: int, note: str = "", /) -> None:
    del phase, done, total, note


def _unrecorded(event: Event) -> None:
    del event


def _unsaid(message: str) -> None:
    del message
