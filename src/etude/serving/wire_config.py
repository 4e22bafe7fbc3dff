"""Settings of what travels between a policy server and its clients."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from etude.core.errors import ConfigError
from etude.core.limits import require_between
from etude.serving.places import (
    HABITS,
    Camera,
    DialectName,
    ImageLayout,
    Place,
    StatePart,
    parse_camera,
    parse_place,
    parse_state,
)

MOST_MB = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class WireConfig:
    """Which dialect is spoken, and under which keys observations and actions stand in it."""

    dialect: DialectName = "openpi"
    """What the server speaks: `openpi`, `lingbot` or `xpolicylab`."""
    state_keys: tuple[str, ...] = ()
    """Where the state stands, e.g. ("observation/state",), or its parts: ("left_arm=0-5",
    "left_gripper=6"). Keys of nested maps are joined by ">". Empty takes the dialect's usual key:
    `state`, `observation.state` or `state`."""
    cameras: tuple[str, ...] = ()
    """Cameras whose images are sent, each under the dialect's usual key (`images>CAMERA`,
    `observation.images.CAMERA` or `vision>CAMERA>color`) or under one of your own, e.g.
    "observation/image=corner2"."""
    prompt_key: str = ""
    """Where the instruction stands; empty takes `prompt`, `task` or `instruction`."""
    action_keys: tuple[str, ...] = ()
    """Where actions stand in answers; several are joined in this order. Empty takes `actions`,
    `action` or `actions`."""
    image_layout: ImageLayout | Literal["auto"] = "auto"
    """`hwc` or `chw`: order of an image's axes; `auto` sends `chw` in openpi, `hwc` elsewhere."""
    max_message_mb: int = 64
    """Largest message that is taken, in MB."""

    def __post_init__(self) -> None:
        require_between("max_message_mb", self.max_message_mb, 1, MOST_MB)
        names = [camera.name for camera in self.camera_places]
        _require_apart("cameras", names)
        places = [
            *(part.place for part in self.state_parts),
            *(camera.place for camera in self.camera_places),
            self.prompt_place,
        ]
        _require_apart("the keys of observations", [">".join(place) for place in places])
        _require_apart("action_keys", [">".join(place) for place in self.action_places])

    @property
    def state_parts(self) -> tuple[StatePart, ...]:
        """Where the state or its parts stand."""
        keys = self.state_keys or (HABITS[self.dialect].state_key,)
        return tuple(parse_state(key) for key in keys)

    @property
    def camera_places(self) -> tuple[Camera, ...]:
        """Where images stand."""
        image_key = HABITS[self.dialect].image_key
        return tuple(parse_camera(text, image_key=image_key) for text in self.cameras)

    @property
    def prompt_place(self) -> Place:
        """Where the instruction stands."""
        key = self.prompt_key or HABITS[self.dialect].prompt_key
        return parse_place(key, setting="prompt_key")

    @property
    def action_places(self) -> tuple[Place, ...]:
        """Where actions stand, or their parts in the order in which they are joined."""
        keys = self.action_keys or (HABITS[self.dialect].action_key,)
        return tuple(parse_place(key, setting="action_keys") for key in keys)

    @property
    def chw(self) -> bool:
        """Whether an image's first axis is its colours."""
        layout = self.image_layout
        return (HABITS[self.dialect].image_layout if layout == "auto" else layout) == "chw"

    @property
    def max_message_bytes(self) -> int:
        """Largest message that is taken."""
        return self.max_message_mb * 1_000_000


def _require_apart(name: str, values: Sequence[str]) -> None:
    for value in values:
        if values.count(value) > 1:
            raise ConfigError(
                f"{name} has {value!r} {values.count(value)} times, not once",
                hint="Give each its own key.",
            )
