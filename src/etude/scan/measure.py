"""What a scan measures errors by: those of two scans mean the same where it is equal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etude.core.protocols import Dataset
from etude.core.types import ContentKey, EpisodeSpan
from etude.scan.episodes import episodes_to_measure
from etude.scan.groups import action_groups
from etude.scan.scan_config import ScanConfig, parse_groups
from etude.scan.subject import ScanSubject
from etude.store.content import content_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What errors are errors of, and their units."""

    dataset: str
    """Its `repo_id`."""
    horizon: int
    """Actions of a chunk that are judged."""
    groups: Mapping[str, tuple[int, ...]]
    """Action dimensions that are judged together, by name."""
    actions: str
    """What actions were said to be, which decides what holding still is."""
    units: ContentKey
    """Identity of the training episodes, whose motion errors count against."""


def measure_of(subject: ScanSubject, config: ScanConfig) -> Measure:
    """Return what a scan of `subject` measures errors by.

    Raises:
        ConfigError: A configured action group has a dimension that is none of the dataset's.
        DataError: A training episode cannot be read.
    """
    groups = action_groups(subject.dataset.spec, parse_groups(config.groups))
    return Measure(
        dataset=told(subject.dataset.spec.repo_id),
        horizon=subject.horizon,
        groups={group.name: group.dims for group in groups},
        actions=config.actions,
        units=units_of(subject.dataset, subject.train),
    )


def units_of(dataset: Dataset, train: Sequence[EpisodeSpan]) -> ContentKey:
    """Return the identity of the training episodes by which a scan measures errors."""
    measured = sorted(
        (episode.task, dataset.identity(episode)) for episode in episodes_to_measure(train)
    )
    return content_key("scan-units/1", [list(each) for each in measured])


def told(text: str) -> str:
    """Write a byte of a name that is no UTF-8 as an escape, since JSON cannot hold it."""
    return text.encode("utf-8", "backslashreplace").decode()
