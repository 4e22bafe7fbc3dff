"""Writing a configuration as a recipe in which nothing is left open."""

import ast
import dataclasses
import functools
import inspect
import itertools
import textwrap
from collections.abc import Mapping
from typing import Any, cast

import tomlkit
from tomlkit.items import Item, Table

from etude.runs.run_config import Component, RunConfig, TopConfig

WIDTH = 96
"""Longest comment line, in characters."""


def to_toml(config: RunConfig, sources: Mapping[str, str] | None = None) -> str:
    """Return a recipe that loads back to an equal configuration.

    Every setting is there, with what it means above it and behind it where its value comes from:
    "recipe.toml:7", a flag, or "default".

    Args:
        sources: Where settings come from, by dotted name; those not named are defaults. None
            leaves the origins out.
    """
    document = tomlkit.document()
    _add(document, TopConfig, config, section="", sources=sources)
    for field in dataclasses.fields(config):
        value: Any = getattr(config, field.name)
        if not dataclasses.is_dataclass(value):
            continue
        table = tomlkit.table()
        if isinstance(value, Component):
            names = _header(field.name, value)
            _add(table, type(value), value, section=field.name, sources=sources, names=names)
            value = value.config
        kind = cast("type[Any]", type(value))
        _add(table, kind, value, section=field.name, sources=sources)
        document.add(field.name, table)
    return tomlkit.dumps(document)


def _header(section: str, component: Component) -> list[str]:
    """Return the settings of a component that are none of its plug-in's."""
    names = [each.name for each in dataclasses.fields(component) if each.name != "config"]
    return [name for name in names if name != "path" or component.path or section == "policy"]


@functools.cache
def field_texts(kind: type[Any]) -> Mapping[str, str]:
    """Return the text that stands below each field of a config dataclass in its source."""
    texts: dict[str, str] = {}
    for parent in reversed(kind.__mro__[:-1]):
        try:
            source = inspect.getsource(parent)
        except (OSError, TypeError):
            # A class that was not read from a file has no comments to show.
            continue
        (definition,) = ast.parse(textwrap.dedent(source)).body
        body = definition.body if isinstance(definition, ast.ClassDef) else []
        for node, following in itertools.pairwise(body):
            match node, following:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    texts[name] = " ".join(text.split())
                case _:
                    pass
    return texts


def _add(
    table: "Table | tomlkit.TOMLDocument",
    kind: type[Any],
    value: object,
    *,
    section: str,
    sources: Mapping[str, str] | None,
    names: list[str] | None = None,
) -> None:
    """Append the settings of `kind`, read from `value`, to `table`."""
    texts = field_texts(kind)
    for name in names or [field.name for field in dataclasses.fields(kind)]:
        setting = getattr(value, name)
        if setting is None:
            # TOML has no null; a setting that is None stays open and gets its default again.
            continue
        for line in textwrap.wrap(texts.get(name, ""), WIDTH):
            table.add(tomlkit.comment(line))
        item = cast("Item", tomlkit.item(_plain(setting)))
        if sources is not None:
            source = sources.get(f"{section}.{name}" if section else name, "default")
            # A comment cannot hold what a file name can, such as a line end.
            item.comment("".join(char if char.isprintable() else "?" for char in source))
        table.add(name, item)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in cast("list[Any]", value)]
    return value
