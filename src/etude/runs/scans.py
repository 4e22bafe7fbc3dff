"""Scanning the tasks of a dataset with a policy, on one rank or on several."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from etude.checkpoints.commit import MANIFEST, faults
from etude.checkpoints.hf import CONFIG
from etude.compute.queues import open_queue
from etude.compute.world import join
from etude.core.errors import ConfigError, DataError, PolicyError
from etude.core.plugins import find
from etude.core.protocols import Policy, Progress, Ranks
from etude.core.types import ContentKey, ScanReport, Task, TaskScan
from etude.datasets.split import hold_out
from etude.runs.build import checkpoint_to_load, open_dataset
from etude.runs.run_config import RunConfig
from etude.scan.logic import TASK_SCAN
from etude.scan.panel import episodes_to_scan
from etude.scan.runner import ScanSubject, scan_tasks
from etude.scan.scoring import Scorer, ScoringParts
from etude.store.atomic import read_json
from etude.store.cache import SegmentCache
from etude.store.content import content_key
from etude.store.layout import RunFolder
from etude.store.segments import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScanOutcome:
    """What a scan of all tasks found. The same on every rank, but for `rank`."""

    rank: int
    report: ScanReport
    tasks: tuple[Task, ...]
    trained_on: frozenset[str]
    """Tasks without a held-out episode, scanned on training episodes, which flatters them."""

    def to_json(self) -> dict[str, object]:
        """Return what programs read."""
        return {
            "policy": self.report.policy,
            "complete": self.report.complete,
            "tasks": [
                self._task(task, self.report.tasks[task.id])
                for task in self.tasks
                if task.id in self.report.tasks
            ],
            "inferences": self.report.inferences,
            "recalled": self.report.recalled,
        }

    def _task(self, task: Task, scan: TaskScan) -> dict[str, object]:
        return {
            "task": task.id,
            "name": task.name,
            "windows": scan.windows,
            "of": scan.of,
            "gmse": scan.gmse,
            "gmse_p90": scan.gmse_p90,
            "groups": dict(scan.groups),
            "pass_rate": scan.pass_rate.rate,
            "interval": [scan.pass_rate.low, scan.pass_rate.high],
            "verdict": scan.verdict,
            "mse": scan.mse,
            "mae": scan.mae,
            "trained_on": task.id in self.trained_on,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPolicy:
    """A policy on disk, known without loading it."""

    folder: Path
    weights: ContentKey
    described: dict[str, Any]
    """What its export says of it, beside the tensors."""


def scan(config: RunConfig, *, progress: Progress, warn: Callable[[str], None]) -> TaskScanOutcome:
    """Scan every task of the dataset; the policy is loaded only if a result is missing.

    Every process that a launcher started calls this, and all of them share the work.

    Raises:
        PolicyError: There is no such checkpoint, or it holds no such policy.
        DataError: The dataset or the checkpoint is missing or faulty.
        ScanError: Work was done twice or not at all.
    """
    with join(config.world) as ranks:
        # One rank speaks for all, since all see the same.
        first = ranks.rank == 0
        return _scan(
            config,
            ranks,
            progress=progress if first else _silent,
            warn=warn if first else _unsaid,
        )


def _scan(
    config: RunConfig, ranks: Ranks, *, progress: Progress, warn: Callable[[str], None]
) -> TaskScanOutcome:
    saved = read_saved_policy(config)
    horizon = config.scan.horizon or played_actions(saved)
    dataset = open_dataset(config)
    split = hold_out(
        dataset.episodes, per_task=config.dataset.config.hold_out_episodes, seed=config.seed
    )
    subject = ScanSubject(
        dataset=dataset,
        train=split.train,
        held_out=split.held_out,
        weights=saved.weights,
        horizon=horizon,
    )
    _, trained_on = episodes_to_scan(split.train, split.held_out)
    about = _cache_subject(config, saved, horizon=horizon)
    # A segment for every full call of the policy, so that no kill loses more than one call.
    entries = config.scan.batch_size
    with SegmentCache(config.cache.folder, about, batch_entries=entries, warn=warn) as cache:
        parts = ScoringParts(
            dataset=dataset,
            load=lambda: _load(config, saved),
            cache=cache,
            ranks=ranks,
            queue=open_queue(ranks),
            progress=progress,
            horizon=horizon,
        )
        report = scan_tasks(subject, config.scan, Scorer(parts, config.scan))
    return TaskScanOutcome(
        rank=ranks.rank, report=report, tasks=dataset.spec.tasks, trained_on=trained_on
    )


def read_saved_policy(config: RunConfig) -> SavedPolicy:
    """Return what a checkpoint says of the policy in it.

    Raises:
        ConfigError: The policy is none that is trained.
        PolicyError: There is no such checkpoint.
        DataError: The checkpoint is damaged.
    """
    if not find("etude.policies", config.policy.use).trainable:
        raise ConfigError(
            f"policy.use is {config.policy.use!r}, which has no weights to scan",
            hint="Scan a policy that learns, such as --policy.use chunk.",
        )
    folder, _ = checkpoint_to_load(config, RunFolder(Path(config.output_dir)))
    if folder.name == "hf" and (folder.parent / MANIFEST).is_file():
        folder = folder.parent
    if found := faults(folder):
        raise DataError(
            f"{folder} is no whole checkpoint: {'; '.join(found[:3])}",
            hint="Name a checkpoint, e.g. --policy.path runs/mt50/checkpoints/step-00001000.",
        )
    return SavedPolicy(
        folder=folder,
        weights=ContentKey(str(read_json(folder / MANIFEST)["weights"])),
        described=read_json(folder / "hf" / CONFIG),
    )


def played_actions(saved: SavedPolicy) -> int:
    """Return how many actions of a chunk the policy plays.

    Raises:
        PolicyError: Its export does not say.
    """
    settings = cast("Mapping[str, Any]", saved.described.get("config") or {})
    played: Any = settings.get("execute")
    if not isinstance(played, int) or played < 1:
        raise PolicyError(
            f"{saved.folder / 'hf' / CONFIG} does not say how many actions are played",
            hint="Set --scan.horizon to how many are to be judged.",
        )
    return played


def _cache_subject(config: RunConfig, saved: SavedPolicy, *, horizon: int) -> Subject:
    """Return what all results of the scan depend on.

    The batch size is none of it: it changes no more than the last bits of a result.
    """
    return Subject(
        logic=TASK_SCAN.name,
        weights=saved.weights,
        inference={
            "use": config.policy.use,
            "horizon": horizon,
            "export": content_key("export/1", saved.described),
        },
    )


def _load(config: RunConfig, saved: SavedPolicy) -> Policy:
    return find("etude.policies", config.policy.use).builder()(saved.folder)


def _silent(phase: str, done: int, total: int, note: str = "", /) -> None:
    del phase, done, total, note


def _unsaid(message: str) -> None:
    del message
