"""Checkpoints that are either whole or not there.

Everything is written into a staging folder that nobody looks into; the manifest, which lists every
file with its size and digest, comes last; one rename makes the step visible. A checkpoint counts
when its manifest is there and every file has the size that it names, so a copied folder is as good
as the first. `LATEST` is a hint for people and is never relied on.
"""

import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from etude.core.errors import DataError, StateError, StorageError
from etude.core.kill_points import kill_point
from etude.core.types import CheckpointRef, ContentKey
from etude.store.atomic import (
    read_json,
    storage_errors,
    sync_file,
    sync_folder,
    write_json,
    write_text,
)
from etude.store.content import file_digest

MANIFEST = "MANIFEST.json"
SCHEMA = "checkpoint/1"
LATEST = "LATEST"

_STAGING = ".staging-"
_NAME = re.compile(r"step-(\d{8,})")


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedFile:
    """A file that will not change any more and survives a power cut."""

    path: str
    """Relative to the checkpoint."""
    size: int
    blake3: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A checkpoint that is being written; any number of processes may do so."""

    step: int
    folder: Path
    """Where its files belong; nobody looks into it."""
    target: Path
    """Where it will lie."""


class CheckpointStore:
    """The checkpoints of one run; one process begins and commits them, any number read."""

    def __init__(self, folder: Path, *, keep_last: int = 0) -> None:
        self.folder = folder
        self._keep_last = keep_last

    def sweep(self) -> None:
        """Remove what a killed save or retirement has left. Only the writer may call it."""
        for staging in self.folder.glob(f"{_STAGING}*"):
            shutil.rmtree(staging)
        for draft in self.folder.glob(f".{LATEST}.*"):
            draft.unlink()

    def save(
        self,
        step: int,
        write: Callable[[Path], None],
        *,
        weights: ContentKey,
        needed_bytes: int = 0,
        topology: Mapping[str, Any] | None = None,
    ) -> CheckpointRef:
        """Commit what `write` puts into the folder it is given as the checkpoint of `step`.

        Args:
            step: Steps done.
            write: Fills a new folder.
            weights: Identity of the inference tensors among it.
            needed_bytes: Room that must be free before anything is written.
            topology: How the writing processes were arranged.

        Raises:
            StateError: The step has been saved before.
            StorageError: There is no room; checkpoints already there are intact.
        """
        draft = self.begin(step, needed_bytes=needed_bytes)
        try:
            with storage_errors(draft.target, needed_bytes=needed_bytes):
                write(draft.folder)
            ref = self.commit(draft, weights=weights, topology=topology)
        finally:
            self.abandon(draft)
        self.retire()
        return ref

    def begin(self, step: int, *, needed_bytes: int = 0) -> Draft:
        """Make room for the checkpoint of `step`.

        Raises:
            StateError: The step has been saved before.
            StorageError: There is no room, or the place cannot be written.
        """
        target = self.folder / f"step-{step:08d}"
        if target.exists():
            raise StateError(
                f"{target} exists already", hint="Resume from it or choose another --output_dir."
            )
        with storage_errors(target, needed_bytes=needed_bytes):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._require_room(target, needed_bytes)
            staging = self.folder / f"{_STAGING}{target.name}-{secrets.token_hex(4)}"
            staging.mkdir()
        kill_point("save.staging_made")
        return Draft(step=step, folder=staging, target=target)

    def commit(
        self,
        draft: Draft,
        *,
        weights: ContentKey,
        topology: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
        sealed: Iterable[SealedFile] = (),
    ) -> CheckpointRef:
        """Make a draft the checkpoint of its step, now that all its files are there.

        Args:
            draft: What `begin` returned.
            weights: Identity of the inference tensors among the files.
            topology: How the writing processes were arranged.
            extra: What else the manifest shall say, by names that it does not have yet.
            sealed: Files that `seal` has been called for; the others are sealed now.

        Raises:
            StorageError: There is no room; checkpoints already there are intact.
        """
        kill_point("save.files_written")
        with storage_errors(draft.target):
            manifest = {
                "schema": SCHEMA,
                "step": draft.step,
                "weights": weights,
                "topology": dict(topology or {}),
                **(extra or {}),
                "files": _complete(draft.folder, sealed),
            }
            write_json(draft.folder / MANIFEST, manifest)
            kill_point("save.manifest_written")
            draft.folder.rename(draft.target)
            kill_point("save.renamed")
            sync_folder(self.folder)
        write_text(self.folder / LATEST, f"{draft.target.name}\n")
        kill_point("save.latest_written")
        return self._ref(draft.target)

    def abandon(self, draft: Draft) -> None:
        """Remove what is left of a draft; nothing if it was committed."""
        shutil.rmtree(draft.folder, ignore_errors=True)

    def steps(self) -> list[int]:
        """Return the steps of all whole checkpoints, ascending."""
        return [step for step, folder in self._named() if not faults(folder)]

    def latest(self) -> CheckpointRef | None:
        """Return the newest checkpoint, or None if there is none.

        A folder without a manifest is no checkpoint and is passed over. A damaged checkpoint is
        never passed over, because going back to older weights is for a person to decide.

        Raises:
            DataError: The newest checkpoint is damaged.
        """
        sealed = [folder for _, folder in self._named() if (folder / MANIFEST).exists()]
        if not sealed:
            return None
        newest = sealed[-1]
        if found := faults(newest):
            more = f", and {len(found) - 3} more" if len(found) > 3 else ""
            older = f" to fall back to {sealed[-2].name}" if len(sealed) > 1 else ""
            raise DataError(
                f"{newest} is damaged: {'; '.join(found[:3])}{more}",
                hint=f"Restore it from a copy, or remove the folder{older}: rm -r {newest}",
            )
        return self._ref(newest)

    def path(self, ref: CheckpointRef) -> Path:
        """Return where a checkpoint lies now."""
        return self.folder / Path(ref.folder).name

    def _named(self) -> list[tuple[int, Path]]:
        """Return folders that are named like checkpoints, in the order of their numbers."""
        found = (
            (int(match[1]), path)
            for path in (self.folder.iterdir() if self.folder.is_dir() else ())
            if (match := _NAME.fullmatch(path.name)) and path.is_dir()
        )
        return sorted(found)

    def _ref(self, folder: Path) -> CheckpointRef:
        manifest = read_json(folder / MANIFEST)
        return CheckpointRef(
            step=int(manifest["step"]),
            folder=f"{self.folder.name}/{folder.name}",
            weights=ContentKey(str(manifest["weights"])),
        )

    def _require_room(self, target: Path, needed_bytes: int) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < needed_bytes:
            raise StorageError(
                f"{target} cannot be written: no space left on the disk, "
                f"{needed_bytes:,} bytes needed, {free:,} free",
                hint="Free some space, then run the same command with --resume.",
            )

    def retire(self) -> None:
        """Delete whole checkpoints beyond the newest `keep_last`; leave everything else alone."""
        if self._keep_last == 0:
            return
        whole = [folder for _, folder in self._named() if not faults(folder)]
        for folder in whole[: -self._keep_last]:
            # Renamed first, so that a kill in between leaves only what `sweep` removes.
            doomed = self.folder / f"{_STAGING}{folder.name}-{secrets.token_hex(4)}"
            with storage_errors(folder):
                folder.rename(doomed)
                kill_point("save.retiring")
                shutil.rmtree(doomed)


def seal(folder: Path, paths: Iterable[Path]) -> list[SealedFile]:
    """Make files below a draft's folder survive a power cut, and return what the manifest says."""
    sealed: list[SealedFile] = []
    for path in paths:
        sync_file(path)
        name = path.relative_to(folder).as_posix()
        sealed.append(SealedFile(path=name, size=path.stat().st_size, blake3=file_digest(path)))
    return sealed


def _complete(folder: Path, sealed: Iterable[SealedFile]) -> list[dict[str, object]]:
    """Return what the manifest says of every file; what is not sealed yet will be."""
    known = {file.path: file for file in sealed}
    found = [path for path in folder.rglob("*") if path.is_file()]
    rest = [path for path in found if path.relative_to(folder).as_posix() not in known]
    known |= {file.path: file for file in seal(folder, rest)}
    for inner in (path for path in folder.rglob("*") if path.is_dir()):
        sync_folder(inner)
    return [
        {"path": file.path, "bytes": file.size, "blake3": file.blake3}
        for _, file in sorted(known.items(), key=lambda item: Path(item[0]))
    ]


def faults(folder: Path, *, full: bool = False) -> Sequence[str]:
    """Return what is wrong with a checkpoint folder: nothing if it is whole.

    Args:
        folder: The checkpoint's folder.
        full: Read every file and compare its digest, not only its size.
    """
    if not (folder / MANIFEST).exists():
        return [f"{MANIFEST} is missing"]
    try:
        manifest = read_json(folder / MANIFEST)
    except DataError as error:
        return [str(error)]
    if manifest.get("schema") != SCHEMA:
        return [f"{MANIFEST} has schema {manifest.get('schema')!r}, not {SCHEMA!r}"]
    found: list[str] = []
    entries: Any = manifest.get("files")
    if not isinstance(entries, list):
        return [f"{MANIFEST} lists no files"]
    for entry in cast("list[dict[str, Any]]", entries):
        path = folder / entry["path"]
        if not path.is_file():
            found.append(f"{entry['path']} is missing")
        elif path.stat().st_size != entry["bytes"]:
            found.append(f"{entry['path']} has {path.stat().st_size} of {entry['bytes']} bytes")
        elif full and file_digest(path) != entry["blake3"]:
            found.append(f"{entry['path']} has other bytes than were saved")
    return found
