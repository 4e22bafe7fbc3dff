"""What finished runs say about rules: gains over drawing tasks alike, with paired intervals.

A gain is the mean over seeds of the difference between two runs that began alike; its interval is
that of Student's t over the seeds. With one seed there is none.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import mean, stdev
from typing import Any

from etude.core.statistics import student_t95

DEFAULT, ALIKE = "learnability", "uniform"
WORST = 10
"""Tasks of a run with the least success."""
TARGET = 0.97
"""Success to which steps are counted, unless a rule ends below."""

Run = Mapping[str, Any]
Measure = Callable[[Run], float]


def figures(rows: Sequence[Run]) -> dict[str, Any]:
    """Return the figures of every regime that has runs of both the default rule and `uniform`."""
    regimes = dict.fromkeys(row["regime"] for row in rows)
    told = {
        name: regime_figures([row for row in rows if row["regime"] == name]) for name in regimes
    }
    return {name: each for name, each in told.items() if each}


def regime_figures(rows: Sequence[Run]) -> dict[str, Any]:
    """Return the gains of every rule in one regime, and the raw rates they come from."""
    by_rule: dict[str, dict[int, Run]] = {}
    for row in rows:
        by_rule.setdefault(row["rule"], {})[row["seed"]] = row
    if not {DEFAULT, ALIKE} <= set(by_rule):
        return {}
    rules = {name: rule_figures(runs, by_rule[ALIKE]) for name, runs in by_rule.items()}
    paired = sorted(set(by_rule[DEFAULT]) & set(by_rule[ALIKE]))
    return {
        "steps": rows[0]["steps"],
        "seeds": len(paired),
        "episodes_a_task": rows[0]["episodes"],
        **{name: value for name, value in rules[DEFAULT].items() if name != "seeds"},
        "rules": {name: each for name, each in rules.items() if name != DEFAULT},
        "rates": {
            str(seed): {
                name: final_rates(runs[seed]) for name, runs in by_rule.items() if seed in runs
            }
            for seed in paired
        },
        "marked": {str(seed): by_rule[ALIKE][seed]["marked"] for seed in paired},
    }


def rule_figures(runs: Mapping[int, Run], alike: Mapping[int, Run]) -> dict[str, Any]:
    """Return what a rule reaches, and what it gains over the runs that draw tasks alike."""
    seeds = sorted(set(runs) & set(alike))
    pairs = [(runs[seed], alike[seed]) for seed in seeds]
    found: dict[str, Any] = {
        "success": round(mean(overall(run) for run in runs.values()), 4),
        "seeds": len(seeds),
    }
    if pairs:
        found |= _gain("mean", pairs, overall, interval="interval")
        found |= _gain("worst10", pairs, worst)
        found["speedup"] = speedup([run for run, _ in pairs], [base for _, base in pairs])
    if any(run["marked"] for run in runs.values()):
        found["marked_share"] = round(mean(map(marked_share, runs.values())), 4)
        found["marked_share_most"] = round(max(map(marked_share, runs.values())), 4)
        found |= _gain("new", pairs, marked_success) | _gain("old", pairs, other_success)
    trained = sum(run["train_s"] for run in runs.values())
    for name, cost in (("scored_share", "scored_s"), ("first_look_share", "first_look_s")):
        found[name] = round(sum(run[cost] for run in runs.values()) / trained, 4)
    return found


def _gain(
    name: str, pairs: Sequence[tuple[Run, Run]], measure: Measure, *, interval: str = ""
) -> dict[str, Any]:
    gains = [measure(run) - measure(base) for run, base in pairs]
    if not gains:
        return {}
    middle, half = mean(gains), half_width(gains)
    bounds = None if half is None else [round(middle - half, 4), round(middle + half, 4)]
    return {f"gain_{name}": round(middle, 4), interval or f"interval_{name}": bounds}


def half_width(values: Sequence[float]) -> float | None:
    """Return half of the 95 % interval of a mean by Student's t; None of a single value."""
    if len(values) < 2:
        return None
    return student_t95(len(values) - 1) * stdev(values) / math.sqrt(len(values))


def final_rates(run: Run) -> list[float]:
    """Return the success of every task at the end."""
    return run["curve"][-1]["rates"]


def overall(run: Run) -> float:
    """Return the mean success over tasks at the end."""
    return mean(final_rates(run))


def worst(run: Run) -> float:
    """Return the mean success of the tasks with the least."""
    return mean(sorted(final_rates(run))[:WORST])


def marked_success(run: Run) -> float:
    """Return the mean success of the tasks that the regime is about."""
    return mean(final_rates(run)[task] for task in run["marked"])


def other_success(run: Run) -> float:
    """Return the mean success of the other tasks."""
    marked = set(run["marked"])
    return mean(rate for task, rate in enumerate(final_rates(run)) if task not in marked)


def marked_share(run: Run) -> float:
    """Return which share of all draws went to the tasks that the regime is about."""
    return sum(run["draws"][task] for task in run["marked"]) / sum(run["draws"])


def speedup(runs: Sequence[Run], alike: Sequence[Run]) -> float | None:
    """Return how many times fewer steps the mean of `runs` takes to a success than `alike`.

    It is the target, or what the lower of the two reaches. None where success was measured once.
    """
    ours, theirs = mean_curve(runs), mean_curve(alike)
    if len(ours) < 2:
        return None
    goal = min(TARGET, ours[-1][1], theirs[-1][1])
    return round(steps_to(goal, theirs) / steps_to(goal, ours), 3)


def mean_curve(runs: Sequence[Run]) -> list[tuple[float, float]]:
    """Return steps and the mean success there."""
    columns = zip(*(run["curve"] for run in runs), strict=True)
    return [(at[0]["step"], mean(mean(each["rates"]) for each in at)) for at in columns]


def steps_to(goal: float, curve: Sequence[tuple[float, float]]) -> float:
    """Return the steps at which a curve first reaches `goal`, on straight lines between points."""
    before = curve[0]
    for step, success in curve:
        if success >= goal:
            rise = success - before[1]
            part = (goal - before[1]) / rise if rise > 0 else 0.0
            return before[0] + max(0.0, part) * (step - before[0]) if rise > 0 else step
        before = (step, success)
    return math.inf
