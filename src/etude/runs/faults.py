"""Everything that is wrong with a configuration, told at once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from etude.core.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong with one setting."""

    path: str
    """Dotted name of the setting, for example "train.lr"."""
    text: str
    """What is, beginning with the setting and its value."""
    source: str = ""
    """Where the value stands: "recipe.toml:7" or a flag; empty for defaults."""
    hint: str = ""
    """What to do, as one imperative sentence."""

    def __str__(self) -> str:
        return f"{self.text} ({self.source})" if self.source else self.text


def config_error(faults: Sequence[Fault]) -> ConfigError:
    """Return one error that tells all of `faults`, which are not empty."""
    if len(faults) == 1:
        return ConfigError(str(faults[0]), hint=faults[0].hint)
    lines = [f"{len(faults)} settings are wrong"]
    for fault in faults:
        lines.append(f"  {fault}")
        if fault.hint:
            lines.append(f"    {fault.hint}")
    return ConfigError(
        "\n".join(lines), hint="See every setting and its default with `etude config show`."
    )


def shown(value: object) -> str:
    """Return `value` as a recipe would write it."""
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return "{ " + ", ".join(f"{key} = {shown(item)}" for key, item in items) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(shown(item) for item in cast("list[Any]", value)) + "]"
    return json.dumps(value, ensure_ascii=False, default=str)
