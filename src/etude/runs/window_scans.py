"""Window weights of a run: what a sample scan found out about the moments of its episodes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from etude.core.errors import ConfigError
from etude.core.protocols import Dataset, Ranks
from etude.core.ranks import together
from etude.core.types import EpisodeSpan, TaskId
from etude.curriculum.sampler import CurriculumSampler
from etude.curriculum.window_weights import UNKNOWN, FrameStrata, Multipliers
from etude.events.schema import WindowsWeighed
from etude.runs.sample_scans import KIND, earlier_scans, past_scan
from etude.runs.scan_records import find_record, read_record
from etude.scan.candidates import labels_of
from etude.scan.episodes import finite
from etude.scan.groups import ActionGroup, gripper_dims
from etude.scan.measure import told, units_of
from etude.scan.record import RecordHead, ScanRecord
from etude.scan.sample_weights import scans_since, task_weights
from etude.scan.scan_config import ActionKind
from etude.scan.strata import STRATA
from etude.scan.suspects import PastScan, before, by_task, find_suspects, strata_by_task
from etude.scan.units import measure_units
from etude.store.layout import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowWeights:
    """How often the frames of each stratum are drawn, and which scan says so."""

    record: str
    head: RecordHead
    strata: FrameStrata
    multipliers: Multipliers


def read_window_weights(
    place: str, dataset: Dataset, train: Sequence[EpisodeSpan], ranks: Ranks
) -> tuple[WindowWeights | None, Sequence[str]]:
    """Return what a sample scan says about the training episodes, and what is to be warned of.

    Args:
        place: A record of a sample scan, or a run that has one; empty for no weights.
        dataset: Of the run.
        train: Its training episodes.
        ranks: All of them call this together.

    Raises:
        ConfigError: There is no such scan, or it is one of other data.
        DataError: The record is damaged, or a recorded number is not finite.
    """
    found: list[WindowWeights] = []
    doubts: list[str] = []

    def read() -> None:
        found.append(_read(Path(place), dataset, train, warn=doubts.append))

    if place:
        together(ranks, read)
    return (found[0] if found else None), doubts


def _read(
    place: Path, dataset: Dataset, train: Sequence[EpisodeSpan], *, warn: Callable[[str], None]
) -> WindowWeights:
    path = find_record(place, kind=KIND)
    record = read_record(path)
    _require_same_data(path, record.head, dataset, train)
    earlier = earlier_scans(
        RunFolder(path.parent.parent),
        dataset,
        record.head.measure,
        until=record.head.step,
        warn=warn,
    )
    strata = _frame_strata(record.head, dataset, train)
    return WindowWeights(
        record=str(path),
        head=record.head,
        strata=strata,
        multipliers=_multipliers(record, dataset, earlier, _sizes(strata, train)),
    )


def weigh_windows(
    sampler: CurriculumSampler, weights: WindowWeights | None
) -> WindowsWeighed | None:
    """Let `sampler` draw by `weights` as soon as it can; return None if it does so already."""
    if weights is None or not sampler.set_window_weights(weights.multipliers):
        return None
    rows = [weights.multipliers.get(task) for task in sampler.tasks]
    return WindowsWeighed(
        step=sampler.step,
        record=weights.record,
        policy=weights.head.policy,
        strata=list(weights.strata.names),
        weights=[
            None if row is None else [row.get(name) for name in weights.strata.names]
            for row in rows
        ],
    )


def _require_same_data(
    path: Path, head: RecordHead, dataset: Dataset, train: Sequence[EpisodeSpan]
) -> None:
    again = "or make one of this run's data: etude scan samples RECIPE --policy.path CHECKPOINT"
    if head.kind != KIND:
        raise ConfigError(
            f"curriculum.windows is {path}, a scan of {head.kind}, not of samples",
            hint=f"Name a scan of samples, {again}",
        )
    repo_id = told(dataset.spec.repo_id)
    if head.dataset != repo_id:
        raise ConfigError(
            f"curriculum.windows is {path}, a scan of {head.dataset}, but the run trains on "
            f"{repo_id}",
            hint=f"Name a scan of {repo_id}, {again}",
        )
    if head.units != units_of(dataset, train):
        raise ConfigError(
            f"curriculum.windows is {path}, a scan of other training episodes than the run has",
            hint="Keep the data, dataset.hold_out_episodes and seed that it was made with, "
            f"{again}",
        )


def _frame_strata(head: RecordHead, dataset: Dataset, train: Sequence[EpisodeSpan]) -> FrameStrata:
    """Label every frame of the training episodes as the scan did; others stay unknown."""
    kinds: dict[str, ActionKind] = {"absolute": "absolute", "relative": "relative"}
    units = measure_units(dataset, train, actions=kinds.get(head.measure.actions, "auto"))
    groups = [ActionGroup(name=name, dims=dims) for name, dims in head.groups.items()]
    labels = np.full(max(episode.stop for episode in dataset.episodes), UNKNOWN, np.int8)
    for episode in train:
        actions = finite(episode, "action", dataset.columns(episode).actions)
        [found] = labels_of([actions], units=units, grippers=gripper_dims(groups))
        labels[episode.start : episode.stop] = found
    return FrameStrata(names=STRATA, labels=labels)


def _sizes(strata: FrameStrata, train: Sequence[EpisodeSpan]) -> dict[TaskId, dict[str, int]]:
    """Return how many training frames of each task lie in each stratum that it has."""
    counts: dict[TaskId, np.ndarray] = {}
    for episode in train:
        found = np.bincount(
            strata.labels[episode.start : episode.stop], minlength=len(strata.names)
        )
        counts[episode.task] = counts.get(episode.task, 0) + found
    return {
        task: {name: size for name, size in zip(strata.names, found.tolist(), strict=True) if size}
        for task, found in counts.items()
    }


def _multipliers(
    record: ScanRecord,
    dataset: Dataset,
    earlier: Sequence[PastScan],
    sizes: Mapping[TaskId, Mapping[str, int]],
) -> dict[TaskId, dict[str, float]]:
    """Return what the scan calls for, in the light of earlier ones; tasks without are left out."""
    present = past_scan(record, dataset)
    scans = [*before(earlier, present), present]
    suspects, looked_at = find_suspects(scans), [strata_by_task(scan) for scan in scans]
    found: dict[TaskId, dict[str, float]] = {}
    for task, scores in by_task(present.windows).items():
        doubted = {(each.episode, each.frame) for each in suspects.get(task, ())}
        if all((s.choice.episode, s.choice.frame) in doubted for s in scores):
            continue
        weights = task_weights(
            scores,
            sizes=sizes[task],
            suspects=doubted,
            staleness=scans_since(sizes[task], [seen.get(task, frozenset()) for seen in looked_at]),
        )
        found[task] = {row.stratum: row.multiplier for row in weights.strata}
    return found
