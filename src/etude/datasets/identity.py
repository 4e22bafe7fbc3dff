"""The identity of an episode: what is recorded in it, never where it lies or beside what.

So it stays when episodes are appended to its file, when files are split, merged or moved, and it
changes with any value.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import Float32, Float64, Int64

from etude.core.errors import DataError, StorageError
from etude.core.types import ContentKey, DataSpec, EpisodeSpan
from etude.store.atomic import read_json, storage_errors, write_json
from etude.store.content import bytes_digest, content_key

MEMO = "identity-memo/1"

SETTLED_NS = 2_000_000_000
"""A file younger than this may change again without a change of its time stamp."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStamp:
    """What tells cheaply that a file is still the same."""

    path: Path
    size: int
    mtime_ns: int
    taken_ns: int
    """When the file was looked at, before it was read."""

    @property
    def settled(self) -> bool:
        """Whether any later change must show in the time stamp."""
        return self.taken_ns - self.mtime_ns >= SETTLED_NS


def take_stamp(path: Path, *, clock: Callable[[], int] = time.time_ns) -> FileStamp:
    """Return the stamp of a file that is about to be read."""
    place = path.resolve()
    found = place.stat()
    return FileStamp(path=place, size=found.st_size, mtime_ns=found.st_mtime_ns, taken_ns=clock())


class IdentityMemo:
    """Digests of rows by file, on this machine; it may be deleted at any time.

    With `verify` nothing is recalled, so that everything is hashed anew, and kept.
    """

    def __init__(self, folder: Path, *, verify: bool = False) -> None:
        self._folder = folder
        self._verify = verify

    def recall(self, stamp: FileStamp) -> dict[str, str]:
        """Return digests by span of rows; nothing if the file may have changed."""
        place = self._place(stamp)
        if self._verify or not place.exists():
            return {}
        try:
            kept = read_json(place)
        except DataError:
            # Only a memo: what cannot be read is hashed again and written over.
            return {}
        if [kept.get(name) for name in ("schema", "path", "size", "mtime_ns")] != _facts(stamp):
            return {}
        rows = kept.get("rows")
        return dict(cast("Mapping[str, Any]", rows)) if isinstance(rows, Mapping) else {}

    def keep(self, stamp: FileStamp, rows: Mapping[str, str]) -> None:
        """Keep digests by span of rows, unless the file is too young to be trusted."""
        if not stamp.settled:
            return
        schema, path, size, mtime_ns = _facts(stamp)
        fields = {"schema": schema, "path": path, "size": size, "mtime_ns": mtime_ns, "rows": rows}
        try:
            with storage_errors(self._folder):
                self._folder.mkdir(parents=True, exist_ok=True)
            write_json(self._place(stamp), fields)
        except StorageError:
            # Hashing again costs a second; a scan is not worth stopping for that.
            return

    def _place(self, stamp: FileStamp) -> Path:
        return self._folder / f"{content_key(MEMO, str(stamp.path))[:32]}.json"


class EpisodeIdentities:
    """The identities of one dataset's episodes, each computed when it is first asked for."""

    def __init__(
        self,
        *,
        spec: DataSpec,
        states: Float32[np.ndarray, "frames state"],
        actions: Float32[np.ndarray, "frames action"],
        timestamps: Float64[np.ndarray, " frames"],
    ) -> None:
        self._texts = {task.id: task.text for task in spec.tasks}
        self._schema = {
            "fps": float(spec.fps),
            "state_dim": spec.state_dim,
            "action_dim": spec.action_dim,
            "action_names": spec.action_names,
            "cameras": spec.cameras,
        }
        # Pictures are an identity of their own: most scans look at none.
        self._states = states
        self._actions = actions
        self._timestamps = timestamps
        self._digests: dict[tuple[int, int], str] = {}

    def of(self, episode: EpisodeSpan) -> ContentKey:
        """Return the identity of an episode."""
        text = self._texts[episode.task]
        return content_key("episode/1", self._digest(episode), text, self._schema)

    def use_memo(
        self,
        memo: IdentityMemo,
        *,
        files: Sequence[FileStamp],
        bounds: Int64[np.ndarray, " bounds"],
        episodes: Iterable[EpisodeSpan],
    ) -> int:
        """Take digests from a memo and complete it; return how many had to be computed.

        Args:
            memo: Where digests are kept.
            files: Stamps from before the files were read.
            bounds: Rows [bounds[i], bounds[i + 1]) came from files[i].
            episodes: Those whose digests are wanted; each lies in one file.
        """
        by_file: dict[int, list[EpisodeSpan]] = {}
        for episode in episodes:
            place = int(np.searchsorted(bounds, episode.start, side="right")) - 1
            by_file.setdefault(place, []).append(episode)
        computed = 0
        for place, members in by_file.items():
            first = int(bounds[place])
            rows = memo.recall(files[place])
            known = len(rows)
            for episode in members:
                span = f"{episode.start - first}:{episode.stop - first}"
                if span in rows:
                    self._digests[episode.start, episode.stop] = rows[span]
                rows[span] = self._digest(episode)
            if len(rows) > known:
                memo.keep(files[place], rows)
            computed += len(rows) - known
        return computed

    def _digest(self, episode: EpisodeSpan) -> str:
        """Return the digest of an episode's rows, in one byte order, whatever the files use."""
        span = (episode.start, episode.stop)
        if span not in self._digests:
            rows = slice(*span)
            self._digests[span] = content_key(
                "episode-rows/1",
                episode.length,
                _bytes_of(self._states[rows].astype("<f4", copy=False)),
                _bytes_of(self._actions[rows].astype("<f4", copy=False)),
                _bytes_of(self._timestamps[rows].astype("<f8", copy=False)),
            )
        return self._digests[span]


def _bytes_of(rows: np.ndarray) -> str:
    return bytes_digest(np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data)


def _facts(stamp: FileStamp) -> list[object]:
    return [MEMO, str(stamp.path), stamp.size, stamp.mtime_ns]
