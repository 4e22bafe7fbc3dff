"""Where everything lies in a run folder, and who may use it."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from etude.core.errors import StateError
from etude.store.atomic import storage_errors

RECORD_SUFFIX = ".jsonl.zst"
"""Of the records of scans."""


class RunFolder:
    """The names inside `runs/<name>/`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def manifest(self) -> Path:
        """What was asked, once and for all; its presence makes a folder a run."""
        return self.root / "run.json"

    @property
    def config(self) -> Path:
        return self.root / "config.resolved.toml"

    @property
    def environment(self) -> Path:
        return self.root / "env.json"

    @property
    def data(self) -> Path:
        return self.root / "data.json"

    @property
    def events(self) -> Path:
        return self.root / "events"

    @property
    def ledger(self) -> Path:
        """The history that the checkpoints are checked against; see `store.ledger`."""
        return self.root / "ledger.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"

    @property
    def report(self) -> Path:
        return self.root / "report.html"

    @property
    def scans(self) -> Path:
        return self.root / "scans"

    def scan(self, record_id: str) -> Path:
        """Return the record of one scan."""
        return self.scans / f"{record_id}{RECORD_SUFFIX}"

    def evaluation(self, eval_id: str) -> Path:
        """Return the folder of one evaluation."""
        return self.root / "eval" / eval_id

    def evaluations(self) -> list[Path]:
        """Return the folders of all evaluations that were begun, oldest manifest first."""
        manifests = (self.root / "eval").glob("*/manifest.json")
        begun = sorted((path.stat().st_mtime_ns, path.parent) for path in manifests)
        return [folder for _, folder in begun]

    @contextmanager
    def claim(self) -> Generator[None, None, None]:
        """Hold the folder for this process; a dead process holds nothing.

        Raises:
            StateError: Another process is using it.
        """
        with storage_errors(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            raise StateError(
                f"{self.root} is in use by another process",
                hint="Wait for it to end, or choose another --output_dir.",
            ) from error
        try:
            yield
        finally:
            os.close(handle)

    def require_fresh(self) -> None:
        """Refuse a folder that holds anything but our lock, evaluations and scans made beforehand.

        Raises:
            StateError: Something is there; nothing has been touched.
        """
        if self.root.exists() and not self.root.is_dir():
            raise StateError(f"{self.root} is a file", hint="Choose another --output_dir.")
        held = sorted(path.name for path in self.root.iterdir()) if self.root.exists() else []
        held = [name for name in held if name not in (".lock", "eval", "scans")]
        if not held:
            return
        if self.manifest.exists():
            raise StateError(
                f"{self.root} already holds a run",
                hint="Add --resume to continue it, or choose another --output_dir.",
            )
        raise StateError(
            f"{self.root} already holds {', '.join(held[:3])}, which is no run",
            hint="Choose another --output_dir, or empty this one yourself.",
        )
