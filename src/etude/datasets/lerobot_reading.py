"""What reading has in common in all versions of the LeRobot format."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from etude.core.errors import DataError
from etude.core.types import Task
from etude.datasets.check import count_faults, episode_faults
from etude.datasets.episode_table import EpisodeTable
from etude.datasets.faults import Attempts
from etude.datasets.formats import require_folder
from etude.datasets.frame_files import Frames, read_frames
from etude.datasets.image_camera import ImageCamera
from etude.datasets.info import Info, is_old, read_info
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.open_files import OpenFiles
from etude.datasets.pictures import Camera
from etude.datasets.recorded import Recording
from etude.datasets.task_files import read_tasks
from etude.datasets.video_camera import VideoCamera
from etude.datasets.video_file import VideoFile


def read_lerobot(
    config: LeRobotConfig,
    *,
    format: str,  # noqa: A002
    version: str,
    episodes: Callable[[Path, Info], EpisodeTable],
) -> Recording:
    """Return what a folder in `version` of the format holds, and what is wrong with it.

    Raises:
        DataError: A file that everything else depends on is missing or torn, or of another version.
    """
    folder = require_folder(config.folder, config.repo_id)
    info = read_info(folder, old=is_old(version))
    if info.total_episodes == 0:
        raise DataError(f"{config.repo_id} in {folder} holds no episode")
    attempts = Attempts()
    tasks = attempts.read(lambda: read_tasks(folder, config.repo_id))
    table = attempts.read(lambda: episodes(folder, info))
    frames = attempts.read(lambda: read_frames(folder, info, table)) if table is not None else None
    if tasks is None or table is None or frames is None:
        raise attempts.error()
    faults = [
        *count_faults(info, table, frames),
        *episode_faults(table, frames, {task.index for task in tasks}),
    ]
    return Recording(
        format=format,
        folder=folder,
        fps=info.fps,
        robot_type=info.robot_type,
        state_names=info.state_names,
        action_names=info.action_names,
        tasks=tasks,
        episodes=table,
        frames=frames,
        cameras=_cameras(config, folder, info, table, frames),
        faults=tuple(faults),
        warnings=tuple(_warnings(info, tasks, table)),
    )


def _warnings(info: Info, tasks: Sequence[Task], table: EpisodeTable) -> Iterator[str]:
    if info.total_tasks != len(tasks):
        yield f"info.json says {info.total_tasks} tasks, the task table {len(tasks)}"
    for name in info.cameras:
        rate = info.video_fps(name)
        if rate is not None and rate != info.fps:
            yield f"info.json says {info.fps:g} frames a second, but {rate:g} of {name}"
        if info.is_video(name) and name not in table.videos:
            yield f"info.json has the camera {name}, but {table.name} names no video of it"


def _cameras(
    config: LeRobotConfig, folder: Path, info: Info, table: EpisodeTable, frames: Frames
) -> Mapping[str, Camera]:
    videos = OpenFiles(VideoFile)
    first_rows = dict(zip(frames.files, frames.bounds.tolist(), strict=False))
    cameras: dict[str, Camera] = {}
    for name in info.cameras:
        if not info.is_video(name):
            cameras[name] = ImageCamera(
                name=name, folder=folder, episodes=table, first_rows=first_rows
            )
        elif name in table.videos:
            cameras[name] = VideoCamera(
                name=name,
                folder=folder,
                places=table.videos[name],
                fps=info.fps,
                videos=videos,
                tolerance_frames=config.video_tolerance_frames,
            )
    return cameras
