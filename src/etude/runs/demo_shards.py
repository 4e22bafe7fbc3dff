"""What an unfinished recording has finished: a file for each task, so that a kill loses little."""

import io
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from etude.core.errors import DataError
from etude.core.types import Task
from etude.runs.recording import Demonstration, TaskRecording
from etude.store.atomic import read_json, storage_errors, write_bytes, write_json

_IDENTITY = "recording.json"


class DemoShards:
    """The folder of an unfinished recording."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def begin(self, identity: dict[str, Any]) -> None:
        """Keep what a recording of the same identity has left here, and nothing else.

        Raises:
            StorageError: The folder cannot be written.
        """
        marker = self.root / _IDENTITY
        if marker.exists() and read_json(marker) == identity:
            return
        with storage_errors(self.root):
            for shard in self.root.glob("*.npz"):
                shard.unlink()
        write_json(marker, identity)

    def remove(self) -> None:
        """Remove what is there of the folder; nothing depends on its absence."""
        shutil.rmtree(self.root, ignore_errors=True)

    def holds(self, task: Task) -> bool:
        """Return whether `task` is finished."""
        return self._path(task).exists()

    def write(self, task: Task, recording: TaskRecording) -> None:
        """Keep the recording of `task`, whole or not at all.

        Raises:
            StorageError: The file cannot be written.
        """
        demonstrations = recording.demonstrations
        buffer = io.BytesIO()
        np.savez(
            buffer,
            attempts=np.array(recording.attempts),
            seeds=np.array([each.seed for each in demonstrations], dtype=np.int64),
            noise=np.array([each.noise for each in demonstrations], dtype=np.float64),
            lengths=np.array([len(each.states) for each in demonstrations], dtype=np.int64),
            states=np.concatenate([each.states for each in demonstrations]),
            actions=np.concatenate([each.actions for each in demonstrations]),
            success=np.concatenate([each.success for each in demonstrations]),
        )
        write_bytes(self._path(task), buffer.getvalue())

    def read(self, task: Task) -> TaskRecording:
        """Return the recording of a finished task.

        Raises:
            DataError: The file is damaged.
        """
        path = self._path(task)
        try:
            with np.load(path) as file:
                columns: dict[str, np.ndarray] = {name: file[name] for name in file.files}
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise DataError(f"{path} is damaged: {error}", hint=f"Remove it: rm {path}") from error
        return _recording(columns)

    def _path(self, task: Task) -> Path:
        return self.root / f"task-{task.index:05d}.npz"


def _recording(columns: dict[str, np.ndarray]) -> TaskRecording:
    cuts = np.cumsum(columns["lengths"])[:-1]
    episodes = zip(
        columns["seeds"].tolist(),
        columns["noise"].tolist(),
        np.split(columns["states"], cuts),
        np.split(columns["actions"], cuts),
        np.split(columns["success"], cuts),
        strict=True,
    )
    return TaskRecording(
        attempts=int(columns["attempts"]),
        demonstrations=tuple(
            Demonstration(seed=seed, noise=noise, states=states, actions=actions, success=success)
            for seed, noise, states, actions, success in episodes
        ),
    )
