"""Task state documents as files: finding the one that is meant, reading, copying and editing it.

The copy in a checkpoint is sealed with it. Whoever wants other states exports it, edits the copy,
and names that when the run goes on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from etude.checkpoints.commit import MANIFEST, CheckpointStore
from etude.core.errors import DataError, StateError
from etude.curriculum.task_state import FILE_NAME, TaskStateDocument
from etude.curriculum.task_state_changes import Change, difference
from etude.curriculum.task_state_reading import document_from_text
from etude.store.atomic import read_json, storage_errors, write_bytes
from etude.store.content import file_digest
from etude.store.layout import RunFolder

RUNS = Path("runs")
"""Where runs lie by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How two documents differ."""

    old: str
    new: str
    changes: list[Change]


def find_document(place: Path | None) -> Path:
    """Return the document that a user means: a file, a checkpoint's, or a run's newest.

    Args:
        place: A document, a checkpoint or its `hf` folder, or a run; None for the run in `runs`
            that has saved last.

    Raises:
        StateError: There is none, or the copy in a checkpoint was edited.
        DataError: The newest checkpoint is damaged.
    """
    if place is None:
        place = _newest_run()
    if not place.is_dir():
        path = place
    elif (place / FILE_NAME).exists() or (place / MANIFEST).exists():
        path = place / FILE_NAME
    else:
        path = _in_newest_checkpoint(place)
    if not path.exists():
        raise StateError(
            f"{path} does not exist",
            hint="Name a run that was trained with task states, or a document.",
        )
    _refuse_edited(path)
    return path


def read_document(path: Path) -> TaskStateDocument:
    """Return the document in a file.

    Raises:
        StateError: It is none, or has faults, all of which are told.
        DataError: The file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise StateError(
            f"{path} is no text in UTF-8: {error.reason} at byte {error.start}",
            hint="Name a task state document; write one with `etude tasks export RUN FILE`.",
        ) from error
    return document_from_text(text, source=str(path))


def write_document(path: Path, document: TaskStateDocument) -> None:
    """Replace the file at `path` by a document.

    Raises:
        StorageError: It cannot be written; what was there is intact.
    """
    write_bytes(path, document.to_text().encode("utf-8", "backslashreplace"))


def export(place: Path, target: Path) -> Path:
    """Copy the document of a run or a checkpoint to a file that can be edited.

    Raises:
        StateError: There is no document, or the file is there already.
        DataError: The newest checkpoint is damaged.
        StorageError: The file cannot be written.
    """
    document = read_document(find_document(place))
    if target.is_dir():
        raise StateError(f"{target} is a folder", hint=f"Name a file: {target / FILE_NAME}")
    if target.exists():
        raise StateError(f"{target} exists already", hint=f"Name another file, or: rm {target}")
    _refuse_sealed(target)
    with storage_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    write_document(target, document)
    return target


def edit(path: Path, change: Callable[[TaskStateDocument], TaskStateDocument]) -> Comparison:
    """Replace a document by what `change` makes of it, and return how they differ.

    Raises:
        StateError: It is sealed in a checkpoint, is none, or cannot be changed like this.
        DataError: The file cannot be read.
        StorageError: It cannot be written; the old one is intact.
    """
    if path.is_dir():
        raise StateError(
            f"{path} is a folder, not a document that can be edited",
            hint=f"Export it first: etude tasks export {path} states.json",
        )
    _refuse_sealed(path)
    before = read_document(path)
    after = change(before)
    write_document(path, after)
    return Comparison(old=str(path), new=str(path), changes=difference(before, after))


def compare(old: Path, new: Path) -> Comparison:
    """Return how the documents of two places differ.

    Raises:
        StateError: A place has no document, or one with faults.
        DataError: A file cannot be read, or a checkpoint is damaged.
    """
    paths = [find_document(place) for place in (old, new)]
    before, after = (read_document(path) for path in paths)
    return Comparison(old=str(paths[0]), new=str(paths[1]), changes=difference(before, after))


def _newest_run() -> Path:
    saved = [
        (manifest.stat().st_mtime_ns, manifest.parents[2])
        for manifest in RUNS.glob(f"*/checkpoints/step-*/{MANIFEST}")
    ]
    if not saved:
        raise StateError(
            f"{RUNS} holds no run with a checkpoint",
            hint="Name a run or a document: etude tasks show runs/mt50",
        )
    return max(saved)[1]


def _in_newest_checkpoint(run: Path) -> Path:
    """Return where the newest checkpoint of a run has its document."""
    store = CheckpointStore(RunFolder(run).checkpoints)
    sealed = sorted(store.folder.glob(f"step-*/{MANIFEST}"), key=_step)
    if not sealed:
        raise StateError(
            f"{run} has no checkpoint, and is no document",
            hint="Name a run that has saved one, e.g. runs/mt50, or a document.",
        )
    # Told first, since an edit by hand needs another way out than a damaged disk.
    _refuse_edited(sealed[-1].with_name(FILE_NAME))
    newest = store.latest()
    return sealed[-1].with_name(FILE_NAME) if newest is None else store.path(newest) / FILE_NAME


def _step(manifest: Path) -> int:
    number = manifest.parent.name.removeprefix("step-")
    return int(number) if number.isdecimal() else -1


def _refuse_edited(path: Path) -> None:
    """Refuse the copy in a checkpoint if it is not the one that was saved."""
    folder = _checkpoint_of(path)
    if folder is None or not path.exists():
        return
    name = path.resolve().relative_to(folder).as_posix()
    entries: Any = read_json(folder / MANIFEST).get("files")
    digests = {
        each.get("path"): each.get("blake3") for each in cast("list[dict[str, Any]]", entries or [])
    }
    if name in digests and digests[name] != file_digest(path):
        raise StateError(
            f"{path} was edited, but it is sealed with the weights beside it",
            hint="Put the saved copy back; edit one that `etude tasks export` makes, and go on "
            "with --task-state FILE.",
        )


def _refuse_sealed(path: Path) -> None:
    folder = _checkpoint_of(path)
    if folder is not None:
        raise StateError(
            f"{path} is sealed with the weights in {folder} and cannot be changed",
            hint=f"Edit a copy: etude tasks export {folder} FILE, then --document FILE here and "
            "--task-state FILE for the run.",
        )


def _checkpoint_of(path: Path) -> Path | None:
    """Return the checkpoint that a file belongs to: its folder, or the one above."""
    for folder in path.resolve().parents[:2]:
        if (folder / MANIFEST).exists():
            return folder
    return None
