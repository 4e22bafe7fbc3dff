"""Observations and actions as the maps that a dialect sends, and back."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from jaxtyping import Float32, UInt8

from etude.core.errors import PolicyError
from etude.core.types import Observation
from etude.serving.places import Place
from etude.serving.wire_config import WireConfig

TASK = "etude/task"
"""Key of the task's id, which is sent to servers that are Etude's own."""
SEED = "etude/seed"
"""Key of the call's seed, likewise."""


class KeyMap:
    """Where the parts of observations and actions stand in messages."""

    def __init__(self, config: WireConfig) -> None:
        self._state = config.state_parts
        self._cameras = config.camera_places
        self._prompt = config.prompt_place
        self._actions = config.action_places
        self._chw = config.chw

    @property
    def cameras(self) -> tuple[str, ...]:
        """Cameras whose images are sent."""
        return tuple(camera.name for camera in self._cameras)

    def write(self, seen: Observation) -> dict[str, Any]:
        """Return what is sent of an observation.

        Raises:
            PolicyError: It lacks a camera or a dimension of the state that is to be sent.
        """
        message: dict[str, Any] = {}
        for part in self._state:
            _put(message, part.place, self._state_part(seen, part.dims))
        for camera in self._cameras:
            if camera.name not in seen.images:
                raise PolicyError(
                    f"an observation of {seen.task} has no image of {camera.name!r}, only of "
                    f"{', '.join(seen.images) or 'no camera'}",
                    hint="Set policy.cameras to cameras that the observations have.",
                )
            image = seen.images[camera.name]
            _put(message, camera.place, np.moveaxis(image, -1, 0) if self._chw else image)
        _put(message, self._prompt, seen.instruction)
        return message

    def read_state(self, message: Mapping[str, Any]) -> Float32[np.ndarray, " state"]:
        """Return the state in a message.

        Raises:
            PolicyError: It is not there, or no row of finite numbers.
        """
        if len(self._state) == 1 and self._state[0].dims is None:
            return _numbers(_get(message, self._state[0].place), self._state[0].place)
        rows = [(part, _numbers(_get(message, part.place), part.place)) for part in self._state]
        dims = [part.dims or tuple(range(len(row))) for part, row in rows]
        state = np.zeros(1 + max(dim for each in dims for dim in each), np.float32)
        for (part, row), places in zip(rows, dims, strict=True):
            if len(row) != len(places):
                raise PolicyError(f"{_said(part.place)} has {len(row)} numbers, not {len(places)}")
            state[list(places)] = row
        return state

    def read_images(
        self, message: Mapping[str, Any]
    ) -> dict[str, UInt8[np.ndarray, "height width 3"]]:
        """Return the images in a message by the names of their cameras.

        Raises:
            PolicyError: One is not there, or no image.
        """
        return {
            camera.name: _image(_get(message, camera.place), camera.place)
            for camera in self._cameras
        }

    def read_prompt(self, message: Mapping[str, Any]) -> str:
        """Return the instruction in a message; empty where there is none.

        Raises:
            PolicyError: It is no text.
        """
        prompt = _find(message, self._prompt)
        if prompt is None:
            return ""
        if not isinstance(prompt, str):
            raise PolicyError(f"{_said(self._prompt)} is a {type(prompt).__name__}, not text")
        return prompt

    def write_actions(self, actions: np.ndarray) -> dict[str, Any]:
        """Return an answer that holds actions of one chunk, or of a batch of chunks."""
        message: dict[str, Any] = {}
        _put(message, self._actions[0], actions)
        return message

    def read_actions(self, message: Any) -> Float32[np.ndarray, "*batch horizon action"]:
        """Return the actions in an answer: one chunk, or a batch of them.

        Raises:
            PolicyError: They are not there, or no numbers.
        """
        parts: list[np.ndarray] = []
        for place in self._actions:
            part = _array(_get(message, place, what="answer"), place)
            if part.dtype.kind not in "biuf" or part.ndim < 2:
                raise PolicyError(
                    f"{_said(place)} of the answer has shape {part.shape} and type {part.dtype}, "
                    "which is no chunk of actions",
                    hint="Let the server answer with all actions of a chunk, in order.",
                )
            parts.append(part)
        if len({part.shape[:-1] for part in parts}) > 1:
            raise PolicyError(
                "the parts of the answer have shapes "
                f"{', '.join(str(part.shape) for part in parts)}, which cannot be joined"
            )
        joined = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)
        return joined.astype(np.float32, copy=False)

    def _state_part(self, seen: Observation, dims: tuple[int, ...] | None) -> np.ndarray:
        if dims is None:
            return seen.state
        if max(dims) >= len(seen.state):
            raise PolicyError(
                f"a state of {seen.task} has {len(seen.state)} numbers, but policy.state_keys "
                f"names dimension {max(dims)}",
                hint="Set policy.state_keys to dimensions that the state has.",
            )
        return seen.state[list(dims)]


def columns(rows: Sequence[Any]) -> Any:
    """Return a chunk given step by step, each a map of parts, as a map of parts of all steps.

    Anything else is returned as it is.
    """
    if not rows or not all(isinstance(row, dict) for row in rows):
        return rows
    steps = cast("Sequence[dict[str, Any]]", rows)
    names = [name for name in steps[0] if all(name in step for step in steps)]
    return {name: np.stack([np.atleast_1d(step[name]) for step in steps]) for name in names}


def _put(message: dict[str, Any], place: Place, value: Any) -> None:
    for key in place[:-1]:
        message = message.setdefault(key, {})
    message[place[-1]] = value


def _find(message: Any, place: Place) -> Any:
    for key in place:
        if not isinstance(message, Mapping):
            return None
        message = cast("Mapping[str, Any]", message).get(key)
    return message


def _get(message: Any, place: Place, *, what: str = "observation") -> Any:
    found = _find(message, place)
    if found is None:
        keys = ", ".join(map(str, cast("Mapping[Any, Any]", message)))
        raise PolicyError(
            f"an {what} has no {_said(place)}; its keys are {keys or 'none'}",
            hint=f"Set policy.{'action' if what == 'answer' else 'state'}_keys to those it has.",
        )
    return found


def _array(value: Any, place: Place) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError as error:
        raise PolicyError(f"{_said(place)} holds rows of different lengths") from error


def _numbers(value: Any, place: Place) -> Float32[np.ndarray, " state"]:
    row = np.atleast_1d(_array(value, place))
    if row.dtype.kind not in "biuf" or row.ndim != 1:
        raise PolicyError(
            f"{_said(place)} has shape {row.shape} and type {row.dtype}, which is no row of numbers"
        )
    if not np.isfinite(row).all():
        raise PolicyError(f"{_said(place)} holds {row[~np.isfinite(row)][0]}")
    return row.astype(np.float32)


def _image(value: Any, place: Place) -> UInt8[np.ndarray, "height width 3"]:
    image = _array(value, place)
    if image.dtype != np.uint8 or image.ndim != 3 or 3 not in (image.shape[0], image.shape[-1]):
        raise PolicyError(
            f"{_said(place)} has shape {image.shape} and type {image.dtype}, which is no image",
            hint="Send uint8 of shape (height, width, 3) or (3, height, width).",
        )
    return image if image.shape[-1] == 3 else np.moveaxis(image, 0, -1)


def _said(place: Place) -> str:
    return repr(">".join(place))
