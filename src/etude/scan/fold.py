"""From scores of windows to what they say of tasks, and from ranks' shares to one whole.

A verdict is a fold over scores: never kept, always made anew, so that thresholds may change freely.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeVar

from etude.core.errors import ScanError
from etude.core.statistics import weighted_mean
from etude.core.types import ContentKey, TaskScan, WindowScore
from etude.scan.plan import TaskPlan
from etude.scan.score import passes
from etude.scan.sequential import Evidence, evidence_of, pass_interval
from etude.scan.strata import importance

T = TypeVar("T")

TAIL = 0.9
WORST = 1.0
"""A window that is further off than this counts as this far: no better than holding still."""
NAMED = 5
"""Most items that one message names."""


def fold_task(plan: TaskPlan, scores: Sequence[WindowScore], *, tau: float) -> TaskScan:
    """Return what the scored windows of one task say, in whatever order they come.

    Args:
        plan: The windows that were to be scored.
        scores: Those that were.
        tau: Largest ratio of a group with which a window passes.

    Raises:
        ScanError: Nothing was scored, or something that the plan does not know.
    """
    if not scores:
        raise ScanError(
            f"{plan.task} has no scored window",
            hint="Raise scan.time_limit_s, so that every task gets one.",
        )
    scores = sorted(scores, key=lambda score: score.choice.place)
    weights = _weights(plan, scores)
    passed = [passes(score.groups, tau=tau) for score in scores]
    evidence = _evidence(scores, weights, tau=tau)
    errors = [score.gmse for score in scores]
    return TaskScan(
        task=plan.task,
        windows=len(scores),
        of=plan.of,
        gmse=weighted_mean([min(error, WORST) for error in errors], weights),
        gmse_p90=weighted_quantile(errors, weights, TAIL),
        groups={
            name: weighted_mean([score.groups[name] for score in scores], weights)
            for name in scores[0].groups
        },
        passed=evidence.passed,
        pass_rate=pass_interval(evidence, passed=sum(passed), windows=len(scores)),
        mse=weighted_mean([score.mse for score in scores], weights),
        mae=weighted_mean([score.mae for score in scores], weights),
        verdict=evidence.verdict,
    )


def task_evidence(plan: TaskPlan, scores: Sequence[WindowScore], *, tau: float) -> Evidence:
    """Return what the windows scored so far say about a task's pass rate.

    Raises:
        ScanError: A score is of a window that the plan does not know.
    """
    scores = sorted(scores, key=lambda score: score.choice.place)
    return _evidence(scores, _weights(plan, scores), tau=tau)


def weighted_quantile(values: Sequence[float], weights: Sequence[float], share: float) -> float:
    """Return the value under which `share` of the weight lies.

    Where the share falls exactly between two values it is their mean, so that equal weights give
    the usual median.
    """
    ranked = sorted(zip(values, weights, strict=True))
    total = math.fsum(weights)
    below = 0.0
    for place, (value, weight) in enumerate(ranked):
        below += weight
        if math.isclose(below, share * total, rel_tol=1e-9) and place + 1 < len(ranked):
            return (value + ranked[place + 1][0]) / 2
        if below >= share * total:
            return value
    return ranked[-1][0]


def merge(
    shares: Sequence[Sequence[tuple[ContentKey, T]]],
    expected: Sequence[ContentKey],
    *,
    names: Mapping[ContentKey, str] | None = None,
) -> dict[ContentKey, T]:
    """Return all ranks' results in the order of `expected`: each key once, none missing.

    Args:
        shares: What each rank did, in rank order.
        expected: What all ranks together had to do.
        names: What messages call the keys.

    Raises:
        ScanError: A key came twice, not at all, or was never asked for.
    """
    ranks: dict[ContentKey, list[int]] = {}
    for rank, share in enumerate(shares):
        for key, _ in share:
            ranks.setdefault(key, []).append(rank)
    wanted = Counter(expected)
    faults = {
        "came twice": [key for key in ranks if len(ranks[key]) > 1],
        "asked for twice": [key for key, count in wanted.items() if count > 1],
        "is missing": [key for key in wanted if key not in ranks],
        "never asked for": [key for key in ranks if key not in wanted],
    }
    told = [_fault(what, keys, names or {}, ranks) for what, keys in faults.items() if keys]
    if told:
        raise ScanError(
            f"of {len(wanted)} items of work {'; '.join(told)}",
            hint="Check that every rank was started with the same command and the same data, "
            "then run it again.",
        )
    results = {key: result for share in shares for key, result in share}
    return {key: results[key] for key in expected}


def _fault(
    what: str,
    keys: Sequence[ContentKey],
    names: Mapping[ContentKey, str],
    ranks: Mapping[ContentKey, Sequence[int]],
) -> str:
    what = what if len(keys) == 1 else what.replace("is ", "are ")
    shown = [names.get(key, key) + _by(ranks.get(key, ())) for key in keys[:NAMED]]
    more = [f"and {len(keys) - NAMED} more"] if len(keys) > NAMED else []
    return f"{len(keys)} {what}: {', '.join([*shown, *more])}"


def _by(ranks: Sequence[int]) -> str:
    if not ranks:
        return ""
    known = sorted(set(ranks))
    if len(known) == 1:
        return f" (rank {known[0]})"
    return f" (ranks {', '.join(map(str, known[:-1]))} and {known[-1]})"


def _weights(plan: TaskPlan, scores: Sequence[WindowScore]) -> list[float]:
    known = {choice.place for choice in plan.choices}
    for score in scores:
        choice = score.choice
        if choice.task != plan.task or choice.place not in known:
            raise ScanError(
                f"{choice.task} episode {choice.episode} frame {choice.frame} was scored, "
                f"but is not planned for {plan.task}, or was scored twice"
            )
        known.remove(choice.place)
    stands_for = plan.weights(score.choice for score in scores)
    return [
        weight * importance(score.choice.stratum)
        for weight, score in zip(stands_for, scores, strict=True)
    ]


def _evidence(scores: Sequence[WindowScore], weights: Sequence[float], *, tau: float) -> Evidence:
    return evidence_of(
        [passes(score.groups, tau=tau) for score in scores],
        weights=weights,
        episodes=[score.choice.episode for score in scores],
    )
