"""Random access to recorded demonstrations, whatever format they were read from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float64, Int64, UInt8

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
from etude.datasets.episode_table import EpisodeTable
from etude.datasets.faults import Fault, faults_error
from etude.datasets.frame_files import Frames
from etude.datasets.identity import EpisodeIdentities, IdentityMemo
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.pictures import Camera, Wanted
from etude.datasets.task_files import text_warnings
from etude.datasets.windows import EpisodeFrames, cut_windows, observed_rows
from etude.store.content import bytes_digest, content_key


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recording:
    """What a reader finds in a folder: everything but a decision about its faults."""

    format: str
    """Name of the plug-in that reads it."""
    folder: Path
    fps: float
    robot_type: str
    state_names: tuple[str, ...]
    action_names: tuple[str, ...]
    tasks: tuple[Task, ...]
    episodes: EpisodeTable
    frames: Frames
    cameras: Mapping[str, Camera]
    faults: tuple[Fault, ...] = ()
    warnings: tuple[str, ...] = ()

    def times_s(
        self, rows: Int64[np.ndarray, " rows"], starts: Int64[np.ndarray, " rows"] | int
    ) -> Float64[np.ndarray, " rows"]:
        """Return the time of some rows within their episodes, which begin at `starts`."""
        recorded_s = self.frames.timestamps[rows]
        return np.where(np.isnan(recorded_s), (rows - starts) / self.fps, recorded_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedEpisode:
    """An episode that is left out, and why."""

    index: int
    reason: str


class RecordedDataset:
    """Recorded demonstrations: states and actions in memory, pictures decoded when asked for."""

    def __init__(
        self,
        recording: Recording,
        *,
        spec: DataSpec,
        episodes: tuple[EpisodeSpan, ...],
        rows: Sequence[int],
        skipped: tuple[SkippedEpisode, ...],
    ) -> None:
        """Give access to `episodes`, which stand in `rows` of the recording's episode table."""
        self.recording = recording
        self.spec = spec
        self.episodes = episodes
        self.skipped = skipped
        """Episodes left out by `on_bad = "skip"`."""
        self.warnings = _warnings(recording, episodes)
        """What a person should know about the data although it can be used."""
        frames = recording.frames
        self.rows = np.array(rows, np.int64)
        """Of `episodes` in the recording's episode table."""
        self._digests: dict[tuple[int, str], str] = {}
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
            DataError: A row lies in no usable episode, or a picture cannot be read.
        """
        cameras = {name: self.camera(name) for name in spec.cameras}
        pictures: dict[str, UInt8[np.ndarray, "batch observations height width 3"]] = {}
        if spec.cameras:
            seen = observed_rows(self._frames, rows, spec)
            distinct, where = np.unique(seen, return_inverse=True)
            wanted = self._wanted(distinct)
            for name, camera in cameras.items():
                pictures[name] = camera.read(wanted)[where.reshape(seen.shape)]
        return cut_windows(self._frames, rows, spec, pictures)

    def columns(self, episode: EpisodeSpan) -> Columns:
        """Return all states and actions of one episode, as read-only views."""
        span = slice(episode.start, episode.stop)
        return Columns(states=self._frames.states[span], actions=self._frames.actions[span])

    def identity(self, episode: EpisodeSpan, *, cameras: Sequence[str] = ()) -> ContentKey:
        """Return what identifies an episode's content, wherever it lies and beside whatever.

        Args:
            episode: One of `episodes`.
            cameras: Those whose pictures matter too; what is stored of them is read, not decoded.

        Raises:
            DataError: A camera's file is missing or damaged.
        """
        own = self._identities.of(episode)
        if not cameras:
            return own
        return content_key(
            "episode-pictures/1",
            own,
            [[name, self._picture_digest(episode, name)] for name in sorted(cameras)],
        )

    def use_memo(self, memo: IdentityMemo) -> int:
        """Take identities from a memo where files have not changed; return how many were hashed."""
        frames = self.recording.frames
        return self._identities.use_memo(
            memo, files=frames.stamps, bounds=frames.bounds, episodes=self.episodes
        )

    def _picture_digest(self, episode: EpisodeSpan, name: str) -> str:
        if (episode.start, name) not in self._digests:
            wanted = self._wanted(np.arange(episode.start, episode.stop))
            stored = self.camera(name).stored(wanted)
            parts = [bytes_digest(part) for part in stored]
            self._digests[episode.start, name] = content_key("pictures/1", parts)
        return self._digests[episode.start, name]

    def camera(self, name: str) -> Camera:
        """Return a camera of the dataset.

        Raises:
            DataError: It has none of that name.
        """
        if name not in self.recording.cameras:
            known = ", ".join(self.spec.cameras) or "none"
            raise DataError(
                f"camera {name} is none of {self.spec.repo_id}, which has {known}",
                hint="Name one of its cameras in the policy's settings.",
            )
        return self.recording.cameras[name]

    def _wanted(self, rows: Int64[np.ndarray, " pictures"]) -> Wanted:
        """Say of some rows of the frame table which frames of which episodes they are."""
        place = np.searchsorted(self._frames.starts, rows, side="right") - 1
        starts = self._frames.starts[place]
        return Wanted(
            row=self.rows[place],
            episode=self.recording.episodes.index[self.rows[place]],
            frame=rows - starts,
            time_s=self.recording.times_s(rows, starts),
            last=self._frames.stops[place] - 1 - starts,
        )


def open_recording(config: LeRobotConfig, recording: Recording) -> RecordedDataset:
    """Return the dataset that a recording is, without the episodes that are to be left out.

    Raises:
        DataError: Something is not what the metadata says; all faults are in the one message.
    """
    where = f"{config.repo_id} in {config.folder}"
    bad = [fault for fault in recording.faults if fault.row is not None]
    if (bad and config.on_bad == "stop") or len(bad) < len(recording.faults):
        raise faults_error(where, recording.faults)
    first = {fault.row: fault for fault in reversed(bad)}
    rows = [row for row in range(len(recording.episodes)) if row not in first]
    if not rows:
        none = Fault(id="nothing-left", address=config.folder, message="no episode can be used")
        raise faults_error(where, [none, *bad])
    episodes = _spans(recording, rows)
    return RecordedDataset(
        recording,
        spec=_spec(config, recording, episodes),
        episodes=episodes,
        rows=rows,
        skipped=tuple(
            SkippedEpisode(index=int(recording.episodes.index[row]), reason=first[row].message)
            for row in range(len(recording.episodes))
            if row in first
        ),
    )


def _spans(recording: Recording, rows: Iterable[int]) -> tuple[EpisodeSpan, ...]:
    ids = {task.index: task.id for task in recording.tasks}
    table = recording.episodes
    return tuple(
        EpisodeSpan(
            index=int(table.index[row]),
            task=ids[int(recording.frames.task[table.start[row]])],
            start=int(table.start[row]),
            stop=int(table.stop[row]),
        )
        for row in rows
    )


def _spec(config: LeRobotConfig, recording: Recording, episodes: Iterable[EpisodeSpan]) -> DataSpec:
    """Describe the dataset; a task without a usable episode is not part of it."""
    shown = {episode.task for episode in episodes}
    return DataSpec(
        repo_id=config.repo_id,
        fps=recording.fps,
        tasks=tuple(task for task in recording.tasks if task.id in shown),
        state_dim=recording.frames.states.shape[1],
        action_dim=recording.frames.actions.shape[1],
        cameras=tuple(recording.cameras),
        action_names=recording.action_names,
    )


def _warnings(recording: Recording, episodes: Iterable[EpisodeSpan]) -> list[str]:
    shown = {episode.task for episode in episodes}
    unseen = [task for task in recording.tasks if task.id not in shown]
    return [
        *(f"task {task.id} ({task.text!r}) has no usable episode" for task in unseen),
        *recording.warnings,
        *text_warnings(recording.tasks),
    ]
