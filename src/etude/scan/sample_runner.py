"""The sample scan: how difficult each moment of the training episodes is, and what that calls for.

It works as the task scan does, with the same cache of windows and the same queue, but looks at what
is trained on, and at equally many windows of every task.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from etude.core.types import ContentKey, EpisodeSpan, TaskId, WindowScore
from etude.scan.moments import Moment, hardest_moments
from etude.scan.plan import TaskPlan
from etude.scan.sample_weights import StratumWeight, scans_since, stratum_sizes, task_weights
from etude.scan.scan_config import ScanConfig
from etude.scan.scored import Scored
from etude.scan.scoring import Scorer
from etude.scan.subject import ScanSubject, prepare
from etude.scan.suspects import PastScan, Suspect, before, by_task, find_suspects, strata_by_task


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSamples:
    """What the scanned windows of one task's training episodes say about all of them."""

    task: TaskId
    windows: int
    """Windows that were scored."""
    of: int
    """Windows that the task has."""
    estimated: bool
    """Whether the sizes of the strata are scaled up from a part of the episodes."""
    difficulty: float
    """Mean error, weighted, without suspects. A proxy of how hard the task's moments are."""
    irreducible: float
    """Error that is expected to stay, whatever is trained."""
    strata: tuple[StratumWeight, ...]
    suspects: tuple[Suspect, ...]
    moments: tuple[Moment, ...]
    """Where the task is hardest, suspects left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleReport:
    """The sample scan of every task, and whose it is."""

    policy: ContentKey
    tasks: Mapping[TaskId, TaskSamples]
    inferences: int
    """Windows that the policy was asked about."""
    recalled: int
    """Windows whose scores an earlier scan had kept."""
    complete: bool
    """False if a limit ended the scan before its plan was done."""
    windows: tuple[WindowScore, ...]
    """Every window that was scored, task by task, by episode and frame; its weight is how many
    windows it stands for beside the others that were scored."""


def scan_samples(
    subject: ScanSubject,
    config: ScanConfig,
    scorer: Scorer,
    earlier: Sequence[PastScan],
    *,
    step: int,
) -> SampleReport:
    """Scan `scan.samples_per_task` windows of every task's training episodes.

    All ranks call it together, with the same earlier scans, and return the same report.

    Args:
        subject: What is scanned.
        config: How.
        scorer: Recalls errors of windows or asks for them.
        earlier: Sample scans of the same run; those of no earlier step and round are passed over.
        step: Training steps behind the policy.

    Raises:
        ScanError: A window was scored twice or not at all.
        PolicyError: The policy cannot be loaded, or answers what cannot be judged.
        PolicyUnavailable: It does not answer, before every task has a window; after that the scan
            ends early with what it has.
        DataError: A recorded number is not finite.
    """
    scan = _SampleScan(subject, config, scorer)
    for begin, end in scan.stages():
        if not scan.score(begin, end):
            break
    return scan.report(earlier, step=step)


class _SampleScan:
    """The state of one scan; equal on every rank after every stage."""

    def __init__(self, subject: ScanSubject, config: ScanConfig, scorer: Scorer) -> None:
        self._subject = subject
        self._config = config
        self._scorer = scorer
        episodes: dict[TaskId, list[EpisodeSpan]] = {}
        for episode in subject.train:
            episodes.setdefault(episode.task, []).append(episode)
        judge, self._plans = prepare(subject, config, episodes, most=config.samples_per_task)
        self._scored = Scored(scorer, judge, self._plans)
        scorer.budget = sum(len(plan.choices) for plan in self._plans.values())

    def stages(self) -> Iterator[tuple[int, int]]:
        """Yield spans of each task's windows, each ending at twice the end of the one before.

        So whatever stops the scan finds every task with about equally many windows. With a time
        limit the first is of one window, which is scored however long that takes.
        """
        begin, end = 0, 1 if self._config.time_limit_s else self._config.first
        most = max((len(plan.choices) for plan in self._plans.values()), default=0)
        while begin < most:
            yield begin, end
            begin, end = end, 2 * end

    def score(self, begin: int, end: int) -> bool:
        """Score a span of each task's windows; return False if not all could be."""
        choices = [choice for plan in self._plans.values() for choice in plan.choices[begin:end]]
        return self._scored.add(choices, limited=begin > 0)

    def report(self, earlier: Sequence[PastScan], *, step: int) -> SampleReport:
        """Return what all scores say, in the light of earlier scans.

        Raises:
            PolicyUnavailable: The policy did not answer, and a task has no scored window.
        """
        windows = self._scored.finish()
        present = PastScan(step=step, round=self._config.round, windows=windows)
        scans = [*before(earlier, present), present]
        suspects = find_suspects(scans)
        looked_at = [strata_by_task(scan) for scan in scans]
        scores = by_task(windows)
        return SampleReport(
            policy=self._subject.weights,
            tasks={
                task: _task_samples(
                    plan,
                    scores[task],
                    horizon=self._subject.horizon,
                    suspects=suspects.get(task, ()),
                    looked_at=[seen.get(task, frozenset()) for seen in looked_at],
                )
                for task, plan in self._plans.items()
            },
            inferences=self._scorer.inferences,
            recalled=self._scorer.recalled,
            complete=not self._scored.stopped,
            windows=windows,
        )


def _task_samples(
    plan: TaskPlan,
    scores: Sequence[WindowScore],
    *,
    horizon: int,
    suspects: tuple[Suspect, ...],
    looked_at: Sequence[AbstractSet[str]],
) -> TaskSamples:
    sizes = stratum_sizes(plan.cells, of=plan.of)
    left_out = {(suspect.episode, suspect.frame) for suspect in suspects}
    weights = task_weights(
        scores,
        sizes=sizes,
        suspects=left_out,
        staleness=scans_since(sizes, looked_at),
    )
    return TaskSamples(
        task=plan.task,
        windows=len(scores),
        of=plan.of,
        estimated=sum(plan.cells.values()) != plan.of,
        difficulty=weights.difficulty,
        irreducible=weights.irreducible,
        strata=weights.strata,
        suspects=suspects,
        moments=hardest_moments(
            [score for score in scores if score.choice.place not in left_out], horizon=horizon
        ),
    )
