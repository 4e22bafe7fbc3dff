"""One HDF5 file of RoboTwin: an episode in either of the two layouts that there are.

Source: RoboTwin-Platform/RoboTwin, envs/_base_task.py (the older layout) and
envs/utils/pkl2hdf5.py (layout "v1.0"), script/process_data.py (what state and action are).
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false, reportIndexIssue=false

import json
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from jaxtyping import Float32

from etude.core.errors import DataError
from etude.datasets.parquet_files import require_there

_OLD_PARTS = ("left_arm", "left_gripper", "right_arm", "right_gripper")
_NEW_PARTS = {
    "left_arm": "left_arm_joint_states",
    "left_gripper": "left_ee_joint_states",
    "right_arm": "right_arm_joint_states",
    "right_gripper": "right_ee_joint_states",
}
_CAMERA_ROOTS = {"observation": "rgb", "vision": "colors"}
"""Group that holds the cameras, and what the pictures of each are called."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoboTwinEpisode:
    """What one file holds, except for the pictures."""

    states: Float32[np.ndarray, "frames state"]
    actions: Float32[np.ndarray, "frames action"]
    names: tuple[str, ...]
    """Of the dimensions of states and actions alike."""
    cameras: Mapping[str, str]
    """Where the pictures of each camera are in the file."""
    fps: float | None
    text: str
    """The first instruction; RoboTwin words each episode in many ways."""


class EpisodeFile:
    """An open file."""

    held_bytes = 2 << 20
    """HDF5 keeps a cache of 1 MB for each dataset that is being read, and its own tables."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            DataError: It is missing, or no whole HDF5 file.
        """
        require_there(path)
        with hdf5_errors(path):
            self.file = h5py.File(path, "r")

    def close(self) -> None:
        """Give the file back."""
        self.file.close()


def read_episode(path: Path) -> RoboTwinEpisode:
    """Return states, actions and instruction of a file, and where its pictures are.

    The older layout records where the joints are; what a frame's action is, the next frame tells,
    so the last frame has none and is left out. The newer one has done the same already.

    Raises:
        DataError: The file is missing or torn, or in neither layout.
    """
    with hdf5_errors(path), closing(EpisodeFile(path)) as opened:
        file: Any = opened.file
        if "joint_action" in file:
            joints, names = _columns(
                path, file["joint_action"], {part: part for part in _OLD_PARTS}
            )
            states, actions = joints[:-1], joints[1:]
        elif "state" in file and "action" in file:
            states, names = _columns(path, file["state"], _NEW_PARTS)
            actions, _ = _columns(path, file["action"], _NEW_PARTS)
        else:
            raise DataError(
                f"{path} holds {', '.join(sorted(file)) or 'nothing'}, neither joint_action nor "
                "state and action",
                hint="Set dataset.root to data that RoboTwin has collected.",
            )
        if states.shape != actions.shape:
            raise DataError(
                f"{path} has states {list(states.shape)} but actions {list(actions.shape)}",
                hint="Collect the episode again.",
            )
        return RoboTwinEpisode(
            states=states,
            actions=actions,
            names=names,
            cameras=_cameras(file),
            fps=_fps(file),
            text=_instruction(path, file),
        )


@contextmanager
def hdf5_errors(path: Path) -> Generator[None, None, None]:
    """Turn what h5py raises into the address of the fault."""
    try:
        yield
    except (OSError, KeyError, RuntimeError) as error:
        reason = str(error).strip("'\"").partition("\n")[0]
        raise DataError(
            f"{path} ({path.stat().st_size:,} bytes) is not a whole HDF5 file: {reason}",
            hint="Copy the file again, or collect the episode again.",
        ) from error


def _columns(
    path: Path, group: Any, parts: Mapping[str, str]
) -> tuple[Float32[np.ndarray, "frames size"], tuple[str, ...]]:
    """Return the parts of the robot that there are side by side, and what each dimension is."""
    found = {part: np.asarray(group[key]) for part, key in parts.items() if key in group}
    if not found and "vector" in group:
        found = {"arm": np.asarray(group["vector"])}
    if not found:
        raise DataError(
            f"{path}: {group.name} holds {', '.join(sorted(group)) or 'nothing'}, no joints",
            hint="Collect the episode again with joint positions.",
        )
    tables = {part: values.reshape(len(values), -1) for part, values in found.items()}
    lengths = {part: len(values) for part, values in tables.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"{path}: {group.name} has parts of different lengths: {lengths}")
    names = [name for part, values in tables.items() for name in _names(part, values.shape[1])]
    return np.hstack(list(tables.values())).astype(np.float32), tuple(names)


def _names(part: str, size: int) -> list[str]:
    if part.endswith("gripper") and size == 1:
        return [part]
    stem = part if part.endswith("gripper") else part.replace("arm", "joint")
    return [f"{stem}_{number}" for number in range(size)]


def _cameras(file: Any) -> dict[str, str]:
    return {
        camera: f"{root}/{camera}/{pictures}"
        for root, pictures in _CAMERA_ROOTS.items()
        if root in file
        for camera in file[root]
        if isinstance(file[root][camera], h5py.Group) and pictures in file[root][camera]
    }


def _fps(file: Any) -> float | None:
    if "additional_info/frequency" not in file:
        return None
    return float(np.asarray(file["additional_info/frequency"]).reshape(-1)[0])


def _instruction(path: Path, file: Any) -> str:
    """Return the first instruction, from the file itself or from the one beside it."""
    for name in ("instructions", "instruction"):
        if name in file:
            value = np.asarray(file[name][()]).reshape(-1).tolist()
            return _first([_decoded(item) for item in value])
        if name in file.attrs:
            value = np.asarray(file.attrs[name]).reshape(-1).tolist()
            return _first([_decoded(item) for item in value])
    numbers = re.findall(r"\d+", path.stem)
    beside = path.parent.parent / f"instructions/episode{int(numbers[-1]) if numbers else 0}.json"
    if not beside.exists():
        return ""
    try:
        return _first(json.loads(beside.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise DataError(f"{beside} is not JSON: {error}", hint="Copy the file again.") from error


def _decoded(item: object) -> object:
    text = item.decode("utf-8", "replace") if isinstance(item, bytes) else item
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


def _first(value: object) -> str:
    """Return the first text in lists, or in the lists of instructions seen in training."""
    match value:
        case str(text):
            return text
        case {"seen": seen}:
            return _first(seen)
        case Mapping():
            return _first(list(value.values()))
        case Sequence():
            return next((text for text in map(_first, value) if text), "")
        case _:
            return ""
