"""Telling what was decided about tasks: as events for views, as lines of the ledger for good."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from etude.core.errors import DataError
from etude.core.kill_points import kill_point
from etude.core.types import CheckpointRef, TaskId
from etude.curriculum.states import Transition
from etude.curriculum.task_state import plain_fields
from etude.events.schema import (
    CounterfactualPlans,
    Event,
    PlanChosen,
    TaskScores,
    TaskTransition,
    Warned,
)
from etude.runs.looks import Look, Looker, Moment
from etude.store.ledger import Ledger, LedgerHead, read_ledger


class Chronicle:
    """Writes on one rank; on the others it has neither a ledger nor events, and says nothing."""

    def __init__(
        self, tasks: Sequence[TaskId], tell: Callable[[Event], None], ledger: Ledger | None
    ) -> None:
        self._tasks = tuple(tasks)
        self._tell = tell
        self._ledger = ledger

    @property
    def head(self) -> LedgerHead:
        """The end of the history so far."""
        return LedgerHead() if self._ledger is None else self._ledger.head

    def warn(self, message: str) -> None:
        """Say something that the user should look at."""
        self._tell(Warned(message=message))

    def began(self, *, step: int, weights: str, **told: object) -> None:
        """Note that an attempt begins, and with which task states."""
        self._note("began", step=step, weights=weights, **told)

    def looked(
        self, looker: Looker, found: Look, moment: Moment, *, due: int, each: int, seconds: float
    ) -> None:
        """Tell what was seen of each task."""
        seen = [found.get(task) for task in self._tasks]
        # A look without a score is told as 0 trials; what was not looked at has none at all.
        none = [0.0 if task in found else None for task in self._tasks]
        row = list(zip(seen, none, strict=True))
        self._tell(
            TaskScores(
                step=moment.step,
                by=looker.kind,
                weights=moment.weights,
                due=due,
                each=each,
                scores=[None if one is None else one.score for one in seen],
                passed=[missing if one is None else one.passed for one, missing in row],
                trials=[missing if one is None else one.trials for one, missing in row],
                seconds=round(seconds, 4),
            )
        )

    def changed(self, transitions: Sequence[Transition], proxies: Mapping[TaskId, bool]) -> None:
        """Tell which tasks have changed their status, and why."""
        for each in transitions:
            evidence = None if each.evidence is None else plain_fields(each.evidence)
            self._note(
                "transition",
                step=each.step,
                weights="" if each.evidence is None else str(each.evidence.weights),
                task=each.task,
                before=each.before,
                after=each.after,
                proxy=proxies[each.task],
                reason=each.reason,
                evidence=evidence,
            )
            kill_point("steer.ledger_written")
            self._tell(
                TaskTransition(
                    step=each.step,
                    task=each.task,
                    before=each.before,
                    after=each.after,
                    proxy=proxies[each.task],
                    reason=each.reason,
                )
            )

    def planned(
        self, weights: Mapping[TaskId, float], *, step: int, from_step: int, rule: str
    ) -> None:
        """Tell how often each task is drawn from a step on."""
        shares = [weights[task] for task in self._tasks]
        self._note("plan", step=step, from_step=from_step, rule=rule, shares=shares)
        self._tell(PlanChosen(step=step, from_step=from_step, rule=rule, weights=shares))

    def could_have(self, plans: Mapping[str, Mapping[TaskId, float]], *, step: int) -> None:
        """Tell what every rule would have aimed at."""
        rows = [[plan[task] for task in self._tasks] for plan in plans.values()]
        self._tell(CounterfactualPlans(step=step, rules=list(plans), weights=rows))

    def committed(self, ref: CheckpointRef) -> None:
        """Note that a checkpoint is on disk."""
        self._note("checkpoint", step=ref.step, weights=str(ref.weights), folder=ref.folder)

    def _note(self, what: str, *, step: int, weights: str = "", **data: object) -> None:
        if self._ledger is not None:
            self._ledger.append(what, step=step, weights=weights, data=data)


def require_history(path: Path, head: Mapping[str, Any], *, folder: Path) -> bool:
    """Check that a ledger goes on from where a checkpoint saw it end; False if nothing is there.

    Raises:
        DataError: It was changed, or is that of another run.
    """
    seen = LedgerHead(seq=int(head["seq"]), hash=str(head["hash"]))
    history = read_ledger(path)
    if not history.entries:
        return seen == LedgerHead()
    if not history.holds(seen):
        raise DataError(
            f"{path} does not hold the history that {folder} was saved with",
            hint=f"Restore it from a copy, or remove it to begin a new one: rm {path}",
        )
    return True
