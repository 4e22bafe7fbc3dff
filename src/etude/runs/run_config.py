"""The configuration of a run as one value."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from etude.checkpoints.save_config import SaveConfig
from etude.compute.world_config import WorldConfig
from etude.core.limits import require_at_least
from etude.datasets.lerobot_config import LeRobotConfig
from etude.evaluate.eval_config import EvalConfig
from etude.policies.chunk_config import ChunkConfig
from etude.runs.demos_config import DemosConfig
from etude.runs.faults import Fault, config_error
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
    train: TrainConfig = field(default_factory=TrainConfig)
    save: SaveConfig = field(default_factory=SaveConfig)
    eval: EvalConfig = field(default_factory=EvalConfig)
    scan: ScanConfig = field(default_factory=ScanConfig)
    cache: CacheConfig = field(default_factory=CacheConfig)
    world: WorldConfig = field(default_factory=WorldConfig)

    def __post_init__(self) -> None:
        TopConfig.__post_init__(self)
        found = contradictions(
            top=self,
            dataset=self.dataset.config,
            demos=self.demos,
            train=self.train,
            evaluation=self.eval,
        )
        if found:
            raise config_error(found)


def contradictions(
    *,
    top: TopConfig,
    dataset: object,
    demos: DemosConfig,
    train: TrainConfig,
    evaluation: EvalConfig,
) -> Sequence[Fault]:
    """Return what settings of different sections say against each other."""
    faults: list[Fault] = []
    if train.warmup_steps > top.steps:
        faults.append(
            Fault(
                path="train.warmup_steps",
                text=f"train.warmup_steps is {train.warmup_steps}, over steps ({top.steps})",
                hint="Lower train.warmup_steps or raise steps.",
            )
        )
    beyond = demos.seed + demos.tries * demos.episodes
    if beyond > evaluation.first_seed:
        faults.append(
            Fault(
                path="eval.first_seed",
                text=f"eval.first_seed is {evaluation.first_seed}, inside the seeds of "
                f"demonstrations (demos.seed + demos.tries x demos.episodes = {beyond})",
                hint=f"Set eval.first_seed to {beyond} or more.",
            )
        )
    held_out = getattr(dataset, "hold_out_episodes", 0)
    if held_out > 0 and train.held_out_every == 0:
        faults.append(
            Fault(
                path="dataset.hold_out_episodes",
                text=f"dataset.hold_out_episodes is {held_out}, but nothing uses them: "
                "train.held_out_every is 0",
                hint="Set dataset.hold_out_episodes to 0, or train.held_out_every over 0.",
            )
        )
    return faults
