"""The configuration of a run as one value."""

from dataclasses import dataclass, field
from typing import Any

from etude.checkpoints.save_config import SaveConfig
from etude.compute.strategy_config import ParallelConfig
from etude.compute.world_config import WorldConfig
from etude.core.limits import require_at_least
from etude.curriculum.lifecycle_config import DriftConfig, LifecycleConfig
from etude.curriculum.rule_config import LearnabilityConfig, PlanConfig
from etude.datasets.lerobot_config import LeRobotConfig
from etude.evaluate.eval_config import EvalConfig
from etude.policies.chunk_config import ChunkConfig
from etude.runs.adaptive_config import ScoreConfig
from etude.runs.contradictions import contradictions
from etude.runs.demos_config import DemosConfig
from etude.runs.faults import config_error
from etude.scan.scan_config import ScanConfig
from etude.simulators.metaworld_config import MetaworldConfig
from etude.store.cache_config import CacheConfig
from etude.train.train_config import TrainConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A plug-in by name, with its own settings."""

    use: str
    """Name of the plug-in."""
    config: Any
    """An instance of the plug-in's config dataclass."""
    path: str = ""
    """Policies only: the checkpoint to evaluate or scan; empty means the run's own newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleComponent(Component):
    """The rule that weighs tasks, and when it does."""

    every: int = 100
    """Steps between two plans of what is practised."""
    lag: int = 8
    """Steps after which a plan takes effect; at least as many as are drawn ahead."""
    windows: str = ""
    """Sample scan by which frames inside tasks are drawn, hard ones more often: a record of `etude
    scan samples`, or a run that has one; empty draws all frames of a task alike."""
    reference: str = ""
    """Losses that the rule `excess_loss` compares with: a run that drew all tasks alike, or a JSON
    file of losses by task; empty takes the best score that each task has had."""

    def __post_init__(self) -> None:
        require_at_least("every", self.every, 1)
        require_at_least("lag", self.lag, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopConfig:
    """The settings that stand outside of every section."""

    output_dir: str = ""
    """Folder of the run; empty means runs/<name of the recipe>."""
    seed: int = 0
    """Decides the initial weights and the order of the data."""
    steps: int = 20_000
    """Optimiser steps of the whole run."""
    batch_size: int = 512
    """Windows in one optimiser step."""
    init: str = ""
    """Checkpoint, or its hf folder, with whose weights training begins; empty means new ones."""

    def __post_init__(self) -> None:
        require_at_least("seed", self.seed, 0)
        require_at_least("steps", self.steps, 1)
        require_at_least("batch_size", self.batch_size, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig(TopConfig):
    """Everything that decides what a run does."""

    dataset: Component = field(
        default_factory=lambda: Component(use="lerobot_v3", config=LeRobotConfig())
    )
    simulator: Component = field(
        default_factory=lambda: Component(use="metaworld", config=MetaworldConfig())
    )
    demos: DemosConfig = field(default_factory=DemosConfig)
    policy: Component = field(default_factory=lambda: Component(use="chunk", config=ChunkConfig()))
    curriculum: RuleComponent = field(
        default_factory=lambda: RuleComponent(use="learnability", config=LearnabilityConfig())
    )
    score: ScoreConfig = field(default_factory=ScoreConfig)
    lifecycle: LifecycleConfig = field(default_factory=LifecycleConfig)
    plan: PlanConfig = field(default_factory=PlanConfig)
    drift: DriftConfig = field(default_factory=DriftConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    parallel: ParallelConfig = field(default_factory=ParallelConfig)
    save: SaveConfig = field(default_factory=SaveConfig)
    eval: EvalConfig = field(default_factory=EvalConfig)
    scan: ScanConfig = field(default_factory=ScanConfig)
    cache: CacheConfig = field(default_factory=CacheConfig)
    world: WorldConfig = field(default_factory=WorldConfig)

    def __post_init__(self) -> None:
        TopConfig.__post_init__(self)
        found = contradictions(
            steps=self.steps,
            dataset=self.dataset.config,
            demos=self.demos,
            train=self.train,
            evaluation=self.eval,
            score=self.score,
            lifecycle=self.lifecycle,
        )
        if found:
            raise config_error(found)
