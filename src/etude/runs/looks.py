"""Looking at tasks with the weights in training: who looks, and what comes of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from etude.core.protocols import Policy, Ranks
from etude.core.ranks import together
from etude.core.types import TaskId
from etude.curriculum.states import EvidenceKind, TaskEvidence
from etude.scan.fold import merge
from etude.store.content import content_key

T = TypeVar("T")

Look = Mapping[TaskId, TaskEvidence | None]
"""What was seen of each task; None where that gave no score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a look is taken, and whose weights are looked at."""

    step: int
    weights: str
    turn: int
    """Number of the look, which decides what is drawn for it."""


@runtime_checkable
class Looker(Protocol):
    """One way to find out how tasks go."""

    @property
    def kind(self) -> EvidenceKind: ...

    @property
    def tasks(self) -> tuple[TaskId, ...]:
        """Tasks that it can look at."""
        ...

    @property
    def sizes(self) -> tuple[int, int]:
        """Fewest and most windows or episodes of a task in one look."""
        ...

    def look(
        self, policy: Policy, tasks: Sequence[TaskId], *, each: int, moment: Moment
    ) -> dict[TaskId, TaskEvidence | None]:
        """Try `policy` on `tasks`; all ranks call it together and return the same."""
        ...

    def close(self) -> None:
        """Release what is kept between looks."""
        ...


def share_out(
    ranks: Ranks,
    tasks: Sequence[TaskId],
    own: Sequence[TaskId],
    work: Callable[[Sequence[TaskId]], Mapping[TaskId, T]],
) -> dict[TaskId, T]:
    """Let every rank look at its own part of `tasks`, and return what all of them found.

    Args:
        ranks: Who shares the work; all of them call this together.
        tasks: All that are looked at, the same on every rank.
        own: Those of this rank.
        work: Looks at some of them. It is called once on every rank, also without any.

    Raises:
        ScanError: A task came twice or not at all.
        EtudeError: The work failed on some rank.
    """
    keys = {task: content_key("look/1", task) for task in tasks}
    shares = together(ranks, lambda: dict(work(own)))
    merged = merge(
        [[(keys[task], result) for task, result in share.items()] for share in shares],
        list(keys.values()),
        names={key: str(task) for task, key in keys.items()},
    )
    return {task: merged[key] for task, key in keys.items()}
