"""Which sections a recipe has, and which settings each of them knows."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from etude.checkpoints.save_config import SaveConfig
from etude.compute.strategy_config import ParallelConfig
from etude.compute.world_config import WorldConfig
from etude.core.errors import ConfigError
from etude.core.limits import require_at_least
from etude.core.plugins import find
from etude.curriculum.lifecycle_config import DriftConfig, LifecycleConfig
from etude.curriculum.rule_config import PlanConfig
from etude.evaluate.eval_config import EvalConfig
from etude.runs.adaptive_config import ScoreConfig
from etude.runs.demos_config import DemosConfig
from etude.runs.faults import Fault, shown
from etude.runs.recipe import Setting
from etude.runs.run_config import TopConfig
from etude.runs.validation import nearest, setting_types
from etude.scan.scan_config import ScanConfig
from etude.store.cache_config import CacheConfig
from etude.train.train_config import TrainConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """The key that every plug-in section has."""

    use: str = ""
    """Name of the plug-in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UseDataset(Use):
    """What the section `dataset` has, whatever it uses."""

    use: str = "lerobot_v3"


@dataclass(frozen=True, slots=True, kw_only=True)
class UseSimulator(Use):
    """What the section `simulator` has, whatever it uses."""

    use: str = "metaworld"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsePolicy(Use):
    """What the section `policy` has, whatever it uses."""

    use: str = "chunk"
    path: str = ""
    """The checkpoint to evaluate or scan; empty means the run's own newest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UseRule(Use):
    """What the section `curriculum` has, whatever it uses."""

    use: str = "learnability"
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


FIXED: Mapping[str, type[Any]] = {
    "": TopConfig,
    "demos": DemosConfig,
    "score": ScoreConfig,
    "lifecycle": LifecycleConfig,
    "plan": PlanConfig,
    "drift": DriftConfig,
    "train": TrainConfig,
    "parallel": ParallelConfig,
    "save": SaveConfig,
    "eval": EvalConfig,
    "scan": ScanConfig,
    "cache": CacheConfig,
    "world": WorldConfig,
}
"""Sections whose settings are always the same; "" is the top of the file."""

PLUGINS: Mapping[str, tuple[str, type[Use]]] = {
    "dataset": ("etude.datasets", UseDataset),
    "simulator": ("etude.simulators", UseSimulator),
    "policy": ("etude.policies", UsePolicy),
    "curriculum": ("etude.rules", UseRule),
}
"""Sections whose key `use` names an entry point: its group, and what they have in any case."""

NAMES = (*(name for name in FIXED if name), *PLUGINS)


@dataclass(slots=True, kw_only=True)
class Choice:
    """The config types of all sections, now that the plug-ins are known."""

    kinds: dict[str, type[Any]]
    """A section whose plug-in was not found is missing."""
    types: dict[str, Any]
    """Type of every setting by dotted name."""
    faults: list[Fault] = field(default_factory=list[Fault])


def choose(settings: Mapping[str, Setting]) -> Choice:
    """Find the plug-ins that `settings` name.

    Raises:
        MissingToolError: A plug-in needs a package that is not installed.
    """
    choice = Choice(kinds=dict(FIXED), types={})
    for section, (group, header) in PLUGINS.items():
        choice.types |= setting_types(header, section=section)
        setting = settings.get(f"{section}.use")
        use = header().use if setting is None else setting.value
        if not isinstance(use, str):
            continue
        try:
            choice.kinds[section] = find(group, use).config
        except ConfigError as error:
            path, source = f"{section}.use", "" if setting is None else setting.source
            text = f"{path} is {shown(use)}, which no installed package provides"
            choice.faults.append(Fault(path=path, text=text, source=source, hint=error.hint))
    for section, kind in choice.kinds.items():
        choice.types |= setting_types(kind, section=section)
    return choice


def unknown_settings(settings: Mapping[str, Setting], choice: Choice) -> list[Fault]:
    """Return a fault for each setting that does not exist, with the nearest one that does.

    A section whose plug-in was not found is passed over.
    """
    unread = set(PLUGINS) - set(choice.kinds)
    return [
        _unknown(path, setting, choice.types)
        for path, setting in settings.items()
        if path not in choice.types and path.partition(".")[0] not in unread
    ]


def _unknown(path: str, setting: Setting, types: Mapping[str, Any]) -> Fault:
    section = path.rpartition(".")[0]
    is_table = isinstance(setting.value, dict)
    if path in NAMES:
        what, hint = "not a section", f"Write [{path}], and its settings below."
    elif section not in ("", *NAMES) or is_table:
        what = "but there is no such section"
        close = difflib.get_close_matches(section or path, NAMES, n=1)
        hint = f"The nearest is [{close[0]}]." if close else f"Use one of: {', '.join(NAMES)}."
    else:
        what = "but there is no such setting"
        close = nearest(path, types)
        known = ", ".join(name for name in types if name.rpartition(".")[0] == section)
        hint = f"The nearest is {' or '.join(close)}." if close else f"Use one of: {known}."
    text = f"{path} is {shown(setting.value)}, {what}"
    return Fault(path=path, text=text, source=setting.source, hint=hint)
