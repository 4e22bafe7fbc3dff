"""Loading a configuration: recipe and flags in, one checked value or every fault out."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from etude.runs.contradictions import contradictions
from etude.runs.faults import Fault, config_error
from etude.runs.overrides import Flag, apply_flags, parse_flags
from etude.runs.recipe import Setting, read_recipe
from etude.runs.run_config import Component, RuleComponent, RunConfig
from etude.runs.sections import FIXED, NAMES, PLUGINS, choose, unknown_settings
from etude.runs.validation import check

__all__ = ["Component", "Loaded", "RunConfig", "load", "load_with_sources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A configuration and where its settings come from."""

    config: RunConfig
    sources: Mapping[str, str]
    """Dotted name to "recipe.toml:7" or a flag, for every setting that is not a default."""


def load(recipe: Path | None, overrides: Sequence[str] = ()) -> RunConfig:
    """Return the configuration of a recipe with flags such as `--train.lr 1e-4` laid over it.

    Raises:
        ConfigError: The file cannot be read, or settings are wrong; it names all of them.
        MissingToolError: A plug-in needs a package that is not installed.
    """
    return load_with_sources(recipe, overrides).config


def load_with_sources(recipe: Path | None, overrides: Sequence[str] = ()) -> Loaded:
    """Return what `load` does, and where each setting comes from.

    Raises:
        ConfigError: The file cannot be read, or settings are wrong; it names all of them.
        MissingToolError: A plug-in needs a package that is not installed.
    """
    flags = parse_flags(overrides)
    given = read_recipe(recipe, sections=NAMES) if recipe else {}
    # Only once the plug-ins are chosen is it known which settings there are, and their types.
    choice = choose(apply_flags(given, flags, types={f"{name}.use": str for name in PLUGINS}))
    settings = apply_flags(_still_meant(given, flags), flags, types=choice.types)
    parts = {name: check(kind, settings, section=name) for name, kind in choice.kinds.items()}
    uses = {name: check(use, settings, section=name) for name, (_, use) in PLUGINS.items()}
    faults = [*choice.faults, *unknown_settings(settings, choice)]
    faults += [fault for part in (*parts.values(), *uses.values()) for fault in part.faults]
    made = {name: part.config for name, part in parts.items() if part.config is not None}
    faults += _contradictions(made, settings, faults)
    if faults:
        order = [*settings, *(fault.path for fault in faults)]
        raise config_error(sorted(faults, key=lambda fault: order.index(fault.path)))
    config = _join(made, {name: part.config for name, part in uses.items()}, recipe)
    sources = {path: setting.source for path, setting in settings.items()}
    return Loaded(config=config, sources=sources)


def _still_meant(given: Mapping[str, Setting], flags: Sequence[Flag]) -> dict[str, Setting]:
    """Leave out what a recipe says to a plug-in that a flag replaces by another."""
    meant = dict(given)
    for name, (_, use) in PLUGINS.items():
        path = f"{name}.use"
        before = given[path].value if path in given else use().use
        after = [flag.words for flag in flags if flag.path == path]
        if after and after[-1] != (before,):
            own = {f"{name}.{each.name}" for each in fields(use)} - {path, f"{name}.path"}
            meant = {
                each: setting
                for each, setting in meant.items()
                if each in own or each.partition(".")[0] != name
            }
    return meant


def _contradictions(
    made: Mapping[str, Any], settings: Mapping[str, Setting], faults: Sequence[Fault]
) -> list[Fault]:
    """Return how sections contradict each other in settings that are not wrong already."""
    if not {*FIXED, "dataset"} <= set(made):
        return []
    found = contradictions(
        steps=made[""].steps,
        dataset=made["dataset"],
        demos=made["demos"],
        train=made["train"],
        evaluation=made["eval"],
        score=made["score"],
        lifecycle=made["lifecycle"],
    )
    wrong = {fault.path for fault in faults}
    told: list[Fault] = []
    for fault in found:
        named = re.findall(r"\w+(?:\.\w+)*", fault.text)
        sources = [settings[path].source for path in dict.fromkeys(named) if path in settings]
        if not wrong & set(named):
            told.append(replace(fault, source=", ".join(sources)))
    return told


def _join(made: Mapping[str, Any], uses: Mapping[str, Any], recipe: Path | None) -> RunConfig:
    top = made[""]
    parts = {name: made[name] for name in FIXED if name}
    for name in PLUGINS:
        header = uses[name]
        kind = RuleComponent if name == "curriculum" else Component
        told = {each.name: getattr(header, each.name) for each in fields(header)}
        parts[name] = kind(config=made[name], **told)
    return RunConfig(
        output_dir=top.output_dir or f"runs/{recipe.stem if recipe else 'unnamed'}",
        seed=top.seed,
        steps=top.steps,
        batch_size=top.batch_size,
        init=top.init,
        **parts,
    )
