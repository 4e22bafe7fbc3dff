"""Checks that config dataclasses share, worded alike everywhere."""

import math

from etude.core.errors import ConfigError


def require_at_least(name: str, value: float, least: float) -> None:
    """Refuse a setting under `least`, or one that is not a finite number.

    Raises:
        ConfigError: Always, unless the value is in range.
    """
    if not math.isfinite(value) or value < least:
        raise ConfigError(f"{name} is {value}, not at least {least}")


def require_over(name: str, value: float, floor: float) -> None:
    """Refuse a setting that is not over `floor`, or not a finite number.

    Raises:
        ConfigError: Always, unless the value is in range.
    """
    if not math.isfinite(value) or value <= floor:
        raise ConfigError(f"{name} is {value}, not over {floor}")


def require_between(name: str, value: float, low: float, high: float) -> None:
    """Refuse a setting outside [low, high].

    Raises:
        ConfigError: Always, unless the value is in range.
    """
    if not low <= value <= high:
        raise ConfigError(f"{name} is {value}, not between {low} and {high}")
