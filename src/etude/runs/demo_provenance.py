"""What a recorded dataset says about its own making, and whether that is what is wanted now."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from etude.core.errors import DataError, StateError
from etude.core.types import Task
from etude.evaluate.environments import Builder
from etude.runs.demos_config import DemosConfig
from etude.runs.recording import TaskRecording
from etude.simulators.versions import simulator_versions
from etude.store.atomic import read_json

RECORDER = "demos/1"
"""Changes when equal settings would be recorded differently."""
PROVENANCE_FILE = "meta/etude.json"

_WITHOUT_TRACE = ("processes", "tries")
"""Settings of the recording that do not show in a finished one."""
_MOST_SHOWN = 3
"""Differences that are shown of a long list."""


def settings_of(config: DemosConfig, *, simulator: str, builder: Builder) -> dict[str, Any]:
    """Return all settings that a finished recording depends on, as they stand in JSON."""
    demos = dataclasses.asdict(config)
    for name in _WITHOUT_TRACE:
        del demos[name]
    settings = {
        "recorder": RECORDER,
        "simulator": {"use": simulator, **dataclasses.asdict(builder[1])},
        "demos": demos,
    }
    return json.loads(json.dumps(settings))


def identity_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be equal for an unfinished recording to go on."""
    return {"settings": dict(settings), "versions": simulator_versions()}


def provenance_of(
    settings: Mapping[str, Any], recordings: Sequence[tuple[Task, TaskRecording]]
) -> dict[str, Any]:
    """Return the content of meta/etude.json; seeds and noise stand in the order of episodes."""
    episodes = [each for _, recording in recordings for each in recording.demonstrations]
    return {
        **identity_of(settings),
        "frames": sum(len(each.states) for each in episodes),
        "attempts": {task.name: recording.attempts for task, recording in recordings},
        "seeds": [each.seed for each in episodes],
        "noise": [each.noise for each in episodes],
    }


def read_provenance(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the meta/etude.json of a dataset that was recorded with `settings`.

    Raises:
        StateError: `folder` is no recording, or one with other settings.
        DataError: Its meta/etude.json is damaged.
    """
    path = folder / PROVENANCE_FILE
    if not path.is_file():
        raise StateError(
            f"{folder} exists but is no recording of demonstrations: it has no {PROVENANCE_FILE}",
            hint="Train on it with etude train, or choose another --dataset.root.",
        )
    found = read_json(path)
    recorded = found.get("settings")
    if not isinstance(recorded, Mapping):
        raise DataError(
            f"{path} does not say with which settings the dataset was recorded",
            hint="Choose another --dataset.root.",
        )
    differences = _differences(_flat(cast("Mapping[str, Any]", recorded)), _flat(settings))
    if differences:
        raise StateError(
            f"{folder} was recorded with other settings: {'; '.join(differences)}",
            hint="Choose another --dataset.root, or remove the folder to record it again.",
        )
    return found


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat |= _flat(cast("Mapping[str, Any]", value), f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _differences(recorded: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    names = dict.fromkeys([*wanted, *recorded])
    return [
        f"{name} was {_shown(recorded, name)}, not {_shown(wanted, name)}"
        for name in names
        if recorded.get(name) != wanted.get(name) or (name in recorded) != (name in wanted)
    ]


def _shown(settings: Mapping[str, Any], name: str) -> str:
    if name not in settings:
        return "unknown"
    value = settings[name]
    if not isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    items = [str(item) for item in cast("list[object]", value)]
    more = f" and {len(items) - _MOST_SHOWN} more" if len(items) > _MOST_SHOWN else ""
    return f"[{', '.join(items[:_MOST_SHOWN])}{more}]"
