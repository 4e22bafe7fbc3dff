"""Records of scans in run folders: keeping them, reading them, and finding the newest."""

import re
from collections.abc import Callable
from pathlib import Path

from etude.core.errors import ConfigError, DataError, StorageError
from etude.core.kill_points import kill_point
from etude.runs.run_config import RunConfig
from etude.scan.record import Kind, ScanRecord, Setting, record_id
from etude.store.atomic import storage_errors, write_bytes
from etude.store.layout import RECORD_SUFFIX, RunFolder
from etude.store.packed import pack_lines, unpack_lines

_NAMED = 5
"""Most files that one message names."""


def choice_settings(config: RunConfig) -> dict[str, Setting]:
    """Return every setting that decides which windows a scan looks at and how it judges them."""
    scan = config.scan
    return {
        "strategy": scan.strategy,
        "windows_per_task": scan.windows_per_task,
        "first": scan.first,
        "tau": scan.tau,
        "time_limit_s": scan.time_limit_s,
        "round": scan.round,
        "rotation": scan.rotation,
        "step": scan.step,
        "actions": scan.actions,
        "hold_out_episodes": config.dataset.config.hold_out_episodes,
        "seed": config.seed,
    }


def keep_record(folder: RunFolder, record: ScanRecord, *, warn: Callable[[str], None]) -> str:
    """Write a record into a folder, which need not be a run, and return the path of its file.

    A record of the same scan is replaced. Where it cannot be written, that is said and the path is
    "", so that what a long scan has found is still told.
    """
    path = folder.scan(record_id(record))
    try:
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, pack_lines(record.to_lines()))
    except StorageError as error:
        warn(f"{error}; the scan is told but not recorded")
        return ""
    kill_point("scan.record_written")
    return str(path)


def read_record(path: Path) -> ScanRecord:
    """Return what a file of a record holds.

    Raises:
        DataError: The file cannot be read, is damaged, or is no record.
    """
    try:
        packed = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"{path} cannot be read: {error.strerror}",
            hint="Name the file that `etude scan tasks` calls its record.",
        ) from error
    try:
        return ScanRecord.from_lines(unpack_lines(packed))
    except ValueError as error:
        raise DataError(
            f"{path} ({len(packed):,} bytes) is no whole record of a scan: {error}",
            hint="Make the scan again; what is known is recalled and the record replaced.",
        ) from error


def find_record(place: Path, *, kind: Kind = "tasks") -> Path:
    """Return the record that a user means: a file, or a run's newest by training steps.

    Raises:
        ConfigError: There is no record, or several are of the same, newest checkpoint.
    """
    if not place.is_dir():
        if place.exists():
            return place
        raise ConfigError(
            f"{place} does not exist",
            hint="Name a record, e.g. runs/mt50/scans/tasks-step-00001000-0f3a5c7e91.jsonl.zst, "
            "or a run.",
        )
    names = re.compile(rf"{kind}-step-(\d+)-[0-9a-f]+{re.escape(RECORD_SUFFIX)}")
    found = {
        path: int(match[1])
        for path in sorted(RunFolder(place).scans.glob("*"))
        if (match := names.fullmatch(path.name))
    }
    if not found:
        raise ConfigError(
            f"{place} has no record of a scan of {kind}",
            hint=f"Make one: etude scan {kind} RECIPE --output_dir {place}",
        )
    step = max(found.values())
    newest = [path for path in found if found[path] == step]
    if len(newest) > 1:
        more = f" and {len(newest) - _NAMED} more" if len(newest) > _NAMED else ""
        named = ", ".join(path.name for path in newest[:_NAMED])
        raise ConfigError(
            f"{place} has {len(newest)} records of step {step}: {named}{more}",
            hint=f"Name one of them, e.g. {newest[0]}",
        )
    return newest[0]
