"""Where the parts of an observation stand in a message, as settings write it.

`observation.state` is one key. `vision>cam_head>color` is a key within a map within a map. Behind
`=` stands what is put there: dimensions of the state (`left_arm=0-5`) or one of our cameras
(`observation/image=corner2`).
"""

from dataclasses import dataclass
from typing import Literal

from etude.core.errors import ConfigError

DialectName = Literal["openpi", "lingbot", "xpolicylab"]
ImageLayout = Literal["chw", "hwc"]

Place = tuple[str, ...]
"""Keys of maps, from the outermost to the innermost."""

CAMERA = "{camera}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePart:
    """A part of the state, and where it stands."""

    place: Place
    dims: tuple[int, ...] | None
    """Dimensions of the state in the order sent; None is all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Camera:
    """A camera, and where its image stands."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """Where a dialect's servers usually look, and what they usually answer."""

    state_key: str
    image_key: str
    """With `{camera}` for the name of the camera."""
    prompt_key: str
    action_key: str
    image_layout: ImageLayout


HABITS: dict[DialectName, Habits] = {
    "openpi": Habits(
        state_key="state",
        image_key="images>{camera}",
        prompt_key="prompt",
        action_key="actions",
        image_layout="chw",
    ),
    "lingbot": Habits(
        state_key="observation.state",
        image_key="observation.images.{camera}",
        prompt_key="task",
        action_key="action",
        image_layout="hwc",
    ),
    "xpolicylab": Habits(
        state_key="state",
        image_key="vision>{camera}>color",
        prompt_key="instruction",
        action_key="actions",
        image_layout="hwc",
    ),
}
"""Source: Physical-Intelligence/openpi, `src/openpi/policies/aloha_policy.py`; Robbyant/
lingbot-vla-v2, `configs/robot_configs/robotwin.yaml`; XPolicyLab, `debug_env_client.py`."""


def parse_place(text: str, *, setting: str) -> Place:
    """Return the keys that `text` names, e.g. ("images", "cam_high") of "images>cam_high".

    Raises:
        ConfigError: A key is empty.
    """
    keys = tuple(text.split(">"))
    if not all(keys):
        raise ConfigError(
            f"{setting} has {text!r}, in which a key is empty",
            hint='Write keys of nested maps like "vision>cam_head>color".',
        )
    return keys


def parse_state(text: str) -> StatePart:
    """Return what `text` says of the state, e.g. dimensions 0 to 5 at "left_arm".

    Raises:
        ConfigError: It says nothing of the kind.
    """
    key, equals, ranges = text.partition("=")
    place = parse_place(key, setting="state_keys")
    if not equals:
        return StatePart(place=place, dims=None)
    dims: list[int] = []
    for part in ranges.split(","):
        low, dash, high = part.strip().partition("-")
        if not (low.isdecimal() and (high.isdecimal() or not dash)):
            raise ConfigError(
                f"state_keys has {text!r}, in which {part!r} names no dimensions",
                hint='Write dimensions like "state>left_arm=0-5,14".',
            )
        dims += range(int(low), int(high if dash else low) + 1)
    return StatePart(place=place, dims=tuple(dims))


def parse_camera(text: str, *, image_key: str) -> Camera:
    """Return the camera that `text` names, at its own place or at the dialect's usual one.

    Raises:
        ConfigError: A key or the camera's name is empty.
    """
    key, equals, name = text.partition("=")
    if not equals:
        key, name = image_key.replace(CAMERA, text), text
    if not name:
        raise ConfigError(
            f"cameras has {text!r}, which names no camera",
            hint='Write a camera like "corner2", or with its key: "observation/image=corner2".',
        )
    return Camera(name=name, place=parse_place(key, setting="cameras"))
