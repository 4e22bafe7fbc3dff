"""What a scan has scored so far, task by task."""

from collections.abc import Mapping, Sequence

from etude.core.types import TaskId, WindowChoice, WindowScore
from etude.scan.plan import TaskPlan, weighted
from etude.scan.score import Judge
from etude.scan.scoring import Scorer


class Scored:
    """The scores of planned windows; equal on every rank after every step."""

    def __init__(self, scorer: Scorer, judge: Judge, plans: Mapping[TaskId, TaskPlan]) -> None:
        self.of: dict[TaskId, list[WindowScore]] = {task: [] for task in plans}
        """Those of each task, in the order in which they were scored."""
        self.stopped = False
        """Whether the time was up, or the policy answered no more, before all were scored."""
        self._scorer = scorer
        self._judge = judge
        self._plans = plans

    @property
    def every_task(self) -> bool:
        """Whether no task is without a score."""
        return all(self.of.values())

    def add(self, choices: Sequence[WindowChoice], *, limited: bool) -> bool:
        """Score more windows; return False if not all of them could be.

        Args:
            choices: The windows, equal on every rank.
            limited: Whether the time limit counts.

        Raises:
            ScanError: A window was scored twice or not at all.
            PolicyError: The policy cannot be loaded, or answers what cannot be judged.
            DataError: A frame cannot be read.
        """
        found = self._scorer.score(choices, limited=limited)
        known = [(choice, errors) for choice, errors in found if errors is not None]
        for score in self._judge.scores(
            [choice for choice, _ in known],
            [errors.squared for _, errors in known],
            [errors.absolute for _, errors in known],
        ):
            self.of[score.choice.task].append(score)
        self.stopped = len(known) < len(found)
        return not self.stopped

    def finish(self) -> tuple[WindowScore, ...]:
        """Return every score, task by task, by episode and frame, with what it stands for.

        Raises:
            PolicyUnavailable: The policy did not answer, and a task has no scored window.
        """
        if self._scorer.unavailable and not self.every_task:
            raise self._scorer.unavailable
        self._scorer.finish()
        return tuple(
            score for task, plan in self._plans.items() for score in weighted(plan, self.of[task])
        )
