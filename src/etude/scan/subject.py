"""What a scan is about, and the windows of it that come into question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etude.core.protocols import Dataset
from etude.core.types import ContentKey, EpisodeSpan, TaskId
from etude.scan.groups import action_groups, gripper_dims
from etude.scan.panel import Chooser
from etude.scan.plan import TaskPlan
from etude.scan.scan_config import ScanConfig, parse_groups
from etude.scan.score import Judge
from etude.scan.units import measure_units


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScanSubject:
    """What is scanned, the same on every rank."""

    dataset: Dataset
    train: Sequence[EpisodeSpan]
    """Episodes that the policy was trained on; they give the units."""
    held_out: Sequence[EpisodeSpan]
    weights: ContentKey
    """Of the policy, for the report."""
    horizon: int
    """Actions of a chunk that are judged."""


def prepare(
    subject: ScanSubject,
    config: ScanConfig,
    episodes: Mapping[TaskId, Sequence[EpisodeSpan]],
    *,
    most: int,
) -> tuple[Judge, dict[TaskId, TaskPlan]]:
    """Measure the units, and choose windows of every task that has an episode.

    Args:
        subject: What is scanned.
        config: How.
        episodes: Those of each task from which windows are chosen.
        most: Windows of a task; 0 chooses all that the strategy names.

    Raises:
        DataError: A recorded number is not finite, or no action ever changes.
    """
    groups = action_groups(subject.dataset.spec, parse_groups(config.groups))
    units = measure_units(subject.dataset, subject.train, actions=config.actions)
    chooser = Chooser(
        dataset=subject.dataset,
        config=config,
        horizon=subject.horizon,
        grippers=gripper_dims(groups),
        units=units,
    )
    plans = {
        task.id: chooser.plan(task.id, episodes[task.id], most=most)
        for task in subject.dataset.spec.tasks
        if task.id in episodes
    }
    judge = Judge(subject.dataset, groups=groups, units=units, horizon=subject.horizon)
    return judge, plans
