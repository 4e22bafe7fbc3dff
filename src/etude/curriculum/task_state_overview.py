"""What a task state document says about every task, ready to be shown."""

from typing import Any

from etude.core.types import TaskId
from etude.curriculum.states import TaskEvidence, TaskState, count_statuses
from etude.curriculum.task_state import TaskEntry, TaskStateDocument, plain_fields


def overview(document: TaskStateDocument) -> dict[str, Any]:
    """Return the document as JSON fields: its own, how many tasks have each status, every task."""
    return {
        "run_id": document.run_id,
        "step": document.step,
        "weights": document.weights,
        "repo_id": document.dataset.repo_id,
        "rule": document.rule,
        "statuses": count_statuses(document.states),
        "tasks": [task_overview(entry) for entry in document.tasks],
    }


def task_overview(entry: TaskEntry) -> dict[str, Any]:
    """Return one task as JSON fields, with its newest look."""
    state = entry.state
    look = newest_look(state)
    return {
        "task": entry.task,
        "name": entry.name or entry.task,
        "status": state.status,
        "proxy": state.proxy,
        "since_step": state.since_step,
        "share": entry.share,
        "kind": None if look is None else look.kind,
        "success": success(look),
        "passed": None if look is None else look.passed,
        "trials": None if look is None else look.trials,
        "score": None if look is None else look.score,
        "stale": look is not None and look.stale,
        "looks": len(state.history),
        "failures": state.failures,
        "spent": state.spent,
        "budget": state.budget,
        "boost": state.boost,
        "recheck_in": state.recheck_in,
        "reason": state.reason,
    }


def one_task(document: TaskStateDocument, task: TaskId) -> dict[str, Any]:
    """Return one task as JSON fields, with all its looks."""
    (entry,) = (each for each in document.tasks if each.task == task)
    looks = [plain_fields(look) for look in entry.state.history]
    return {**task_overview(entry), "scores": looks}


def newest_look(state: TaskState) -> TaskEvidence | None:
    """Return the newest look at episodes, which measure success; else at windows; else None."""
    played = [look for look in state.history if look.kind == "rollout"]
    looks = played or state.history
    return looks[-1] if looks else None


def success(look: TaskEvidence | None) -> float | None:
    """Return the share that passed, a proxy of success where no episode was played."""
    return None if look is None or look.trials <= 0 else look.passed / look.trials
