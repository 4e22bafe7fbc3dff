"""Reading LeRobot v3.0 datasets. Nothing is ever written into them, or downloaded."""

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from etude.core.errors import DataError
from etude.core.types import (
    Columns,
    ContentKey,
    DataSpec,
    EpisodeSpan,
    Task,
    WindowBatch,
    WindowSpec,
)
from etude.datasets.check import Fault, count_faults, episode_faults
from etude.datasets.frame_files import Frames, read_frames
from etude.datasets.identity import EpisodeIdentities, IdentityMemo
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.metadata import EpisodeTable, Info, read_episodes, read_info, read_tasks
from etude.datasets.parquet_files import list_bounded, require_there
from etude.datasets.windows import EpisodeFrames, cut_windows


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedEpisode:
    """An episode that is left out, and why."""

    index: int
    reason: str


class LeRobotDataset:
    """Random access to the demonstrations of a LeRobot v3.0 dataset, held in memory."""

    def __init__(
        self,
        *,
        spec: DataSpec,
        episodes: tuple[EpisodeSpan, ...],
        frames: Frames,
        skipped: tuple[SkippedEpisode, ...],
        warnings: list[str],
    ) -> None:
        self.spec = spec
        self.episodes = episodes
        self.skipped = skipped
        """Episodes left out by `on_bad = "skip"`."""
        self.warnings = warnings
        """What a person should know about the data although it can be used."""
        self._stamps, self._bounds = frames.stamps, frames.bounds
        self._identities = EpisodeIdentities(
            spec=spec,
            states=frames.states,
            actions=frames.actions,
            timestamps=frames.timestamps,
        )
        place = {task.id: number for number, task in enumerate(spec.tasks)}
        self._frames = EpisodeFrames(
            states=frames.states,
            actions=frames.actions,
            starts=np.array([episode.start for episode in episodes], np.int64),
            stops=np.array([episode.stop for episode in episodes], np.int64),
            tasks=np.array([place[episode.task] for episode in episodes], np.int64),
        )

    def windows(self, rows: Int64[np.ndarray, " batch"], spec: WindowSpec) -> WindowBatch:
        """Return the windows anchored at `rows`, each cut at its own episode's ends.

        Raises:
            DataError: A row lies in no usable episode, or a camera is asked for.
        """
        if spec.cameras:
            # Limit: pictures are not read yet.
            raise DataError(
                f"camera {spec.cameras[0]} of {self.spec.repo_id} cannot be read: no video is",
                hint="Use a policy that asks for no camera.",
            )
        return cut_windows(self._frames, rows, spec)

    def columns(self, episode: EpisodeSpan) -> Columns:
        """Return all states and actions of one episode, as read-only views."""
        span = slice(episode.start, episode.stop)
        return Columns(states=self._frames.states[span], actions=self._frames.actions[span])

    def identity(self, episode: EpisodeSpan) -> ContentKey:
        """Return what identifies an episode's content, wherever it lies and beside whatever."""
        return self._identities.of(episode)

    def use_memo(self, memo: IdentityMemo) -> int:
        """Take identities from a memo where files have not changed; return how many were hashed."""
        return self._identities.use_memo(
            memo, files=self._stamps, bounds=self._bounds, episodes=self.episodes
        )


def open_dataset(config: LeRobotConfig) -> LeRobotDataset:
    """Read and check a dataset.

    Raises:
        DataError: Something is missing, torn, or not what the metadata says; all faults that can
            be seen are in the one message.
    """
    folder = Path(config.folder)
    if not folder.exists() and not folder.is_symlink():
        raise DataError(
            f"the folder {folder} of dataset {config.repo_id} is not there",
            hint="Set dataset.root to the folder that holds meta/info.json.",
        )
    require_there(folder)
    info = read_info(folder, config.repo_id)
    if info.total_episodes == 0:
        raise DataError(f"{config.repo_id} in {folder} holds no episode")
    tasks = read_tasks(folder, config.repo_id)
    table = read_episodes(folder)
    frames = read_frames(folder, info, table)
    faults = count_faults(info, table, frames)
    bad = episode_faults(info, table, frames, {task.index for task in tasks})
    if faults or (bad and config.on_bad == "stop"):
        raise _data_error(config, [*faults, *bad])
    skipped = {fault.row: fault for fault in bad}
    episodes = _spans(table, frames, tasks, skipped)
    if not episodes:
        raise _data_error(config, [Fault(text="no episode can be used"), *bad])
    return LeRobotDataset(
        spec=_spec(config, info, tasks, episodes),
        episodes=episodes,
        frames=frames,
        skipped=tuple(
            SkippedEpisode(index=int(table.index[fault.row or 0]), reason=fault.text)
            for fault in bad
        ),
        warnings=_warnings(info, tasks, episodes),
    )


def _spans(
    table: EpisodeTable, frames: Frames, tasks: Iterable[Task], skipped: dict[int | None, Fault]
) -> tuple[EpisodeSpan, ...]:
    ids = {task.index: task.id for task in tasks}
    return tuple(
        EpisodeSpan(
            index=int(table.index[row]),
            task=ids[int(frames.task[table.start[row]])],
            start=int(table.start[row]),
            stop=int(table.stop[row]),
        )
        for row in range(len(table))
        if row not in skipped
    )


def _spec(
    config: LeRobotConfig, info: Info, tasks: Sequence[Task], episodes: Iterable[EpisodeSpan]
) -> DataSpec:
    """Describe the dataset; a task without a usable episode is not part of it."""
    shown = {episode.task for episode in episodes}
    return DataSpec(
        repo_id=config.repo_id,
        fps=info.fps,
        tasks=tuple(task for task in tasks if task.id in shown),
        state_dim=info.state_dim,
        action_dim=info.action_dim,
        cameras=info.cameras,
    )


def _data_error(config: LeRobotConfig, faults: Sequence[Fault]) -> DataError:
    where = f"{config.repo_id} in {config.folder}"
    texts = list_bounded([fault.text for fault in faults])
    skippable = all(fault.row is not None for fault in faults)
    return DataError(
        f"{where}: {texts[0]}" if len(texts) == 1 else "\n  ".join([f"{where}:", *texts]),
        hint="Repair these episodes, or leave them out with --dataset.on_bad skip."
        if skippable
        else "Copy the dataset again, or end its recording with finalize().",
    )


def _warnings(info: Info, tasks: Sequence[Task], episodes: Iterable[EpisodeSpan]) -> list[str]:
    shown = {episode.task for episode in episodes}
    warnings = [
        f"task {t.id} ({t.text!r}) has no usable episode" for t in tasks if t.id not in shown
    ]
    if info.total_tasks != len(tasks):
        warnings.append(f"info.json says {info.total_tasks} tasks, tasks.parquet {len(tasks)}")
    warnings += [
        f"tasks {_names(group)} share the text {group[0].text!r}; they stay apart"
        for group in _alike(tasks, lambda text: text)
    ]
    for group in _alike(tasks, _loosely):
        texts = dict.fromkeys(task.text for task in group)
        if len(texts) > 1:
            shown_texts = ", ".join(repr(text) for text in texts)
            warnings.append(
                f"tasks {_names(group)} have texts that differ in spaces or case only: "
                f"{shown_texts}; they stay apart"
            )
    return warnings


def _loosely(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _alike(tasks: Iterable[Task], key: Callable[[str], str]) -> list[list[Task]]:
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(key(task.text), []).append(task)
    return [group for group in groups.values() if len(group) > 1]


def _names(tasks: Iterable[Task]) -> str:
    return ", ".join(task.id for task in tasks)
