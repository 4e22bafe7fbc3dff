"""Everything that is wrong with a dataset, all at once, whether or not it can be used."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from etude.core.errors import DataError
from etude.datasets.faults import UNREADABLE, Fault, faults_of, place_in
from etude.datasets.formats import detect, reader
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.recorded import Recording
from etude.datasets.robotwin_camera import RoboTwinCamera
from etude.datasets.task_files import text_warnings
from etude.datasets.video_check import video_faults


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inspection:
    """What a folder holds, as far as it can be read, and every fault that can be seen."""

    format: str
    """Name of the plug-in that reads it; empty if there is none."""
    recording: Recording | None
    """None if too little of it can be read."""
    faults: tuple[Fault, ...]


def inspect_dataset(config: LeRobotConfig, *, pictures: bool = True) -> Inspection:
    """Look for everything that is wrong with a dataset of any format.

    Args:
        config: Where the dataset lies.
        pictures: Whether videos are looked into as well; none is decoded.
    """
    found = ""
    try:
        read = reader(config)
        found = detect(Path(config.folder))
        recording: Recording = read(config)
    except DataError as error:
        folder = str(Path(config.folder))
        faults = [
            replace(fault, address=place_in(fault.message, folder))
            if fault.id == UNREADABLE
            else fault
            for fault in faults_of(error)
        ]
        return Inspection(format=found, recording=None, faults=tuple(faults))
    faults = [*recording.faults, *_warnings(recording)]
    if pictures:
        faults += [*video_faults(recording), *_missing_cameras(recording)]
    return Inspection(format=found, recording=recording, faults=tuple(faults))


def _warnings(recording: Recording) -> Iterator[Fault]:
    """Yield what a person should look at although the dataset can be used."""
    for message in recording.warnings:
        yield _warning("metadata", "the metadata", message, "Correct the metadata if it is wrong.")
    for message in text_warnings(recording.tasks):
        fix = "Leave it if they are different tasks; otherwise give their frames one task_index."
        yield _warning("tasks-alike", "the task table", message, fix)
    used = set(recording.frames.task.tolist())
    for task in recording.tasks:
        if task.index not in used:
            message = f"task {task.id} ({task.text!r}) has no episode"
            yield _warning("task-unused", task.id, message, "Record it, or drop it from the table.")


def _missing_cameras(recording: Recording) -> Iterator[Fault]:
    # A file that cannot be read at all has no cameras either; that is told already.
    unread = {fault.row for fault in recording.faults if fault.id == UNREADABLE}
    for camera in recording.cameras.values():
        if not isinstance(camera, RoboTwinCamera):
            continue
        for row, key in enumerate(camera.keys):
            if not key and row not in unread:
                yield Fault(
                    id="camera-missing",
                    address=f"episode {recording.episodes.index[row]}, {camera.name}",
                    message=f"episode {recording.episodes.index[row]}, {camera.files[row]}: there "
                    f"is no camera {camera.name}, which other episodes have",
                    fix="Ask for a camera that all episodes have, or collect the episode again.",
                    row=row,
                )


def _warning(kind: str, address: str, message: str, fix: str) -> Fault:
    return Fault(id=kind, severity="warning", address=address, message=message, fix=fix)
