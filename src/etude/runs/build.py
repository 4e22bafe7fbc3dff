"""The composition root: the only place that looks up plug-ins and wires parts together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from etude.checkpoints.commit import CheckpointStore
from etude.core.errors import ConfigError, PolicyError
from etude.core.plugins import Plugin, find, named_function
from etude.core.protocols import Benchmark, Dataset, Policy
from etude.core.types import CheckpointRef, SamplingPlan
from etude.evaluate.environments import Builder
from etude.runs.run_config import RunConfig
from etude.serving.remote_policy import RemotePolicy
from etude.store.layout import RunFolder


def dataset_folder(config: RunConfig) -> Path:
    """Return where the dataset lies or will lie."""
    return Path(config.dataset.config.folder)


def open_dataset(config: RunConfig) -> Dataset:
    """Open the dataset that the configuration names.

    Raises:
        DataError: It is not there, or not what its metadata says.
    """
    return find("etude.datasets", config.dataset.use).builder()(config.dataset.config)


@runtime_checkable
class Weighted(Protocol):
    """A dataset that is several, of which each is to have its share of what is drawn."""

    def weighted(self, plan: SamplingPlan) -> SamplingPlan:
        """Return `plan` with the shares kept: only inside a dataset it decides."""
        ...


def weigh_plan(dataset: Dataset, plan: SamplingPlan) -> SamplingPlan:
    """Return what to draw by where `plan` is what the curriculum wants."""
    return dataset.weighted(plan) if isinstance(dataset, Weighted) else plan


def benchmark_builder(config: RunConfig) -> Builder:
    """Return how the simulator is built, in this process or another."""
    return _simulator(config).build, config.simulator.config


def build_benchmark(config: RunConfig) -> Benchmark:
    """Build the simulator that the configuration names.

    Raises:
        ConfigError: It has no such task.
    """
    return _simulator(config).builder()(config.simulator.config)


def module_builder(config: RunConfig) -> Callable[..., tuple[Any, Sequence[str]]]:
    """Return the function that makes the module to train.

    Raises:
        ConfigError: The policy cannot be trained.
    """
    plugin = find("etude.policies", config.policy.use)
    if not plugin.trainable:
        raise ConfigError(
            f"policy.use is {config.policy.use!r}, which cannot be trained",
            hint="Use a policy that learns, such as --policy.use chunk.",
        )
    return named_function(plugin.trainable)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPolicy:
    """A policy and where it comes from."""

    policy: Policy
    use: str
    checkpoint: str | None
    """The checkpoint's folder, relative to the run where it lies in one."""
    step: int | None


def load_policy(config: RunConfig, folder: RunFolder, benchmark: Benchmark) -> LoadedPolicy:
    """Load the policy to evaluate: `policy.path`, or the newest checkpoint of the run.

    Raises:
        PolicyError: There is no such checkpoint, or it holds no such policy.
    """
    use = config.policy.use
    plugin = find("etude.policies", use)
    if not plugin.trainable:
        policy = plugin.builder()(config.policy.config, benchmark=benchmark)
        return LoadedPolicy(policy=policy, use=use, checkpoint=None, step=None)
    path, ref = checkpoint_to_load(config, folder)
    policy = plugin.builder()(path)
    if ref is None:
        return LoadedPolicy(policy=policy, use=use, checkpoint=str(path), step=None)
    return LoadedPolicy(policy=policy, use=use, checkpoint=ref.folder, step=ref.step)


def remote_policy(config: RunConfig) -> RemotePolicy:
    """Return the policy behind the server that the configuration names; it is not asked yet."""
    return find("etude.policies", config.policy.use).builder()(config.policy.config)


def checkpoint_to_load(config: RunConfig, folder: RunFolder) -> tuple[Path, CheckpointRef | None]:
    """Return where `policy.path` points, or the newest checkpoint of the run and what it is.

    Raises:
        PolicyError: There is no such checkpoint.
        DataError: The newest checkpoint is damaged.
    """
    if config.policy.path:
        path = Path(config.policy.path)
        if not path.is_dir():
            raise PolicyError(
                f"policy.path is {path}, where there is no folder",
                hint="Give it a checkpoint folder, e.g. runs/mt50/checkpoints/step-00001000.",
            )
        return path, None
    store = CheckpointStore(folder.checkpoints)
    ref = store.latest()
    if ref is None:
        raise PolicyError(
            f"{folder.root} has no checkpoint to load",
            hint="Train first: etude train RECIPE, or give --policy.path a checkpoint.",
        )
    return store.path(ref), ref


def _simulator(config: RunConfig) -> Plugin:
    return find("etude.simulators", config.simulator.use)
