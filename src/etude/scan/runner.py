"""The task scan: what is known is recalled, the rest is asked once, by whichever rank is free."""

from collections.abc import Mapping

from etude.core.types import ScanReport, TaskId, WindowChoice
from etude.scan.episodes import episodes_to_scan
from etude.scan.fold import fold_task, task_evidence
from etude.scan.scan_config import ScanConfig
from etude.scan.scored import Scored
from etude.scan.scoring import Scorer
from etude.scan.sequential import next_windows
from etude.scan.subject import ScanSubject, prepare

REACH = 4
"""A task in doubt gets at most so many times the windows that a task gets on average."""


def scan_tasks(subject: ScanSubject, config: ScanConfig, scorer: Scorer) -> ScanReport:
    """Scan every task until it is decided, or the windows or the time are used up.

    Every task gets `scan.first` windows, then those in doubt get more, the most doubtful first. All
    ranks call it together and return the same report.

    Raises:
        ScanError: A window was scored twice or not at all, or a task has no window.
        PolicyError: The policy cannot be loaded, or answers what cannot be judged.
        PolicyUnavailable: It does not answer, before every task has a window; after that the scan
            ends early with what it has.
        DataError: A recorded number is not finite.
    """
    scan = _TaskScan(subject, config, scorer)
    wanted = scan.first()
    while any(wanted.values()) and scan.score(wanted):
        wanted = scan.more()
    return scan.report()


class _TaskScan:
    """The state of one scan; equal on every rank after every step."""

    def __init__(self, subject: ScanSubject, config: ScanConfig, scorer: Scorer) -> None:
        self._subject = subject
        self._config = config
        self._scorer = scorer
        episodes, _ = episodes_to_scan(subject.train, subject.held_out)
        most = REACH * config.windows_per_task
        judge, self._plans = prepare(subject, config, episodes, most=most)
        self._given = dict.fromkeys(self._plans, 0)
        self._scored = Scored(scorer, judge, self._plans)
        scorer.budget = self._budget

    @property
    def _budget(self) -> int:
        planned = sum(len(plan.choices) for plan in self._plans.values())
        return min(self._config.windows_per_task * len(self._plans) or planned, planned)

    def first(self) -> dict[TaskId, int]:
        """Return how many windows each task gets before any is looked at.

        With a time limit it is one of each task, which is scored however long that takes.
        """
        if self._config.windows_per_task == 0 and not self._config.time_limit_s:
            return {task: len(plan.choices) for task, plan in self._plans.items()}
        count = 1 if self._config.time_limit_s else self._config.first
        return self._up_to(count)

    def more(self) -> dict[TaskId, int]:
        """Return how many windows each task gets next."""
        if self._config.windows_per_task == 0:
            return self._up_to(max(len(plan.choices) for plan in self._plans.values()))
        first = self._up_to(self._config.first)
        return first if any(first.values()) else self._doubtful(self._budget - self._total)

    def score(self, wanted: Mapping[TaskId, int]) -> bool:
        """Score the next windows of each task; return False if the time is up."""
        choices: list[WindowChoice] = []
        for task, count in wanted.items():
            begin = self._given[task]
            choices += self._plans[task].choices[begin : begin + count]
            self._given[task] += count
        return self._scored.add(choices, limited=self._scored.every_task)

    def report(self) -> ScanReport:
        """Return what all scores say.

        Raises:
            PolicyUnavailable: The policy did not answer, and a task has no scored window.
        """
        windows = self._scored.finish()
        doubt_left = self._config.windows_per_task > 0 and bool(self._doubtful(1))
        return ScanReport(
            policy=self._subject.weights,
            tasks={
                task: fold_task(plan, self._scored.of[task], tau=self._config.tau)
                for task, plan in self._plans.items()
            },
            inferences=self._scorer.inferences,
            recalled=self._scorer.recalled,
            complete=not self._scored.stopped and not doubt_left,
            windows=windows,
        )

    @property
    def _total(self) -> int:
        return sum(self._given.values())

    def _up_to(self, count: int) -> dict[TaskId, int]:
        most = self._config.windows_per_task or count
        return {
            task: max(0, min(count, most, len(plan.choices)) - self._given[task])
            for task, plan in self._plans.items()
        }

    def _doubtful(self, budget: int) -> dict[TaskId, int]:
        evidence = {
            task: task_evidence(plan, self._scored.of[task], tau=self._config.tau)
            for task, plan in self._plans.items()
        }
        room = {task: len(plan.choices) - self._given[task] for task, plan in self._plans.items()}
        return next_windows(evidence, room=room, budget=budget)
