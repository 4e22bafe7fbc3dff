"""No state of the cache or of its disk stops a scan."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.types import ContentKey
from etude.store.cache import SegmentCache
from etude.store.segments import Subject, list_segments
from kept_scans import (
    SUBJECT,
    WRITER,
    everything,
    fill,
    key_of,
    open_cache,
    segments,
)


@pytest.mark.parametrize(
    "spoil", [lambda b: b"", lambda b: b[: len(b) // 2], lambda b: bytes(range(256)) * 4]
)
def test_a_spoilt_segment_is_named_and_healed_by_computing_again(tmp_path: Path, spoil) -> None:
    fill(tmp_path, range(10), batch=5)
    path = segments(tmp_path)[0]
    path.write_bytes(spoil(path.read_bytes()))
    said: list[str] = []
    assert open_cache(tmp_path, said=said).faults[0].path == path
    assert said == [f"{open_cache(tmp_path).faults[0]}; what it held is computed again"]

    assert fill(tmp_path, range(10)) == 5

    assert open_cache(tmp_path).faults == []
    assert not path.exists()
    assert fill(tmp_path, range(10)) == 0


def test_a_foreign_segment_is_named_and_left_where_it_is(tmp_path: Path) -> None:
    fill(tmp_path, range(3))
    (path,) = segments(tmp_path)
    stray = tmp_path / "task-scan" / SUBJECT.group / "seg-stray.jsonl.zst"
    other = Subject(logic="task-scan@1", weights=ContentKey("w2"), inference={})
    with SegmentCache(tmp_path, other) as cache:
        cache.put(key_of(cache, 0), {"squared": [1.0]})
    (misplaced,) = list_segments(tmp_path / "task-scan" / other.group)
    misplaced.rename(stray)

    with open_cache(tmp_path) as cache:
        assert [fault.path for fault in cache.faults] == [stray]

    assert stray.exists()
    assert path.exists()


def test_a_cache_that_cannot_be_written_says_so_once_and_works_on(tmp_path: Path) -> None:
    fill(tmp_path / "cache", range(3))
    (tmp_path / "cache" / "task-scan" / SUBJECT.group).rename(tmp_path / "moved")
    # A file where a folder belongs refuses root too, who may write into read-only folders.
    (tmp_path / "cache" / "task-scan" / SUBJECT.group).touch()
    said: list[str] = []

    with open_cache(tmp_path / "cache", batch=2, said=said) as cache:
        for frame in range(20):
            cache.put(key_of(cache, frame), {"squared": [frame / 7]})
        assert cache.get(key_of(cache, 19)) == {"squared": [19 / 7]}

    (only,) = said
    assert only.endswith("the scan goes on and its results are not kept")
    assert cache.written == 0
    assert cache.refusal


@contextmanager
def without_root() -> Generator[None, None, None]:
    """Be somebody whom permissions bind, also where the tests run as root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_read_only_cache_is_read() -> None:
    said: list[str] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # for whoever is not its owner
        fill(folder, range(3))
        group = folder / "task-scan" / SUBJECT.group
        group.chmod(0o555)
        with without_root(), open_cache(folder, said=said) as cache:
            assert cache.get(key_of(cache, 2)) == {"squared": [2 / 7]}
            cache.put(key_of(cache, 3), {"squared": [1.0]})
        group.chmod(0o755)

    assert len(said) == 1


def test_a_full_disk_is_said_once_and_the_scan_goes_on(tmp_path: Path) -> None:
    program = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))\n{WRITER}"

    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path), "0", "40", "5"],
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    said, result = done.stdout.splitlines()
    assert "cannot be written" in said
    assert result.startswith("computed 40 ")
    assert everything(tmp_path) == []


def test_results_that_wait_are_kept_once_there_is_room_again(tmp_path: Path) -> None:
    place = tmp_path / "task-scan"
    place.touch()
    with open_cache(tmp_path, batch=2) as cache:
        for frame in range(3):
            cache.put(key_of(cache, frame), {"squared": [0.5]})
        place.unlink()

    assert (cache.refusal, cache.written) == ("", 3)
    assert fill(tmp_path, range(3)) == 0


@given(st.integers(0, 3), st.floats(0, 1, exclude_max=True))
def test_a_segment_cut_anywhere_costs_its_own_results_and_no_other(which: int, at: float) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        fill(root, range(8), batch=2)
        path = segments(root)[which]
        content = path.read_bytes()
        path.write_bytes(content[: int(at * len(content))])

        assert fill(root, range(8)) == 2
        assert fill(root, range(8)) == 0
        assert open_cache(root).faults == []
