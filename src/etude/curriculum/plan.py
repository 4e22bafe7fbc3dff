"""Sampling plans: how often each task is drawn."""

import math
from collections.abc import Sequence

from etude.core.errors import ConfigError
from etude.core.types import SamplingPlan, TaskId

TOLERANCE = 1e-9
"""How far the weights of a plan may sum from 1."""


def uniform_plan(tasks: Sequence[TaskId]) -> SamplingPlan:
    """Return the plan that draws every task equally often, however many frames it has."""
    return SamplingPlan(weights={task: 1 / len(tasks) for task in tasks})


def check_plan(plan: SamplingPlan) -> None:
    """Refuse a plan that is no distribution.

    Raises:
        ConfigError: A weight is negative or not finite, or they do not sum to 1.
    """
    for task, weight in plan.weights.items():
        if not math.isfinite(weight) or weight < 0:
            raise ConfigError(f"weight of task {task} is {weight}, not a number of at least 0")
    total = math.fsum(plan.weights.values())
    if abs(total - 1) > TOLERANCE:
        raise ConfigError(f"weights of {len(plan.weights)} tasks sum to {total}, not to 1")
