"""Reading episodes that RoboTwin has collected, as they are."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from etude.core.errors import DataError
from etude.core.types import Task, TaskId
from etude.datasets.check import episode_faults
from etude.datasets.episode_table import EpisodeTable
from etude.datasets.faults import SKIP_HINT, UNREADABLE, Fault, faults_error
from etude.datasets.formats import require_folder
from etude.datasets.frame_files import Frames
from etude.datasets.identity import take_stamp
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.open_files import OpenFiles
from etude.datasets.pictures import Camera
from etude.datasets.recorded import RecordedDataset, Recording, open_recording
from etude.datasets.robotwin_camera import RoboTwinCamera
from etude.datasets.robotwin_config import RoboTwinConfig
from etude.datasets.robotwin_files import EpisodeFile, RoboTwinEpisode, read_episode
from etude.datasets.task_files import family_of

_DEPTHS = ("", "*/", "*/*/", "*/*/*/")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """One file that was found, and what its path says."""

    path: Path
    task: str
    number: int


def open_dataset(config: LeRobotConfig) -> RecordedDataset:
    """Read and check a dataset.

    Raises:
        DataError: No file is there, or one cannot be used; all faults are in the one message.
    """
    return open_recording(config, read_recording(config))


def read_recording(config: LeRobotConfig) -> Recording:
    """Return what the folder holds, and what is wrong with it.

    Limit: every file is opened once, which takes a few milliseconds for each episode.

    Raises:
        DataError: No file is there, or none can be read.
    """
    folder = require_folder(config.folder, config.repo_id)
    places = _find(folder)
    episodes: dict[int, RoboTwinEpisode] = {}
    faults: list[Fault] = []
    for row, place in enumerate(places):
        try:
            episodes[row] = read_episode(place.path)
        except DataError as error:
            faults.append(_unreadable(folder, row, place, error))
    if not episodes:
        raise faults_error(f"{config.repo_id} in {folder}", faults)
    first = next(iter(episodes.values()))
    for row, episode in list(episodes.items()):
        if episode.names != first.names:
            del episodes[row]
            faults.append(_other_robot(folder, row, places[row], episode, first))
    tasks = _tasks(config, places, episodes)
    frames = _frames(folder, places, episodes, tasks, len(first.names))
    table = _table(folder, places, frames)
    known = {fault.row for fault in faults}
    checked = episode_faults(table, frames, {task.index for task in tasks})
    fps, warnings = _fps(config, episodes.values())
    return Recording(
        format="robotwin",
        folder=folder,
        fps=fps,
        robot_type="",
        state_names=first.names,
        action_names=first.names,
        tasks=tasks,
        episodes=table,
        frames=frames,
        cameras=_cameras(folder, table.files, episodes),
        faults=(*faults, *(fault for fault in checked if fault.row not in known)),
        warnings=tuple(warnings),
    )


def _find(folder: Path) -> list[_Place]:
    """Return the episodes below a folder, task after task, each by the number in its name."""
    found = {path for depth in _DEPTHS for path in folder.glob(f"{depth}data/episode*.hdf5")}
    found |= set(folder.glob("episode*.hdf5"))
    if not found:
        raise DataError(
            f"{folder} holds no data/episode*.hdf5",
            hint="Set dataset.root to the folder of a task, or to one that holds several.",
        )
    places = [
        _Place(
            path=path,
            # <task>/<embodiment or task config>/data/episode0.hdf5
            task=path.absolute().parents[2].name,
            number=int((re.findall(r"\d+", path.stem) or ["0"])[-1]),
        )
        for path in found
    ]
    return sorted(places, key=lambda place: (place.task, str(place.path.parent), place.number))


def _unreadable(folder: Path, row: int, place: _Place, error: DataError) -> Fault:
    address = str(place.path.relative_to(folder))
    return Fault(id=UNREADABLE, address=address, message=str(error), fix=SKIP_HINT, row=row)


def _other_robot(
    folder: Path, row: int, place: _Place, episode: RoboTwinEpisode, first: RoboTwinEpisode
) -> Fault:
    address = str(place.path.relative_to(folder))
    return Fault(
        id="robot-differs",
        address=address,
        message=f"episode {row}, {address}: {len(episode.names)} joint values of another robot, "
        f"not the {len(first.names)} of the first episode",
        fix="Open each robot's data as a dataset of its own.",
        row=row,
    )


def _tasks(
    config: LeRobotConfig, places: Sequence[_Place], episodes: Mapping[int, RoboTwinEpisode]
) -> tuple[Task, ...]:
    """Return the tasks that folders are named after; a task's text is its first instruction."""
    texts: dict[str, str] = {}
    for row, place in enumerate(places):
        said = episodes[row].text if row in episodes else ""
        texts[place.task] = texts.get(place.task, "") or said
    family = family_of(config.repo_id)
    # Limit: a task has one text, though RoboTwin words each episode anew.
    return tuple(
        Task(
            id=TaskId(f"{family}/{index}"),
            index=index,
            name=name,
            text=texts[name] or name.replace("_", " "),
        )
        for index, name in enumerate(sorted(texts))
    )


def _frames(
    folder: Path,
    places: Sequence[_Place],
    episodes: Mapping[int, RoboTwinEpisode],
    tasks: Iterable[Task],
    size: int,
) -> Frames:
    lengths = [len(episodes[row].states) if row in episodes else 0 for row in range(len(places))]
    numbers = {task.name: task.index for task in tasks}
    none = np.empty((0, size), np.float32)
    states = np.concatenate([none, *(episodes[row].states for row in sorted(episodes))])
    actions = np.concatenate([none, *(episodes[row].actions for row in sorted(episodes))])
    counted = [np.arange(length, dtype=np.int64) for length in lengths]
    for array in (states, actions):
        array.flags.writeable = False
    return Frames(
        states=states,
        actions=actions,
        episode=np.repeat(np.arange(len(places)), lengths),
        frame=np.concatenate(counted),
        task=np.repeat(np.array([numbers[place.task] for place in places], np.int64), lengths),
        timestamps=np.full(len(states), np.nan),
        files=tuple(str(place.path.relative_to(folder)) for place in places),
        stamps=tuple(take_stamp(place.path) for place in places),
        bounds=np.cumsum([0, *lengths], dtype=np.int64),
    )


def _table(folder: Path, places: Sequence[_Place], frames: Frames) -> EpisodeTable:
    rows = np.arange(len(places))
    return EpisodeTable(
        name=str(folder),
        index=rows,
        length=np.diff(frames.bounds),
        start=frames.bounds[:-1],
        stop=frames.bounds[1:],
        files=frames.files,
        file=rows,
        videos={},
    )


def _fps(config: LeRobotConfig, episodes: Iterable[RoboTwinEpisode]) -> tuple[float, list[str]]:
    """Return the frame rate that the files name, and what a person should know about it."""
    named = sorted({episode.fps for episode in episodes if episode.fps is not None})
    if len(named) == 1:
        return named[0], []
    assumed = config.fps if isinstance(config, RoboTwinConfig) else RoboTwinConfig().fps
    if named:
        shown = ", ".join(f"{rate:g}" for rate in named)
        return named[0], [f"the files name several frame rates, {shown}; the first one is taken"]
    return assumed, [
        f"no file names its frame rate; {assumed:g} frames a second are assumed (dataset.fps)"
    ]


def _cameras(
    folder: Path, files: tuple[str, ...], episodes: Mapping[int, RoboTwinEpisode]
) -> dict[str, Camera]:
    opened = OpenFiles(EpisodeFile)
    names = dict.fromkeys(name for episode in episodes.values() for name in episode.cameras)
    return {
        name: RoboTwinCamera(
            name=name,
            folder=folder,
            files=files,
            keys=tuple(
                episodes[row].cameras.get(name, "") if row in episodes else ""
                for row in range(len(files))
            ),
            opened=opened,
        )
        for name in names
    }
