"""What meta/info.json of a LeRobot dataset says, in all versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from etude.core.errors import DataError
from etude.datasets.lerobot_schema import ACTION, DATA_FILES, INFO_FILE, STATE, VIDEO_FILES
from etude.datasets.parquet_files import require_there
from etude.store.atomic import read_json

PICTURES = ("video", "image")
OLD_DATA_FILES = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
OLD_VIDEO_FILES = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
OLD_CHUNKS_SIZE = 1000
"""Episodes in a folder of v2.0 and v2.1; v3.0 counts files."""

_DEFAULTS = {"chunks_size": OLD_CHUNKS_SIZE}
_USUAL = {
    ("data_path", True): OLD_DATA_FILES,
    ("video_path", True): OLD_VIDEO_FILES,
    ("data_path", False): DATA_FILES,
    ("video_path", False): VIDEO_FILES,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """The parts of meta/info.json that reading needs."""

    fps: float
    robot_type: str
    total_episodes: int
    total_frames: int
    total_tasks: int
    chunks_size: int
    data_path: str
    video_path: str
    """Empty without video."""
    state_names: tuple[str, ...]
    """Empty where the dataset does not name each dimension."""
    action_names: tuple[str, ...]
    state_dim: int
    action_dim: int
    cameras: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """What `features` says of each camera."""

    def is_video(self, camera: str) -> bool:
        """Return whether the pictures of a camera are in video files."""
        return self.cameras[camera].get("dtype") == "video"

    def video_fps(self, camera: str) -> float | None:
        """Return the frame rate that info.json gives for a camera's video, if it gives one."""
        described: object = self.cameras[camera].get("info") or self.cameras[camera].get(
            "video_info"
        )
        match described:
            case {"video.fps": int(rate) | float(rate)}:
                return float(rate)
            case _:
                return None


def read_info(folder: Path, *, old: bool) -> Info:
    """Return what meta/info.json says.

    Raises:
        DataError: The file is missing, lacks something, or is `old` (v2) when it should not be.
    """
    path = folder / INFO_FILE
    require_there(path)
    info = read_json(path)
    _require_version(path, str(info.get("codebase_version")), old=old)
    features = info.get("features")
    if not isinstance(features, Mapping):
        raise DataError(f"{path}: features is missing")
    described = cast("Mapping[str, Mapping[str, Any]]", features)
    state_dim, action_dim = (_size(path, described, name) for name in (STATE, ACTION))
    cameras = {key: value for key, value in described.items() if value.get("dtype") in PICTURES}
    filmed = any(value["dtype"] == "video" for value in cameras.values())
    return Info(
        fps=_number(path, info, "fps", least=1e-9),
        robot_type=str(info.get("robot_type") or ""),
        total_episodes=int(_number(path, info, "total_episodes")),
        total_frames=int(_number(path, info, "total_frames")),
        total_tasks=int(_number(path, info, "total_tasks")),
        chunks_size=int(_number(path, {**_DEFAULTS, **info}, "chunks_size", least=1)),
        data_path=_pattern(path, info, "data_path"),
        video_path=_pattern(path, info, "video_path") if filmed else "",
        state_names=dimension_names(described[STATE].get("names"), state_dim),
        action_names=dimension_names(described[ACTION].get("names"), action_dim),
        state_dim=state_dim,
        action_dim=action_dim,
        cameras=cameras,
    )


def is_old(version: str) -> bool:
    """Return whether a codebase version keeps each episode in a file of its own."""
    return version.startswith(("v1", "v2"))


def fill_pattern(pattern: str, **numbers: object) -> str:
    """Return the path, relative to the dataset, that a pattern of info.json gives."""
    return pattern.format(**numbers)


def dimension_names(names: object, size: int) -> tuple[str, ...]:
    """Return the name of each dimension, from whatever a feature's `names` is; or nothing.

    LeRobot writes a list, or a list within a map such as {"motors": [...]}; others write a map from
    name to place, lists within a list, or null.
    """
    found = _flat(names)
    return tuple(found) if len(found) == size else ()


def _flat(names: object) -> list[str]:
    match names:
        case str(name):
            return [name]
        case Mapping():
            items = cast("Mapping[str, object]", names)
            places = [place for place in items.values() if isinstance(place, int)]
            if len(places) == len(items):
                return sorted(items, key=lambda name: cast("int", items[name]))
            return [name for inner in items.values() for name in _flat(inner)]
        case list() | tuple():
            return [name for inner in cast("Sequence[object]", names) for name in _flat(inner)]
        case _:
            return []


def _require_version(path: Path, found: str, *, old: bool) -> None:
    if found.startswith(("v2.", "v3.")) and is_old(found) == old:
        return
    message = f"{path}: codebase_version is {found!r}, not {'v2.1' if old else 'v3.0'!r}"
    if not found.startswith(("v2.", "v3.")):
        raise DataError(message, hint="Convert the dataset to LeRobot v3.0.")
    use = "lerobot_v21" if is_old(found) else "lerobot_v3"
    raise DataError(message, hint=f"Read it with --dataset.use {use}, or with auto.")


def _number(path: Path, info: Mapping[str, Any], name: str, *, least: float = 0) -> float:
    value = info.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or value < least:
        raise DataError(f"{path}: {name} is {value!r}, not a number of at least {least:g}")
    return value


def _pattern(path: Path, info: Mapping[str, Any], name: str) -> str:
    """Return a path pattern of info.json, or the usual one of its version."""
    old = is_old(str(info.get("codebase_version")))
    usual = _USUAL[name, old]
    pattern = str(info.get(name) or usual)
    numbers = ("episode_chunk", "episode_index") if old else ("chunk_index", "file_index")
    try:
        fill_pattern(pattern, **dict.fromkeys(numbers, 0), video_key="")
    except (LookupError, ValueError) as error:
        raise DataError(f"{path}: {name} is {pattern!r}, not like {usual!r}") from error
    return pattern


def _size(path: Path, features: Mapping[str, Mapping[str, Any]], name: str) -> int:
    if name not in features:
        raise DataError(
            f"{path}: features has no {name}; it has {', '.join(sorted(features))}",
            hint=f"Give the dataset a column {name}: one list of numbers for each frame.",
        )
    shape = features[name].get("shape")
    match shape:
        case [int(size)] if size > 0:
            return size
        case _:
            raise DataError(f"{path}: {name} has shape {shape}, not one dimension")
