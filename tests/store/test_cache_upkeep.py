"""Looking after a cache loses nothing that is still wanted."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from etude.core.errors import DataError, StateError
from etude.core.types import ContentKey
from etude.store.cache import SegmentCache
from etude.store.cache_upkeep import (
    NamespaceStats,
    collect,
    copy_segments,
    pack,
    referenced_weights,
    stats,
    verify,
)
from etude.store.segments import Entry, Subject, list_segments, write_segment

OLD = 10_000.0
"""Seconds after now at which everything is beyond the grace period."""


def subject(weights: str, logic: str = "task-scan@1") -> Subject:
    return Subject(logic=logic, weights=ContentKey(weights), inference={"dtype": "float32"})


def fill(root: Path, weights: str, frames: range, *, batch: int = 2) -> Path:
    """Keep results of one set of weights, and return the folder of its segments."""
    with SegmentCache(root, subject(weights), batch_entries=batch) as cache:
        for frame in frames:
            key = cache.key(episode=ContentKey("e"), draw={"frame": frame})
            cache.put(key, {"squared": [frame / 7]})
    return root / "task-scan" / subject(weights).group


def known(root: Path, weights: str) -> int:
    return len(SegmentCache(root, subject(weights)))


def later() -> float:
    return time.time() + OLD


def checkpoint(folder: Path, weights: str, step: int = 1) -> Path:
    path = folder / f"checkpoints/step-{step:08d}/MANIFEST.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"weights": weights}))
    return path


def test_stats_count_keys_once_however_often_they_are_kept(tmp_path: Path) -> None:
    fill(tmp_path, "a", range(4))
    fill(tmp_path, "b", range(3))
    write_segment(tmp_path, subject("a"), [])
    group = fill(tmp_path, "a", range(4))
    pack(tmp_path, group, least=2)

    found = stats(tmp_path)

    assert (found["task-scan"].entries, found["task-scan"].weights) == (7, 2)
    assert found["task-scan"].segments == 2 + 2 + 1 + 1
    assert found["task-scan"].bytes == sum(p.stat().st_size for p in tmp_path.rglob("*.zst"))
    assert found["sample-scan"] == NamespaceStats(entries=0, segments=0, bytes=0, weights=0)


def test_a_cache_that_is_not_there_is_empty_and_sound(tmp_path: Path) -> None:
    assert stats(tmp_path / "none")["task-scan"].entries == 0
    assert verify(tmp_path / "none").sound


def test_verify_names_damage_wrong_keys_and_double_results(tmp_path: Path) -> None:
    group = fill(tmp_path, "a", range(6))
    spoilt = list_segments(group)[0]
    spoilt.write_bytes(b"")
    draw: dict[str, object] = {"frame": 99}
    key = subject("a").key(episode=ContentKey("e"), draw=draw)
    for value in (1.0, 2.0):
        entry = Entry(key=key, episode=ContentKey("e"), draw=draw, result={"squared": [value]})
        write_segment(tmp_path, subject("a"), [entry])
    wrong = Entry(key=ContentKey("k"), episode=ContentKey("e"), draw=draw, result={})
    stray = write_segment(tmp_path, subject("a"), [wrong])

    found = verify(tmp_path)

    assert not found.sound
    assert len(found.damaged) == 1
    assert found.damaged[0].startswith(f"{spoilt} (0 bytes) is not a whole segment")
    assert found.wrong_keys == [f"{stray}: k"]
    assert found.nondeterminism == [key]
    assert found.segments == 5


def test_a_sound_cache_has_no_findings(tmp_path: Path) -> None:
    fill(tmp_path, "a", range(6))

    assert verify(tmp_path).sound


def test_packing_repeats_the_segments_and_deletes_none(tmp_path: Path) -> None:
    group = fill(tmp_path, "a", range(10))

    assert pack(tmp_path, group) == 0
    assert pack(tmp_path, group, least=5) == 5

    assert len(list_segments(group)) == 6
    assert known(tmp_path, "a") == 10
    assert pack(tmp_path, group, least=2) == 0


def test_packed_segments_go_after_the_grace_period_and_no_result_with_them(tmp_path: Path) -> None:
    group = fill(tmp_path, "a", range(20))
    keep = {ContentKey("a")}
    assert collect(tmp_path, keep).packed_segments == 10
    assert collect(tmp_path, keep).removed_files == 0

    done = collect(tmp_path, keep, clock=later)

    assert done.removed_files == 10
    assert len(list_segments(group)) == 1
    assert known(tmp_path, "a") == 20
    assert verify(tmp_path).sound


def test_a_reader_that_listed_the_old_segments_finds_the_pack(tmp_path: Path) -> None:
    group = fill(tmp_path, "a", range(10))
    pack(tmp_path, group, least=2)
    for path in list_segments(group):
        if path.name.startswith("seg-"):
            path.unlink()

    assert known(tmp_path, "a") == 10


def test_a_kill_after_packing_loses_nothing_and_packs_nothing_twice(tmp_path: Path) -> None:
    group = fill(tmp_path, "a", range(20))
    program = (
        "import sys; from pathlib import Path; from etude.store.cache_upkeep import collect; "
        "collect(Path(sys.argv[1]), {'a'})"
    )

    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={**os.environ, "ETUDE_KILL_AT": "cache.pack_written"},
    )

    assert done.returncode == -signal.SIGKILL
    assert len(list_segments(group)) == 11
    assert collect(tmp_path, {ContentKey("a")}).packed_segments == 0
    assert known(tmp_path, "a") == 20


def test_a_damaged_pack_loses_nothing_while_its_segments_stay(tmp_path: Path) -> None:
    group = fill(tmp_path, "a", range(20))
    collect(tmp_path, {ContentKey("a")})
    (packed,) = group.glob("pack-*")
    packed.write_bytes(packed.read_bytes()[:40])

    collect(tmp_path, {ContentKey("a")}, clock=later)

    assert known(tmp_path, "a") == 20


def test_collection_removes_results_of_other_weights_alone(tmp_path: Path) -> None:
    fill(tmp_path, "a", range(4))
    other = fill(tmp_path, "b", range(4))

    done = collect(tmp_path, {ContentKey("a")}, clock=later)

    assert (done.kept_weights, done.removed_weights, done.removed_files) == (1, 1, 2)
    assert done.freed_bytes > 0
    assert list_segments(other) == []
    assert (known(tmp_path, "a"), known(tmp_path, "b")) == (4, 0)


def test_a_dry_run_says_the_same_and_removes_nothing(tmp_path: Path) -> None:
    fill(tmp_path, "a", range(20))
    fill(tmp_path, "b", range(4))
    before = sorted(tmp_path.rglob("*"))

    done = collect(tmp_path, {ContentKey("a")}, clock=later, dry_run=True)

    assert done.removed_files == 2
    assert sorted(tmp_path.rglob("*")) == before


def test_what_is_younger_than_the_grace_period_stays(tmp_path: Path) -> None:
    fill(tmp_path, "b", range(4))

    done = collect(tmp_path, {ContentKey("a")})

    assert (done.removed_files, len(done.too_young)) == (0, 2)
    assert known(tmp_path, "b") == 4


def test_remains_of_killed_writers_and_damaged_files_go(tmp_path: Path) -> None:
    group = fill(tmp_path, "a", range(2))
    (path,) = list_segments(group)
    (group / f".{path.name}.1a2b3c4d").write_bytes(b"half")
    (group / "seg-x.jsonl.zst.damaged").write_bytes(b"half")
    (group / "notes.txt").write_text("mine")

    done = collect(tmp_path, {ContentKey("a")}, clock=later)

    assert done.removed_files == 2
    assert sorted(p.name for p in group.iterdir()) == sorted([path.name, "notes.txt"])


def test_weights_are_found_in_every_run_below_a_folder(tmp_path: Path) -> None:
    checkpoint(tmp_path / "runs/one", "a")
    checkpoint(tmp_path / "runs/deep/two", "b", step=20)

    assert referenced_weights([tmp_path / "runs"]) == {"a", "b"}
    assert referenced_weights([tmp_path / "runs/one"]) == {"a"}


def test_folders_without_a_checkpoint_are_refused_before_anything_goes(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="no checkpoint lies in the folders that were named"):
        referenced_weights([tmp_path])
    with pytest.raises(StateError, match="nowhere is no folder"):
        referenced_weights([tmp_path / "nowhere"])


@pytest.mark.parametrize("content", ["{", "{}"])
def test_a_manifest_that_cannot_be_read_is_refused(tmp_path: Path, content: str) -> None:
    checkpoint(tmp_path, "a").write_text(content)

    with pytest.raises(DataError, match=r"MANIFEST\.json"):
        referenced_weights([tmp_path])


def test_an_exported_cache_is_a_cache_and_comes_back(tmp_path: Path) -> None:
    fill(tmp_path / "a", "w", range(6))
    spoilt = list_segments(fill(tmp_path / "a", "v", range(2)))[0]
    spoilt.write_bytes(b"x")

    out = copy_segments(tmp_path / "a", tmp_path / "out")
    back = copy_segments(tmp_path / "out", tmp_path / "b")
    again = copy_segments(tmp_path / "out", tmp_path / "b")

    assert (out.segments, out.present, len(out.refused)) == (3, 0, 1)
    assert (back.segments, back.present) == (3, 0)
    assert (again.segments, again.present) == (0, 3)
    assert known(tmp_path / "b", "w") == 6


def test_a_damaged_copy_is_replaced_by_a_whole_one(tmp_path: Path) -> None:
    group = fill(tmp_path / "a", "w", range(2))
    copy_segments(tmp_path / "a", tmp_path / "b")
    (copied,) = (tmp_path / "b").rglob("*.zst")
    copied.write_bytes(b"")

    assert copy_segments(tmp_path / "a", tmp_path / "b").segments == 1
    assert copied.read_bytes() == list_segments(group)[0].read_bytes()


def test_a_cache_to_copy_from_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="nowhere is no folder"):
        copy_segments(tmp_path / "nowhere", tmp_path)
