"""When a task changes its status: `untried`, `training`, `passed`, `exhausted`.

    untried -> training                  the first look at it
    training | exhausted -> passed       it passes on several looks in a row
    passed -> training                   it was forgotten; its share grows
    training -> exhausted                its budget is spent and it does not get better
    exhausted -> training                a later look shows that it got better, or a user says so

A transition needs evidence about the weights in use: the looks that a scan hands over.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from etude.core.errors import ScanError
from etude.core.types import TaskId
from etude.curriculum.lifecycle_config import LifecycleConfig
from etude.curriculum.lifecycle_evidence import Judgement, judge, most_gain, probe_gain
from etude.curriculum.states import (
    EvidenceKind,
    TaskEvidence,
    TaskState,
    Transition,
    deciding,
    remember,
)


def advance(
    states: Mapping[TaskId, TaskState],
    evidence: Mapping[TaskId, Sequence[TaskEvidence]],
    draws: Mapping[TaskId, float],
    *,
    step: int,
    config: LifecycleConfig,
    rollouts_decide: bool = False,
) -> tuple[dict[TaskId, TaskState], list[Transition]]:
    """Take in what one scan found, and return the new states with their transitions.

    Args:
        states: Of every task of the run.
        evidence: The looks at each task that the scan tried to look at; none, or none that is
            usable, where that failed. Tasks that it passed over are missing.
        draws: What each task was given since the last call.
        step: Optimiser steps that the weights have seen.
        config: What it takes.
        rollouts_decide: A simulator is there, so that only episodes can pass or fail a task.

    Raises:
        ScanError: A task is none of the run's.
    """
    strange = [task for task in (*evidence, *draws) if task not in states]
    if strange:
        raise ScanError(f"task {strange[0]} was scanned or drawn, but is none of the run's tasks")
    after: dict[TaskId, TaskState] = {}
    transitions: list[Transition] = []
    for task, state in states.items():
        fed = replace(state, spent=state.spent + draws.get(task, 0.0))
        looks = evidence.get(task)
        usable = [each for each in looks or () if each.usable and not each.stale]
        if looks is None:
            after[task] = replace(fed, recheck_in=max(1, fed.recheck_in - 1))
        elif not usable:
            after[task] = replace(fed, failures=fed.failures + 1, recheck_in=1)
        else:
            after[task] = _looked_at(fed, usable, step, config, rollouts_decide=rollouts_decide)
            transitions += _transition(fed, after[task], step, usable)
    return after, transitions


def due(states: Mapping[TaskId, TaskState]) -> tuple[TaskId, ...]:
    """Return the tasks that the next scan looks at: all in work, and who is to be re-checked."""
    return tuple(
        task
        for task, state in states.items()
        if state.status in ("untried", "training") or state.recheck_in <= 1
    )


def look_soon(
    states: Mapping[TaskId, TaskState], tasks: Collection[TaskId]
) -> dict[TaskId, TaskState]:
    """Return the states with `tasks` to be looked at in the next scan and often from then on."""
    return {
        task: replace(state, recheck_in=1, recheck_every=1) if task in tasks else state
        for task, state in states.items()
    }


def revive(
    state: TaskState, *, step: int, config: LifecycleConfig, reason: str = "revived by the user"
) -> tuple[TaskState, Transition]:
    """Return the state of a task that is trained again because somebody says so."""
    revived = _revived(state, step, config, reason)
    transition = Transition(
        task=state.task,
        step=step,
        before=state.status,
        after=revived.status,
        reason=reason,
        evidence=None,
    )
    return revived, transition


def task_budget(draws: int, tasks: int, config: LifecycleConfig) -> float:
    """Return how many draws a task may take before it must get better.

    Args:
        draws: Of the whole run.
        tasks: Of the run.
        config: Its `budget_share` counts.
    """
    return config.budget_share * draws / tasks


def _looked_at(
    state: TaskState,
    looks: Sequence[TaskEvidence],
    step: int,
    config: LifecycleConfig,
    *,
    rollouts_decide: bool,
) -> TaskState:
    history = state.history
    for look in looks:
        history = remember(history, replace(look, spent=state.spent), most=config.history)
    kind = _deciding_kind(history, step, rollouts_decide=rollouts_decide)
    if not deciding(state.history, kind, step=step):
        # Whatever row there was, it was of other weights or of another kind.
        state = replace(state, streak=0, doubts=0)
    state = replace(state, history=history, failures=0)
    new = any(look.kind == kind for look in looks)
    known = judge(state, step=step, kind=kind, config=config)
    verdict = known if new else None
    if verdict is not None:
        state = _counted(state, verdict, step, config)
        unproven = state.status != "passed" or (state.proxy and kind == "rollout")
        if unproven and state.streak >= config.pass_looks:
            return _passed(state, verdict, step, config)
    match state.status:
        case "untried":
            return replace(state, status="training", since_step=step, reason=_first_look(looks[-1]))
        case "training":
            return _exhausted_or_training(state, known, step, config)
        case "exhausted":
            return _revived_or_exhausted(state, step, config)
        case "passed":
            return _passed_or_forgotten(state, verdict, step, config)


def _deciding_kind(
    history: Sequence[TaskEvidence], step: int, *, rollouts_decide: bool
) -> EvidenceKind:
    """Return what is judged: episodes, as soon as there are any or a simulator could play them."""
    played = rollouts_decide or deciding(history, "rollout", step=step)
    return "rollout" if played else "open_loop"


def _counted(state: TaskState, verdict: Judgement, step: int, config: LifecycleConfig) -> TaskState:
    """Count a look as passing, or end the row. Looks that are too close count once."""
    if not verdict.enough or verdict.passing < config.pass_chance:
        return replace(state, streak=0)
    if state.streak and step - state.streak_step < config.look_steps:
        return state
    return replace(state, streak=state.streak + 1, streak_step=step)


def _passed(state: TaskState, verdict: Judgement, step: int, config: LifecycleConfig) -> TaskState:
    what = "episodes" if verdict.kind == "rollout" else "windows"
    return replace(
        state,
        status="passed",
        proxy=verdict.kind == "open_loop",
        since_step=step,
        doubts=0,
        recheck_in=1,
        recheck_every=1,
        reason=f"{_counts(verdict)} {what} passed: a rate of at least {config.passing:.2f} has "
        f"chance {verdict.passing:.3f}, on {state.streak} looks in a row",
    )


def _passed_or_forgotten(
    state: TaskState, verdict: Judgement | None, step: int, config: LifecycleConfig
) -> TaskState:
    if verdict is None:
        return replace(state, recheck_in=max(1, state.recheck_in - 1))
    doubts = state.doubts + 1 if verdict.failing >= config.fail_chance else 0
    enough = config.fail_chance if state.proxy else config.collapse_chance
    collapsed = verdict.kind == "rollout" and verdict.failing_now >= enough
    if doubts < config.fail_looks and not collapsed:
        sound = verdict.failing < config.doubt_chance
        return _rechecked(replace(state, doubts=doubts), config, sound=sound)
    chance = verdict.failing_now if collapsed else verdict.failing
    looks = "one look" if collapsed else f"{doubts} looks in a row"
    return replace(
        state,
        status="training",
        proxy=False,
        since_step=step,
        streak=0,
        doubts=0,
        boost=min(config.most_boost, state.boost * config.boost),
        reason=f"{_counts(verdict)} passed: a rate under {config.failing:.2f} has chance "
        f"{chance:.3f}, on {looks}",
    )


def _exhausted_or_training(
    state: TaskState, known: Judgement | None, step: int, config: LifecycleConfig
) -> TaskState:
    if state.budget <= 0.0 or state.spent < state.budget or state.streak:
        return state
    # What succeeds so often has no room to improve: it is not given up, only not proven yet.
    if known is not None and known.counts.rate >= config.passing:
        return state
    gain = most_gain(state, step=step, config=config)
    if gain >= config.gain:
        return state
    return replace(
        state,
        status="exhausted",
        since_step=step,
        recheck_in=1,
        recheck_every=1,
        reason=f"spent {state.spent:.0f} of {state.budget:.0f} draws, and as many again would "
        f"improve its score by at most {max(gain, 0.0):.3f}, under {config.gain}",
    )


def _revived_or_exhausted(state: TaskState, step: int, config: LifecycleConfig) -> TaskState:
    gain, error = probe_gain(state, step=step)
    if gain <= max(config.gain, config.gain_errors * error):
        return _rechecked(state, config, sound=True)
    reason = f"its score has improved by {gain:.3f} (standard error {error:.3f}) since then"
    return _revived(state, step, config, reason)


def _revived(state: TaskState, step: int, config: LifecycleConfig, reason: str) -> TaskState:
    return replace(
        state,
        status="training",
        proxy=False,
        since_step=step,
        budget=max(state.budget, state.spent if state.budget else 0.0) * config.budget_growth,
        streak=0,
        doubts=0,
        reason=reason,
    )


def _rechecked(state: TaskState, config: LifecycleConfig, *, sound: bool) -> TaskState:
    every = min(2 * state.recheck_every, config.recheck_most) if sound else 1
    return replace(state, recheck_in=every, recheck_every=every)


def _transition(
    before: TaskState, after: TaskState, step: int, looks: Sequence[TaskEvidence]
) -> list[Transition]:
    """Return what changed: the status, or that episodes confirmed a proxy."""
    if (before.status, before.proxy) == (after.status, after.proxy):
        return []
    newest = after.history[-len(looks) :]
    decisive = [each for each in newest if each.kind == "rollout"] or newest
    return [
        Transition(
            task=after.task,
            step=step,
            before=before.status,
            after=after.status,
            reason=after.reason,
            evidence=decisive[-1],
        )
    ]


def _counts(verdict: Judgement) -> str:
    return f"{verdict.counts.passed:.1f} of {verdict.counts.trials:.1f}"


def _first_look(look: TaskEvidence) -> str:
    return f"first look at it: {look.passed:.1f} of {look.trials:.1f} passed"
