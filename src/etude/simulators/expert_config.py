"""Settings of the `expert` policy: the benchmark's own scripted experts."""

from dataclasses import dataclass

from etude.core.plugins import Plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertConfig:
    """The experts have nothing to set."""


PLUGIN = Plugin(config=ExpertConfig, build="etude.simulators.expert_policy:build_expert_policy")
