"""Nothing is computed twice, by however many writers."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from etude.core.types import ContentKey
from etude.store.cache import SegmentCache, agree
from etude.store.cache_upkeep import pack
from etude.store.segments import Subject
from etude.testing.conformance import check_scan_cache
from kept_scans import (
    SUBJECT,
    WRITER,
    everything,
    fill,
    key_of,
    open_cache,
    scan_elsewhere,
    segments,
)


def test_a_cache_keeps_the_contract(tmp_path: Path) -> None:
    check_scan_cache(open_cache(tmp_path))


def test_a_key_of_which_nobody_knows_the_inputs_is_refused(tmp_path: Path) -> None:
    with open_cache(tmp_path) as cache, pytest.raises(ValueError, match="k was not made by this"):
        cache.put(ContentKey("k"), {"squared": [1.0]})


def test_a_second_scan_computes_nothing(tmp_path: Path) -> None:
    assert fill(tmp_path, range(10)) == 10
    assert fill(tmp_path, range(10)) == 0
    assert fill(tmp_path, range(12)) == 2


def test_a_result_comes_back_bit_for_bit(tmp_path: Path) -> None:
    result: dict[str, object] = {"squared": [0.1 + 0.2, 1e-300, 5], "text": "打开", "none": None}
    with open_cache(tmp_path) as cache:
        cache.put(key_of(cache, 0), result)
        fresh = cache.get(key_of(cache, 0))

    recalled = open_cache(tmp_path).get(key_of(cache, 0))

    assert fresh == recalled == result


def test_another_subject_sees_nothing_of_it(tmp_path: Path) -> None:
    fill(tmp_path, range(3))
    other = Subject(logic="sample-scan@1", weights=SUBJECT.weights, inference=SUBJECT.inference)

    assert len(SegmentCache(tmp_path, other)) == 0


def test_results_reach_the_disk_in_batches(tmp_path: Path) -> None:
    cache = open_cache(tmp_path, batch=4)
    for frame in range(10):
        cache.put(key_of(cache, frame), {"squared": [0.0]})

    assert (len(segments(tmp_path)), cache.written) == (2, 8)
    cache.close()
    assert (len(segments(tmp_path)), cache.written) == (3, 10)


def test_a_slow_scan_does_not_wait_for_a_whole_batch(tmp_path: Path) -> None:
    cache = SegmentCache(tmp_path, SUBJECT, batch_entries=1000, batch_s=0.0)
    cache.put(key_of(cache, 0), {"squared": [0.0]})

    assert cache.written == 1


def test_a_number_that_is_not_finite_is_refused_when_it_is_put(tmp_path: Path) -> None:
    with open_cache(tmp_path) as cache, pytest.raises(ValueError, match="not JSON compliant"):
        cache.put(key_of(cache, 0), {"squared": [float("nan")]})

    assert everything(tmp_path) == []


def test_what_another_writer_has_finished_is_seen_after_a_refresh(tmp_path: Path) -> None:
    cache = open_cache(tmp_path)
    fill(tmp_path, range(3))
    assert cache.get(key_of(cache, 1)) is None

    cache.refresh()

    assert cache.get(key_of(cache, 1)) == {"squared": [1 / 7]}


def test_four_writers_that_start_cold_agree_and_leave_no_draft(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), "0", "40", "10"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    said = [process.communicate()[0].splitlines()[-1] for process in processes]

    assert [process.returncode for process in processes] == [0] * 4
    assert len({line.split("total")[1] for line in said}) == 1
    assert set(everything(tmp_path)) == set(segments(tmp_path))
    assert open_cache(tmp_path).faults == []
    assert fill(tmp_path, range(40)) == 0


@pytest.mark.parametrize(
    ("point", "kept"),
    [("cache.batch_full:2", 10), ("cache.segment_written:2", 20)],
    ids=["before", "after"],
)
def test_a_kill_loses_at_most_one_batch(tmp_path: Path, point: str, kept: int) -> None:
    killed = scan_elsewhere(tmp_path, 0, 40, 10, ETUDE_KILL_AT=point)

    assert killed.returncode == -signal.SIGKILL
    assert open_cache(tmp_path).faults == []
    assert f"computed {40 - kept} " in scan_elsewhere(tmp_path, 0, 40, 10).stdout
    assert scan_elsewhere(tmp_path, 0, 40, 10).stdout.startswith("computed 0 ")


def test_the_draft_of_a_killed_writer_is_no_segment(tmp_path: Path) -> None:
    fill(tmp_path, range(3))
    (path,) = segments(tmp_path)
    path.with_name(f".{path.name}.1a2b3c4d").write_bytes(path.read_bytes()[:20])

    assert (len(open_cache(tmp_path)), open_cache(tmp_path).faults) == (3, [])


def test_two_results_under_one_key_are_both_kept_and_reported(tmp_path: Path) -> None:
    one, two = open_cache(tmp_path), open_cache(tmp_path)
    one.put(key_of(one, 0), {"squared": [2.0]})
    two.put(key_of(two, 0), {"squared": [1.0]})
    one.close()
    two.close()
    said: list[str] = []

    cache = open_cache(tmp_path, said=said)

    assert cache.get(key_of(cache, 0)) == {"squared": [1.0]}
    (found,) = cache.nondeterminism
    assert (found.used, found.other) == ({"squared": [1.0]}, {"squared": [2.0]})
    assert said[0].startswith(f"nondeterminism: {found.key} has two results")
    assert len(segments(tmp_path)) == 2
    pack(tmp_path, segments(tmp_path)[0].parent, least=2)
    cache.refresh()
    assert len(cache.nondeterminism) == len(said) == 1


def test_a_result_within_tolerance_of_the_kept_one_changes_nothing(tmp_path: Path) -> None:
    with open_cache(tmp_path) as cache:
        cache.put(key_of(cache, 0), {"squared": [1.0]})
        cache.put(key_of(cache, 0), {"squared": [1.000001]})

        assert cache.get(key_of(cache, 0)) == {"squared": [1.0]}
    assert (cache.written, cache.nondeterminism) == (1, [])


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ({"a": [1.0, "x"]}, {"a": [1.0 + 9e-6, "x"]}, True),
        ({"a": [1.0]}, {"a": [1.0 + 2e-5]}, False),
        ({"a": 1.0}, {"b": 1.0}, False),
        ({"a": [1.0]}, {"a": [1.0, 2.0]}, False),
        ({"a": "x"}, {"a": "y"}, False),
        ({"a": None}, {"a": 0.0}, False),
        ({"a": 0.0}, {"a": 1e-9}, True),
    ],
)
def test_numbers_agree_within_tolerance_and_all_else_exactly(
    one: object, two: object, *, same: bool
) -> None:
    assert agree(one, two) is same


def test_a_folder_moved_elsewhere_is_the_same_cache(tmp_path: Path) -> None:
    fill(tmp_path / "a", range(5))
    (tmp_path / "a").rename(tmp_path / "b")

    assert fill(tmp_path / "b", range(5)) == 0
