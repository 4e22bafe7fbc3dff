"""Keeping, reading and finding the records of scans in run folders."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from etude.core.errors import ConfigError, DataError
from etude.core.types import ContentKey
from etude.runs.run_config import RunConfig
from etude.runs.scan_records import choice_settings, find_record, keep_record, read_record
from etude.scan.measure import Measure
from etude.scan.record import Kind, ScanRecord, scan_record
from etude.scan.scan_config import ScanConfig
from etude.store.layout import RunFolder
from etude.store.packed import pack_lines
from etude.testing.fakes import MemoryDataset
from toy_scan import copied, scan

DATA = copied()
MEASURE = Measure(
    dataset="memory/toy", horizon=1, groups={"arm": (0, 1)}, actions="auto", units=ContentKey("u")
)

KEEP = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_scan_records import recorded
from etude.runs.scan_records import keep_record
from etude.store.layout import RunFolder
print(keep_record(RunFolder(Path(sys.argv[1])), recorded(), warn=print))
"""


def recorded(
    *, step: int = 1000, kind: Kind = "tasks", complete: bool = True, **settings: float
) -> ScanRecord:
    """Return a record without a window; its name depends on step, kind and settings."""
    return scan_record(
        (),
        kind=kind,
        dataset=DATA,
        policy=ContentKey("w"),
        step=step,
        measure=MEASURE,
        settings=settings,
        of={},
        complete=complete,
    )


def kept(folder: Path, record: ScanRecord) -> Path:
    return Path(keep_record(RunFolder(folder), record, warn=pytest.fail))


def full(root: Path, *, dataset: MemoryDataset = DATA) -> ScanRecord:
    """Scan toy tasks and return the record."""
    report = scan(root, dataset=dataset)
    return scan_record(
        report.windows,
        kind="tasks",
        dataset=dataset,
        policy=report.policy,
        step=5,
        measure=MEASURE,
        settings={"tau": 0.25},
        of={task: each.of for task, each in report.tasks.items()},
        complete=report.complete,
    )


def test_what_is_kept_is_read(tmp_path: Path):
    record = full(tmp_path / "cache")

    path = kept(tmp_path / "run", record)

    assert path.parent == tmp_path / "run/scans"
    assert path.name.startswith("tasks-step-00000005-")
    assert read_record(path) == record
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["scans"]


def test_a_scan_that_is_recalled_has_the_bytes_of_the_one_that_asked(tmp_path: Path):
    asked = kept(tmp_path / "asked", full(tmp_path / "cache"))
    recalled = kept(tmp_path / "recalled", full(tmp_path / "cache"))

    assert asked.read_bytes() == recalled.read_bytes()
    assert asked.name == recalled.name


def test_the_same_scan_replaces_its_record_and_another_one_stands_beside_it(tmp_path: Path):
    first = kept(tmp_path, recorded(tau=0.25, complete=False))

    assert kept(tmp_path, recorded(tau=0.25)) == first
    assert read_record(first).head.complete
    assert kept(tmp_path, recorded(tau=0.5)) != first
    assert len(list(RunFolder(tmp_path).scans.iterdir())) == 2


def test_a_folder_that_cannot_be_written_costs_no_result(tmp_path: Path):
    (tmp_path / "run").write_text("a file")
    said: list[str] = []

    path = keep_record(RunFolder(tmp_path / "run"), recorded(), warn=said.append)

    assert path == ""
    (warning,) = said
    assert "cannot be written" in warning
    assert warning.endswith("the scan is told but not recorded")


def test_a_process_killed_after_writing_leaves_a_whole_record(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", KEEP, str(tmp_path), str(Path(__file__).parent)],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[1] / "support"),
            "ETUDE_KILL_AT": "scan.record_written",
        },
        check=False,
    )

    assert done.returncode == -signal.SIGKILL
    assert read_record(find_record(tmp_path)) == recorded()


@pytest.mark.parametrize("cut", [0, 1, 20, -1])
def test_a_damaged_record_is_named_with_what_to_do(tmp_path: Path, cut: int):
    path = kept(tmp_path, recorded())
    path.write_bytes(path.read_bytes()[:cut])

    with pytest.raises(DataError) as caught:
        read_record(path)

    assert str(caught.value).startswith(f"{path} ({path.stat().st_size:,} bytes) is no whole rec")
    assert caught.value.hint.startswith("Make the scan again")


@pytest.mark.parametrize("content", [b"hello\n", b'{"schema": "scan-cache/1"}\n', b"[]\n"])
def test_a_file_of_somebody_else_is_no_record(tmp_path: Path, content: bytes):
    path = tmp_path / "file"
    path.write_bytes(pack_lines([content]))

    with pytest.raises(DataError, match="is no whole record of a scan"):
        read_record(path)


def test_a_record_that_cannot_be_opened_is_named(tmp_path: Path):
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_record(tmp_path)


def test_a_run_stands_for_its_task_scan_of_the_most_steps(tmp_path: Path):
    kept(tmp_path, recorded(step=9))
    newest = kept(tmp_path, recorded(step=123_456_789))
    kept(tmp_path, recorded(step=200_000_000, kind="samples"))
    (tmp_path / "scans/tasks-notes.txt").touch()

    assert find_record(tmp_path) == newest


def test_a_file_stands_for_itself(tmp_path: Path):
    path = kept(tmp_path, recorded(step=9))
    kept(tmp_path, recorded(step=10))

    assert find_record(path) == path


def test_of_several_scans_of_the_newest_checkpoint_none_is_guessed(tmp_path: Path):
    paths = sorted(kept(tmp_path, recorded(step=10, tau=tau)) for tau in (0.1, 0.2))
    kept(tmp_path, recorded(step=9))

    with pytest.raises(ConfigError) as caught:
        find_record(tmp_path)

    names = ", ".join(path.name for path in paths)
    assert str(caught.value) == f"{tmp_path} has 2 records of step 10: {names}"
    assert caught.value.hint == f"Name one of them, e.g. {paths[0]}"


def test_what_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"gone does not exist"):
        find_record(tmp_path / "gone")
    with pytest.raises(ConfigError, match="has no record of a scan of tasks"):
        find_record(tmp_path)


def test_only_settings_that_decide_the_choice_name_a_scan():
    plain = choice_settings(RunConfig())
    other = RunConfig(scan=ScanConfig(batch_size=8, horizon=2, groups=("arm=0-1",)), steps=30_000)

    assert choice_settings(other) == plain
    assert choice_settings(RunConfig(scan=ScanConfig(round=1))) != plain
    assert choice_settings(RunConfig(seed=1)) != plain
    assert plain["strategy"] == "panel"
