"""What the episodes of an evaluation say, with the numbers needed to judge it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from etude.core.statistics import (
    mean,
    mean_of_groups,
    mean_of_lowest,
    stratified_interval,
    wilson,
)
from etude.core.types import EpisodeEnd, Interval, TaskId
from etude.evaluate.rollout import PlayedEpisode

SCHEMA_VERSION = 1
WORST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """The episodes of one task; those that broke are in no number but `errors`."""

    id: TaskId
    name: str
    group: str | None
    interval: Interval
    at_end: float | None
    """Rate of success at the last step; known only if every episode was played to the end."""
    mean_steps_to_success: float | None
    errors: int

    def to_json(self) -> dict[str, object]:
        """Return the values ready for JSON."""
        return {
            "id": self.id,
            "name": self.name,
            "group": self.group,
            **asdict(self.interval),
            "at_end": self.at_end,
            "mean_steps_to_success": self.mean_steps_to_success,
            "errors": self.errors,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSummary:
    """Success of one policy on all tasks. Every rate is None where nothing was finished."""

    eval_id: str
    rule: str
    """"first_success": an episode ends when it has succeeded; "to_the_end": it is played on."""
    mean: float | None
    """Mean of the tasks' rates."""
    n: int
    """Tasks that have a rate; `success.tasks` in JSON, where `success.n` counts episodes."""
    low: float | None
    """95 % interval of `mean` for these tasks and other seeds."""
    high: float | None
    successes: int
    trials: int
    macro: float | None
    """Mean of the groups' means; None unless every group has a rate."""
    groups: Mapping[str, float]
    """Mean rate of each group that has one."""
    worst: float | None
    """Mean rate of the five tasks that do worst."""
    worst_tasks: tuple[str, ...]
    """Their ids, worst first."""
    at_end: float | None
    """Mean over tasks of success at the last step."""
    errors: int
    reseeded: int
    steps: int
    """Environment steps of all episodes."""
    seconds: float
    """Time in which at least one episode was being played, over all attempts."""
    per_task: tuple[TaskOutcome, ...]

    @property
    def pooled(self) -> float | None:
        """Successes over trials, whatever their task."""
        return self.successes / self.trials if self.trials else None

    def to_json(self) -> dict[str, object]:
        """Return what `summary.json` holds."""
        return {
            "schema_version": SCHEMA_VERSION,
            "eval_id": self.eval_id,
            "rule": self.rule,
            "success": {
                "mean": self.mean,
                "n": self.trials,
                "tasks": self.n,
                "low": self.low,
                "high": self.high,
                "pooled": {"k": self.successes, "n": self.trials, "rate": self.pooled},
                "macro4": self.macro,
                "groups": dict(self.groups),
                "worst5": self.worst,
                "worst5_tasks": list(self.worst_tasks),
                "at_end": self.at_end,
            },
            "errors": self.errors,
            "reseeded": self.reseeded,
            "steps": self.steps,
            "seconds": self.seconds,
            "per_task": [task.to_json() for task in self.per_task],
        }


def summarise(
    episodes: Sequence[PlayedEpisode], manifest: Mapping[str, Any], *, seconds: float
) -> EvaluationSummary:
    """Return the summary of the episodes played so far; their order does not matter."""
    groups: dict[str, list[str]] = manifest["groups"]
    to_the_end = bool(manifest["to_the_end"])
    tasks = tuple(_outcome(task, episodes, groups, to_the_end) for task in manifest["tasks"])
    rates: dict[str, float] = {
        task.id: task.interval.rate for task in tasks if task.interval.rate is not None
    }
    members = {name: [t.id for t in tasks if t.name in names] for name, names in groups.items()}
    group_means = mean_of_groups(rates, members)
    whole = bool(groups) and len(group_means) == len(groups)
    counts = [(task.interval.successes, task.interval.trials) for task in tasks]
    low, high = stratified_interval(counts) or (None, None)
    return EvaluationSummary(
        eval_id=str(manifest["eval_id"]),
        rule="to_the_end" if to_the_end else "first_success",
        mean=mean(list(rates.values())),
        n=len(rates),
        low=low,
        high=high,
        successes=sum(k for k, _ in counts),
        trials=sum(n for _, n in counts),
        macro=mean(list(group_means.values())) if whole else None,
        groups=group_means,
        worst=mean_of_lowest(list(rates.values()), WORST),
        worst_tasks=tuple(sorted(rates, key=lambda task: rates[task])[:WORST]),
        at_end=mean([task.at_end for task in tasks if task.at_end is not None]),
        errors=sum(task.errors for task in tasks),
        reseeded=sum(episode.result.reseeded for episode in episodes),
        steps=sum(episode.result.steps for episode in episodes),
        seconds=round(seconds, 3),
        per_task=tasks,
    )


def _outcome(
    task: Mapping[str, Any],
    episodes: Sequence[PlayedEpisode],
    groups: Mapping[str, Sequence[str]],
    to_the_end: bool,  # noqa: FBT001 - one of the manifest's entries
) -> TaskOutcome:
    own = [episode for episode in episodes if episode.result.task == task["id"]]
    finished = [episode for episode in own if episode.result.end is not EpisodeEnd.ERROR]
    first = [episode.first_success for episode in finished if episode.first_success is not None]
    at_end = mean([float(episode.result.success_at_end) for episode in finished])
    return TaskOutcome(
        id=TaskId(task["id"]),
        name=str(task["name"]),
        group=next((name for name, names in groups.items() if task["name"] in names), None),
        interval=wilson(sum(e.result.success for e in finished), len(finished)),
        at_end=at_end if to_the_end else None,
        mean_steps_to_success=mean(first),
        errors=len(own) - len(finished),
    )
