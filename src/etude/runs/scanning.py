"""What all scans have in common: whom they ask, about what, and where results are kept."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from etude.core.protocols import Dataset, Progress, Ranks, ScanCache
from etude.core.ranks import by_rank_0
from etude.datasets.split import hold_out
from etude.datasets.video_check import require_pictures
from etude.events.recorder import Recorder
from etude.events.schema import Event, WindowsAsked
from etude.runs.build import open_dataset
from etude.runs.joining import join_with_queue
from etude.runs.run_config import RunConfig
from etude.runs.saved_policy import SavedPolicy, read_saved_policy
from etude.runs.served_policy import (
    PassingResults,
    ServedPolicy,
    read_served_policy,
    unnamed_warning,
)
from etude.scan.logic import Logic
from etude.scan.scoring import ScoringParts
from etude.scan.subject import ScanSubject
from etude.serving.remote_config import RemoteConfig
from etude.store.cache import SegmentCache
from etude.store.content import content_key
from etude.store.layout import RunFolder
from etude.store.segments import Subject


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scanning:
    """One scan on one rank, with everything that it works with."""

    logic: Logic
    """The kind of scan."""
    ranks: Ranks
    subject: ScanSubject
    policy: SavedPolicy | ServedPolicy
    parts: ScoringParts
    folder: RunFolder
    """Where records lie, a run or not."""
    tell: Callable[[Event], None]
    """Records an event, if the folder is a run."""
    warn: Callable[[str], None]
    """Says what is wrong but stops nothing."""


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
    with join_with_queue(config.world) as (ranks, queue):
        policy = _policy(config, ranks)
        horizon = config.scan.horizon or policy.played_actions
        dataset = open_dataset(config)
        # One rank speaks for all, since all see the same.
        warn = warn if ranks.rank == 0 else _unsaid
        if policy.cameras:
            for message in by_rank_0(ranks, lambda: require_pictures(dataset, policy.cameras)):
                warn(message)
        folder = RunFolder(Path(config.output_dir))
        with (
            _events_of_run(folder, ranks) as tell,
            _open_cache(
                config,
                _cached(logic, policy, horizon=horizon),
                kept=policy.named,
                warn=warn,
            ) as cache,
        ):
            yield Scanning(
                logic=logic,
                ranks=ranks,
                subject=_subject(config, dataset, policy, horizon=horizon),
                policy=policy,
                parts=ScoringParts(
                    dataset=dataset,
                    load=policy.load,
                    cache=cache,
                    ranks=ranks,
                    queue=queue,
                    progress=progress if ranks.rank == 0 else _silent,
                    horizon=horizon,
                    cameras=policy.cameras,
                    asked=lambda windows, seconds: tell(
                        WindowsAsked(
                            scan=logic.namespace, windows=windows, seconds=round(seconds, 4)
                        )
                    ),
                ),
                folder=folder,
                tell=tell,
                warn=warn,
            )


def _policy(config: RunConfig, ranks: Ranks) -> SavedPolicy | ServedPolicy:
    if isinstance(config.policy.config, RemoteConfig):
        return read_served_policy(config, ranks)
    return read_saved_policy(config)


@contextmanager
def _open_cache(
    config: RunConfig, subject: Subject, *, kept: bool, warn: Callable[[str], None]
) -> Generator[ScanCache, None, None]:
    """Lend the results of earlier scans; without a name for the policy there are none."""
    if not kept:
        warn(unnamed_warning(config))
        yield PassingResults()
        return
    with SegmentCache(
        config.cache.folder,
        subject,
        batch_entries=config.scan.batch_size,
        pause_s=config.scan.write_every_s,
        warn=warn,
    ) as cache:
        yield cache


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


def _subject(
    config: RunConfig, dataset: Dataset, policy: SavedPolicy | ServedPolicy, *, horizon: int
) -> ScanSubject:
    split = hold_out(
        dataset.episodes, per_task=config.dataset.config.hold_out_episodes, seed=config.seed
    )
    return ScanSubject(
        dataset=dataset,
        train=split.train,
        held_out=split.held_out,
        weights=policy.weights,
        horizon=horizon,
    )


def _cached(logic: Logic, policy: SavedPolicy | ServedPolicy, *, horizon: int) -> Subject:
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
