"""Looking after a scan cache: what it holds, whether it is sound, and what may go."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from etude.core.errors import DataError, StateError
from etude.core.kill_points import kill_point
from etude.core.types import ContentKey
from etude.store.atomic import read_json, storage_errors, write_bytes
from etude.store.cache import agree
from etude.store.segments import (
    NAMESPACES,
    SUFFIX,
    Entry,
    Segment,
    SegmentFault,
    all_segments,
    list_segments,
    read_segment,
    write_pack,
)

GRACE_S = 3600.0
"""Seconds for which nothing is deleted that a scan on another machine may still be using."""

PACK_AT = 8
"""Segments of one subject from which on they are made into one."""

LARGE_ENTRIES = 100_000
"""Entries from which on a segment is left as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceStats:
    """What one namespace holds."""

    entries: int
    """Distinct keys."""
    segments: int
    bytes: int
    weights: int
    """Distinct sets of weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheCheck:
    """What reading every byte of a cache has shown."""

    segments: int
    entries: int
    damaged: Sequence[str]
    """Files that cannot be used, and why."""
    wrong_keys: Sequence[str]
    """Entries whose key is not that of their inputs."""
    nondeterminism: Sequence[ContentKey]
    """Keys with two results."""

    @property
    def sound(self) -> bool:
        """Nothing has to be computed again, and nothing is in doubt."""
        return not (self.damaged or self.wrong_keys or self.nondeterminism)


@dataclass(slots=True, kw_only=True)
class Collected:
    """What a collection has removed, or would remove."""

    kept_weights: int = 0
    removed_weights: int = 0
    removed_files: int = 0
    freed_bytes: int = 0
    packed_segments: int = 0
    too_young: list[str] = field(default_factory=list[str])
    """Files that would go but for the grace period."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What copying segments between two caches has done."""

    segments: int
    present: int
    """Were there already."""
    refused: Sequence[str]
    """Files that are no whole segments."""


def stats(root: Path) -> dict[str, NamespaceStats]:
    """Return what each namespace of a cache holds."""
    found: dict[str, NamespaceStats] = {}
    for namespace in NAMESPACES:
        segments = [s for s in _whole(root) if s.subject.namespace == namespace]
        found[namespace] = NamespaceStats(
            entries=len({entry.key for segment in segments for entry in segment.entries}),
            segments=len(segments),
            bytes=sum(segment.path.stat().st_size for segment in segments),
            weights=len({segment.subject.weights for segment in segments}),
        )
    return found


def verify(root: Path) -> CacheCheck:
    """Read a whole cache, and compute every key anew from the inputs beside it."""
    damaged: list[str] = []
    wrong: list[str] = []
    first: dict[ContentKey, Entry] = {}
    doubtful: dict[ContentKey, None] = {}
    segments = 0
    for found in _read(all_segments(root)):
        if isinstance(found, SegmentFault):
            damaged.append(str(found))
            continue
        segments += 1
        wrong += [
            f"{found.path}: {entry.key}" for entry in found.entries if _misnamed(found, entry)
        ]
        for entry in found.entries:
            if not agree(first.setdefault(entry.key, entry).result, entry.result):
                doubtful[entry.key] = None
    return CacheCheck(
        segments=segments,
        entries=len(first),
        damaged=damaged,
        wrong_keys=wrong,
        nondeterminism=list(doubtful),
    )


def referenced_weights(folders: Iterable[Path]) -> set[ContentKey]:
    """Return the weights of all checkpoints below `folders`.

    Raises:
        StateError: A folder is not there, or there is no checkpoint, so that all would seem unused.
        DataError: A checkpoint's manifest cannot be read.
    """
    found: set[ContentKey] = set()
    for folder in folders:
        if not folder.is_dir():
            raise StateError(f"{folder} is no folder", hint="Name folders of runs, e.g. runs.")
        for path in sorted(folder.rglob("checkpoints/step-*/MANIFEST.json")):
            manifest = read_json(path)
            if "weights" not in manifest:
                raise DataError(f"{path} names no weights", hint="Restore it from a copy.")
            found.add(ContentKey(str(manifest["weights"])))
    if not found:
        raise StateError(
            "no checkpoint lies in the folders that were named, so every result would go",
            hint="Name the folders of the runs whose results are to stay, e.g. runs.",
        )
    return found


def collect(
    root: Path,
    keep: set[ContentKey],
    *,
    grace_s: float = GRACE_S,
    dry_run: bool = False,
    clock: Callable[[], float] = time.time,
) -> Collected:
    """Remove results of weights outside `keep`, remains of killed writers, and damaged files.

    Raises:
        StorageError: The cache cannot be written.
    """
    done = Collected()
    reaper = _Reaper(done=done, grace_s=grace_s, dry_run=dry_run, now=clock())
    kept: set[ContentKey] = set()
    removed: set[ContentKey] = set()
    for namespace in NAMESPACES:
        for group in sorted((root / namespace).glob("*")):
            reaper.take(sorted(group.glob(f"*{SUFFIX}.damaged")))
            reaper.take(sorted(group.glob(f".*{SUFFIX}.*")))
            segments = _sound(group)
            weights = {segment.subject.weights for segment in segments}
            if weights & keep:
                kept |= weights
                reaper.take(_superseded([s for s in segments if reaper.is_old(s.path)]))
                done.packed_segments += 0 if dry_run else pack(root, group)
            else:
                removed |= weights
                reaper.take([segment.path for segment in segments])
    done.kept_weights, done.removed_weights = len(kept), len(removed)
    return done


def pack(root: Path, group: Path, *, least: int = PACK_AT) -> int:
    """Repeat the small segments of one subject in one; return how many it replaces.

    They are deleted by a later collection, so that no reader finds the one listed and gone.

    Raises:
        StorageError: The cache cannot be written.
    """
    segments = _sound(group)
    old = set(_superseded(segments))
    small = [s for s in segments if s.path not in old and len(s.entries) < LARGE_ENTRIES]
    if len(small) < least:
        return 0
    write_pack(root, small[0].subject, small)
    kill_point("cache.pack_written")
    return len(small)


def copy_segments(source: Path, target: Path) -> Copied:
    """Copy the whole segments of one cache into another.

    Raises:
        StateError: `source` is no folder.
        StorageError: `target` cannot be written.
    """
    if not source.is_dir():
        raise StateError(f"{source} is no folder", hint="Name the folder of a scan cache.")
    copied = present = 0
    refused: list[str] = []
    for found in _read(all_segments(source)):
        if isinstance(found, SegmentFault):
            refused.append(str(found))
            continue
        place = target / found.path.relative_to(source)
        if isinstance(_one(place), Segment):
            present += 1
            continue
        with storage_errors(place.parent):
            place.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(place, found.path.read_bytes())
        copied += 1
    return Copied(segments=copied, present=present, refused=refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reaper:
    """Deletes files that are older than the grace period."""

    done: Collected
    grace_s: float
    dry_run: bool
    now: float

    def is_old(self, path: Path) -> bool:
        return self.now - path.stat().st_mtime >= self.grace_s

    def take(self, paths: Iterable[Path]) -> None:
        for path in paths:
            if not self.is_old(path):
                self.done.too_young.append(str(path))
                continue
            self.done.removed_files += 1
            self.done.freed_bytes += path.stat().st_size
            if not self.dry_run:
                with storage_errors(path):
                    path.unlink(missing_ok=True)


def _superseded(segments: Sequence[Segment]) -> list[Path]:
    """Return the segments that a whole one of the same subject repeats."""
    names = {name for segment in segments for name in segment.replaces}
    return [segment.path for segment in segments if segment.path.name in names]


def _misnamed(segment: Segment, entry: Entry) -> bool:
    return entry.key != segment.subject.key(episode=entry.episode, draw=entry.draw)


def _sound(group: Path) -> list[Segment]:
    return [found for found in _read(list_segments(group)) if isinstance(found, Segment)]


def _whole(root: Path) -> Iterator[Segment]:
    return (found for found in _read(all_segments(root)) if isinstance(found, Segment))


def _read(paths: Iterable[Path]) -> Iterator[Segment | SegmentFault]:
    return (found for path in paths if (found := _one(path)) is not None)


def _one(path: Path) -> Segment | SegmentFault | None:
    """Return what a file holds; None if another process has just removed it."""
    try:
        return read_segment(path)
    except FileNotFoundError:
        return None
