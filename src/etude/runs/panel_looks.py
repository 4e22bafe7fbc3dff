"""Looks at windows of held-out episodes: cheap, in lock step, and a proxy of success."""

from collections.abc import Sequence

from etude.core.errors import PolicyError
from etude.core.protocols import Dataset, Policy, Ranks
from etude.core.types import ContentKey, TaskId, WindowChoice
from etude.curriculum.states import EvidenceKind, TaskEvidence
from etude.datasets.split import Split
from etude.runs.adaptive_config import ScoreConfig
from etude.runs.looks import Moment, share_out
from etude.scan.episodes import episodes_to_scan
from etude.scan.fold import fold_task, task_evidence
from etude.scan.open_loop import OpenLoop
from etude.scan.plan import TaskPlan
from etude.scan.scan_config import ScanConfig
from etude.scan.subject import ScanSubject, prepare

POOL = 3
"""Windows that are chosen at the start, as a multiple of those of the largest look."""


class PanelLooks:
    """Asks for windows that were chosen once; each look leaves some out and takes others in."""

    kind: EvidenceKind = "open_loop"

    def __init__(
        self,
        dataset: Dataset,
        split: Split,
        *,
        scan: ScanConfig,
        score: ScoreConfig,
        horizon: int,
        ranks: Ranks,
    ) -> None:
        """Choose the windows, as a scan would.

        Raises:
            DataError: A recorded number is not finite, or no action ever changes.
        """
        episodes, trained_on = episodes_to_scan(split.train, split.held_out)
        subject = ScanSubject(
            dataset=dataset,
            train=split.train,
            held_out=split.held_out,
            weights=ContentKey(""),
            horizon=horizon,
        )
        self._judge, self._plans = prepare(subject, scan, episodes, most=POOL * score.windows)
        self._dataset, self._horizon, self._ranks = dataset, horizon, ranks
        self._tau, self._rotation = scan.tau, scan.rotation
        self.sizes: tuple[int, int] = (score.least_windows, score.windows)
        self.trained_on = trained_on
        """Tasks without a held-out episode, whose windows flatter the policy."""

    @property
    def tasks(self) -> tuple[TaskId, ...]:
        """All tasks that have a window."""
        return tuple(task for task, plan in self._plans.items() if plan.choices)

    def look(
        self, policy: Policy, tasks: Sequence[TaskId], *, each: int, moment: Moment
    ) -> dict[TaskId, TaskEvidence | None]:
        """Ask `policy` about `each` windows of each task, one call a task.

        Raises:
            ScanError: A task came twice or not at all.
            DataError: A frame cannot be read.
        """
        ranks = self._ranks
        asked = OpenLoop(policy, self._dataset, horizon=self._horizon, batch_size=each)
        # Ranks that share one module must call it equally often; what is extra is dropped.
        turns = -(-len(tasks) // ranks.size)

        def work(own: Sequence[TaskId]) -> dict[TaskId, TaskEvidence | None]:
            for _ in range(turns - len(own)):
                self._seen(asked, self._plans[tasks[0]], each, moment)
            return {task: self._seen(asked, self._plans[task], each, moment) for task in own}

        return share_out(ranks, tasks, tasks[ranks.rank :: ranks.size], work)

    def close(self) -> None:
        """Nothing is held."""

    def _seen(
        self, asked: OpenLoop, plan: TaskPlan, each: int, moment: Moment
    ) -> TaskEvidence | None:
        choices = self._choices(plan, each, moment.turn)
        try:
            errors = asked.errors(choices)
        except PolicyError:
            # What it answers cannot be judged: no score, and counted as a failed look.
            return None
        scores = self._judge.scores(choices, errors.squared.tolist(), errors.absolute.tolist())
        evidence = task_evidence(plan, scores, tau=self._tau)
        return TaskEvidence(
            step=moment.step,
            weights=moment.weights,
            kind=self.kind,
            passed=evidence.passed,
            trials=evidence.trials,
            episodes=len({choice.episode for choice in choices}),
            score=fold_task(plan, scores, tau=self._tau).gmse,
        )

    def _choices(self, plan: TaskPlan, each: int, turn: int) -> Sequence[WindowChoice]:
        """Return the windows of one look: any piece of a plan is a fair sample of the task."""
        pool = plan.choices
        count = min(each, len(pool))
        shift = max(1, round(self._rotation * count)) if self._rotation else 0
        begin = turn * shift % len(pool)
        return (*pool[begin:], *pool[:begin])[:count]
