"""A segment is whole or it is passed over, whatever happened to its bytes."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from etude.core.types import ContentKey
from etude.store.segments import (
    Entry,
    Segment,
    SegmentFault,
    Subject,
    list_segments,
    read_segment,
    write_pack,
    write_segment,
)

SUBJECT = Subject(
    logic="task-scan@1", weights=ContentKey("w1"), inference={"dtype": "float32", "steps": 10}
)
EPISODE = ContentKey("e1")


def entry(frame: int, *, squared: float = 0.5) -> Entry:
    draw: dict[str, object] = {"frame": frame, "seed": 7}
    return Entry(
        key=SUBJECT.key(episode=EPISODE, draw=draw),
        episode=EPISODE,
        draw=draw,
        result={"squared": [squared, 0.25], "note": "打开\u2028\x85"},
    )


def segment(path: Path) -> Segment:
    found = read_segment(path)
    assert isinstance(found, Segment), found
    return found


def fault(path: Path) -> SegmentFault:
    found = read_segment(path)
    assert isinstance(found, SegmentFault)
    return found


def test_what_is_written_is_read(tmp_path: Path) -> None:
    entries = [entry(0), entry(10)]

    found = segment(write_segment(tmp_path, SUBJECT, entries))

    assert (found.subject, found.entries, found.replaces) == (SUBJECT, entries, [])


def test_an_address_names_the_kind_of_scan_and_no_place(tmp_path: Path) -> None:
    path = write_segment(tmp_path, SUBJECT, [entry(0)])

    namespace, group, name = path.relative_to(tmp_path).parts
    assert namespace == "task-scan"
    assert group == SUBJECT.group
    assert name.startswith("seg-")
    assert name.endswith(".jsonl.zst")


@pytest.mark.parametrize(
    "other",
    [
        Subject(logic="task-scan@2", weights=SUBJECT.weights, inference=SUBJECT.inference),
        Subject(logic="sample-scan@1", weights=SUBJECT.weights, inference=SUBJECT.inference),
        Subject(logic="task-scan@1", weights=ContentKey("w2"), inference=SUBJECT.inference),
        Subject(
            logic="task-scan@1",
            weights=SUBJECT.weights,
            inference={"dtype": "float32", "steps": 5},
        ),
    ],
    ids=["version", "namespace", "weights", "inference"],
)
def test_every_part_of_the_subject_changes_the_key_and_the_folder(other: Subject) -> None:
    draw = {"frame": 3}

    assert other.key(episode=EPISODE, draw=draw) != SUBJECT.key(episode=EPISODE, draw=draw)
    assert other.group != SUBJECT.group


def test_episode_and_draw_change_the_key() -> None:
    keys = {
        SUBJECT.key(episode=episode, draw={"frame": frame, "seed": seed})
        for episode in (ContentKey("a"), ContentKey("b"))
        for frame in (0, 1)
        for seed in (0, 1)
    }

    assert len(keys) == 8


def test_an_unknown_namespace_is_refused() -> None:
    with pytest.raises(ValueError, match="logic is 'verdict@1', not one of task-scan, sample-scan"):
        Subject(logic="verdict@1", weights=ContentKey("w"), inference={})


@given(st.data())
def test_a_segment_cut_at_any_byte_is_damaged(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = write_segment(Path(folder), SUBJECT, [entry(0), entry(10)])
        content = path.read_bytes()
        path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])

        found = fault(path)

        assert found.damaged
        assert str(found).startswith(
            f"{path} ({path.stat().st_size:,} bytes) is not a whole segment"
        )


@given(st.data())
def test_no_flipped_bit_changes_what_is_read(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = write_segment(Path(folder), SUBJECT, [entry(0), entry(10)])
        content = bytearray(path.read_bytes())
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        path.write_bytes(bytes(content))

        found = read_segment(path)

        # One bit of a frame means nothing: RFC 8878, 3.1.1.1.1.3.
        assert isinstance(found, SegmentFault) or found.entries == [entry(0), entry(10)]


@given(st.binary(max_size=200))
def test_random_bytes_are_passed_over(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "seg-0.jsonl.zst"
        path.write_bytes(content)

        assert isinstance(read_segment(path), SegmentFault)


@pytest.mark.parametrize(
    "content",
    [b'{"schema": "scan-cache/9"}\n', b"[1]\n", b"hello\n", b'{"schema": "scan-cache/1"}\n', b"\n"],
)
def test_a_whole_file_of_somebody_else_is_foreign_and_not_damaged(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "task-scan" / "g" / "seg-0.jsonl.zst"
    path.parent.mkdir(parents=True)
    path.write_bytes(zstandard.ZstdCompressor().compress(content))

    found = fault(path)

    assert not found.damaged
    assert "is not a segment of schema 'scan-cache/1'" in str(found)


def test_a_frame_that_names_a_huge_size_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "seg-0.jsonl.zst"
    bomb = bytearray(zstandard.ZstdCompressor().compress(b"\0" * (1 << 20)))
    # Source: RFC 8878, 3.1.1.1: the size stands after magic number and descriptor, here 4 bytes.
    bomb[5:9] = (0xF0000000).to_bytes(4, "little")
    path.write_bytes(bytes(bomb))

    assert "it names a size of 4,026,531,840 bytes" in str(fault(path))


def test_a_segment_in_the_folder_of_another_scan_is_passed_over(tmp_path: Path) -> None:
    path = write_segment(tmp_path, SUBJECT, [entry(0)])
    stray = tmp_path / "sample-scan" / SUBJECT.group / path.name
    stray.parent.mkdir(parents=True)
    path.rename(stray)

    assert str(fault(stray)) == f"{stray} lies in the folder of another scan"


def test_a_segment_that_has_vanished_is_told_from_a_damaged_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_segment(tmp_path / "seg-0.jsonl.zst")


def test_two_that_compact_the_same_segments_write_the_same_file(tmp_path: Path) -> None:
    parts = [segment(write_segment(tmp_path, SUBJECT, [entry(i), entry(0)])) for i in range(1, 4)]

    first = write_pack(tmp_path, SUBJECT, parts)
    second = write_pack(tmp_path, SUBJECT, parts[::-1])

    assert first == second
    assert len(list_segments(first.parent)) == 4
    packed = segment(first)
    assert sorted(e.key for e in packed.entries) == sorted(entry(i).key for i in range(4))
    assert sorted(packed.replaces) == sorted(part.path.name for part in parts)


def test_a_pack_keeps_both_of_two_results(tmp_path: Path) -> None:
    parts = [
        segment(write_segment(tmp_path, SUBJECT, [entry(0, squared=value)])) for value in (1.0, 2.0)
    ]

    packed = segment(write_pack(tmp_path, SUBJECT, parts))

    assert sorted(e.result["squared"][0] for e in packed.entries) == [1.0, 2.0]
