"""Settings of the `metaworld` simulator."""

from dataclasses import dataclass

from etude.core.plugins import Plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaworldConfig:
    """Which tasks of Meta-World MT50 take part."""

    tasks: tuple[str, ...] = ()
    """Names such as "door-open-v3"; empty means all fifty."""


PLUGIN = Plugin(config=MetaworldConfig, build="etude.simulators.metaworld:build_metaworld")
