"""Finding components by name through entry points."""

import difflib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from etude.core.errors import ConfigError, MissingToolError


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """What an entry point must name: a frozen config dataclass and a function that builds.

    The function is named, not held, so that a configuration can be read and checked without the
    libraries that the component itself needs.
    """

    config: type[Any]
    build: str
    """`module:function`; called with the config and with what its kind of component is handed."""
    trainable: str = ""
    """For policies that Etude can train: the `module:function` that makes the module to train."""

    def builder(self) -> Callable[..., Any]:
        """Import and return the function that builds the component.

        Raises:
            MissingToolError: It needs a package that is not installed.
        """
        return named_function(self.build)


def named_function(path: str) -> Callable[..., Any]:
    """Import and return what `module:function` names.

    Raises:
        MissingToolError: The module needs a package that is not installed.
    """
    module, _, function = path.partition(":")
    try:
        return getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        raise _missing(module, error) from error


def find(group: str, name: str) -> Plugin:
    """Import and return the plugin `name` of `group`, e.g. ("etude.policies", "chunk").

    Only the named plugin is imported; the others stay cold.

    Raises:
        ConfigError: No installed package provides it.
        MissingToolError: It needs a package that is not installed.
    """
    known = {point.name: point for point in entry_points(group=group)}
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = (
            f"Use one of: {', '.join(sorted(known))}." if known else "Install a package with one."
        )
        hint = f"Use {close[0]!r}." if close else hint
        raise ConfigError(f"{name!r} is no plugin of {group}", hint=hint)
    try:
        return known[name].load()
    except ModuleNotFoundError as error:
        raise _missing(f"{group} plugin {name!r}", error) from error


def _missing(what: str, error: ModuleNotFoundError) -> MissingToolError:
    package, _, _ = (error.name or "").partition(".")
    return MissingToolError(
        f"{what} needs the package {package!r}",
        hint=f"Install it: pip install {package}",
    )
