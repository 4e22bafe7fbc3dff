"""Settings of a curriculum beside a trainer that is not Etude's own."""

from dataclasses import dataclass, field

from etude.core.limits import require_at_least
from etude.curriculum.lifecycle_config import LifecycleConfig
from etude.curriculum.rule_config import PlanConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class DropInConfig:
    """How a curriculum runs beside a trainer."""

    lag: int = 32
    """Batches that the loader may draw ahead, at least its workers times its prefetch factor.
    Plans take effect so many steps after the scores that led to them."""
    plan_every: int = 100
    """Least steps between two plans; scores in between only move the states."""
    steps: int = 0
    """Steps of the whole training, by which tasks get their budgets; 0 for no budgets."""
    lifecycle: LifecycleConfig = field(default_factory=LifecycleConfig)
    plan: PlanConfig = field(default_factory=PlanConfig)

    def __post_init__(self) -> None:
        require_at_least("lag", self.lag, 0)
        require_at_least("plan_every", self.plan_every, 1)
        require_at_least("steps", self.steps, 0)
