"""Taking over the states of a document, for weights that may be others than its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from etude.core.types import SamplingPlan, Task, TaskId
from etude.curriculum.states import TaskState, untried_states
from etude.curriculum.task_state import DatasetMark, TaskStateDocument
from etude.curriculum.task_state_fields import Faults

ACCEPT_WEIGHTS = "--accept-weights-mismatch"
ACCEPT_DATA = "--accept-data-change"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """The states that a run begins with, and how they differ from the document's."""

    states: dict[TaskId, TaskState]
    """One for each task, in the order of the tasks."""
    plan: SamplingPlan | None
    """The document's plan; None if it is not one of exactly these tasks."""
    stale: bool
    """The scores are of other weights: they decide nothing, and every task is looked at first."""
    added: tuple[TaskId, ...]
    """Tasks that the document does not have; they are untried."""
    dropped: tuple[TaskId, ...]
    """Tasks that only the document has."""


def adopt(
    document: TaskStateDocument,
    tasks: Sequence[Task],
    *,
    weights: str,
    accept_mismatch: bool = False,
    accept_data_change: bool = False,
    dataset: DatasetMark | None = None,
    budget: float = 0.0,
    step: int | None = None,
) -> Adoption:
    """Return the states that a run of `tasks` begins with.

    Args:
        document: Where the states come from.
        tasks: All tasks of the run, in order.
        weights: Identity of the weights that were loaded.
        accept_mismatch: Keep the history although it is of other weights, marked as stale.
        accept_data_change: Leave out tasks that are not there any more, and go on with other data.
        dataset: The data of the run; None if they are not to be compared.
        budget: Draws that a task which is not in the document may take; 0 is no limit.
        step: Optimiser steps that the run has done; None for those of the document. Where they
            differ, all steps of the states are counted anew, so that what lies before the run has
            negative ones.

    Raises:
        StateError: The document is of other weights, other tasks or other data, and that was not
            accepted; all of it is told.
    """
    faults = Faults(document.source)
    known = {task.id for task in tasks}
    dropped = tuple(task for task in document.states if task not in known)
    stale = weights != document.weights
    if stale and not accept_mismatch:
        _note_weights(document, weights, faults)
    if not accept_data_change:
        _note_data(document, tasks, dropped, dataset, faults)
    faults.settle(
        hint=f"Name the task state document of these weights and data, or add {ACCEPT_WEIGHTS} or "
        f"{ACCEPT_DATA}."
    )
    begins = document.step if step is None else step
    states = untried_states([task.id for task in tasks], budget=budget, step=begins)
    added = tuple(task for task in states if task not in document.states)
    for task, state in document.states.items():
        if task in known:
            own = _counted_anew(state, by=begins - document.step)
            states[task] = mark_stale(own) if stale else own
    plan = None if added or dropped else document.plan
    return Adoption(states=states, plan=plan, stale=stale, added=added, dropped=dropped)


def mark_stale(state: TaskState) -> TaskState:
    """Return a state whose scores are of other weights: kept, looked at first, deciding nothing."""
    return replace(
        state,
        history=tuple(replace(score, stale=True) for score in state.history),
        streak=0,
        doubts=0,
        recheck_in=1,
        recheck_every=1,
    )


def _counted_anew(state: TaskState, *, by: int) -> TaskState:
    return replace(
        state,
        since_step=state.since_step + by,
        streak_step=state.streak_step + by,
        history=tuple(replace(score, step=score.step + by) for score in state.history),
    )


def _note_weights(document: TaskStateDocument, weights: str, faults: Faults) -> None:
    faults.add(
        "weights",
        f"is {document.weights}, but the loaded weights are {weights}",
        hint=f"Name the document of these weights, or add {ACCEPT_WEIGHTS} to keep the history "
        "and look at every task again.",
    )


def _note_data(
    document: TaskStateDocument,
    tasks: Sequence[Task],
    dropped: Sequence[TaskId],
    dataset: DatasetMark | None,
    faults: Faults,
) -> None:
    place = {entry.task: number for number, entry in enumerate(document.tasks)}
    for task in dropped:
        faults.add(
            f"tasks[{place[task]}].id",
            f'is "{task}", which is none of the {len(tasks)} tasks of this run',
            hint=f"Add {ACCEPT_DATA} to leave it out.",
        )
    if dataset is None:
        return
    for name, before, now in (
        ("repo_id", document.dataset.repo_id, dataset.repo_id),
        ("identity", document.dataset.identity, dataset.identity),
    ):
        if before and now and before != now:
            faults.add(
                f"dataset.{name}",
                f"is {before}, but the data of this run have {now}",
                hint=f"Set dataset.root to the data it was made with, or add {ACCEPT_DATA}.",
            )
