"""Action groups: which dimensions of an action are judged together."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from etude.core.errors import ConfigError
from etude.core.types import DataSpec

GRIPPER_WORDS = frozenset({"gripper", "grip", "finger", "jaw", "claw"})
SIDES = ("left", "right")
MOVE_WORDS = frozenset({"delta", "rel", "relative", "vel", "velocity", "change"})
"""In the name of a dimension that says how to move."""
PLACE_WORDS = frozenset({"pos", "position", "qpos", "abs", "absolute"})
"""In the name of a dimension that says where to be."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionGroup:
    """Dimensions of an action that move one part of the robot."""

    name: str
    dims: tuple[int, ...]

    @property
    def is_gripper(self) -> bool:
        """Whether the group opens and closes something."""
        return _is_gripper(self.name)


def action_groups(
    spec: DataSpec, configured: Sequence[tuple[str, tuple[int, ...]]] = ()
) -> tuple[ActionGroup, ...]:
    """Return the configured groups, or those that the names of the actions tell apart.

    By name there is a gripper, a base and an arm, each of the last and the first once for each side
    where the arms have sides. Without telling names everything is one group, "arm".

    Args:
        spec: Whose `action_names` are read.
        configured: Names and dimensions, as `scan_config.parse_groups` returns them.

    Raises:
        ConfigError: A configured dimension is none of the dataset's.
    """
    if configured:
        return tuple(_checked(spec, name, dims) for name, dims in configured)
    if len(spec.action_names) != spec.action_dim:
        return (ActionGroup(name="arm", dims=tuple(range(spec.action_dim))),)
    sided = any(_side(name) and not _is_gripper(name) for name in spec.action_names)
    found: dict[str, list[int]] = {}
    for dim, name in enumerate(spec.action_names):
        found.setdefault(_group_of(name, sided=sided), []).append(dim)
    return tuple(ActionGroup(name=name, dims=tuple(dims)) for name, dims in found.items())


def gripper_dims(groups: Sequence[ActionGroup]) -> tuple[int, ...]:
    """Return the action dimensions of all grippers."""
    return tuple(dim for group in groups if group.is_gripper for dim in group.dims)


def named_moves(spec: DataSpec) -> tuple[bool | None, ...]:
    """Return of each action dimension whether its name says how to move (True) or where to be.

    None stands where a name tells neither: then the recorded numbers have to.
    """
    if len(spec.action_names) != spec.action_dim:
        return (None,) * spec.action_dim
    words = [set(_words(name)) for name in spec.action_names]
    return tuple(
        True if own & MOVE_WORDS else False if own & PLACE_WORDS else None for own in words
    )


def _checked(spec: DataSpec, name: str, dims: tuple[int, ...]) -> ActionGroup:
    beyond = [dim for dim in dims if dim >= spec.action_dim]
    if beyond or not dims:
        what = f"has action dimension {beyond[0]}" if beyond else "has no action dimension"
        raise ConfigError(
            f"group {name!r} {what}, and {spec.repo_id} has {spec.action_dim}, counted from 0",
            hint="Correct scan.groups.",
        )
    return ActionGroup(name=name, dims=dims)


def _group_of(name: str, *, sided: bool) -> str:
    part = "gripper" if _is_gripper(name) else "base" if "base" in _words(name) else "arm"
    side = _side(name) if sided and part != "base" else ""
    return f"{side}_{part}" if side else part


def _is_gripper(name: str) -> bool:
    return not GRIPPER_WORDS.isdisjoint(_words(name))


def _side(name: str) -> str:
    words = _words(name)
    return next((side for side in SIDES if side in words), "")


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]
