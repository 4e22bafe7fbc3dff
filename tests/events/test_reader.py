import json
from pathlib import Path

import pytest

from etude.core.errors import DataError
from etude.events.reader import read_events


def write(path: Path, *records: dict[str, object], torn: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records) + torn)


def test_records_come_attempt_by_attempt_then_rank_by_rank(tmp_path: Path):
    for rank, attempt in ((0, 10), (1, 2), (0, 2), (1, 1), (0, 1), (10, 1)):
        name = f"rank-{rank:05d}.{attempt:04d}.jsonl"
        write(tmp_path / name, {"of": [attempt, rank], "n": 1}, {"of": [attempt, rank], "n": 2})

    read = [(*record["of"], record["n"]) for record in read_events(tmp_path)]

    order = ((1, 0), (1, 1), (1, 10), (2, 0), (2, 1), (10, 0))
    assert read == [(a, r, n) for a, r in order for n in (1, 2)]


def test_attempts_after_the_9999th_still_come_last(tmp_path: Path):
    write(tmp_path / "rank-00000.9999.jsonl", {"n": 1})
    write(tmp_path / "rank-00000.10000.jsonl", {"n": 2})

    assert [record["n"] for record in read_events(tmp_path)] == [1, 2]


def test_a_folder_that_is_missing_or_empty_has_no_records_yet(tmp_path: Path):
    assert list(read_events(tmp_path / "missing")) == []
    assert list(read_events(tmp_path)) == []


def test_a_journal_of_0_bytes_has_no_records_and_fills_in_later(tmp_path: Path):
    path = tmp_path / "rank-00000.0001.jsonl"
    path.touch()
    assert list(read_events(tmp_path)) == []

    write(path, {"n": 1})

    assert list(read_events(tmp_path)) == [{"n": 1}]


def test_a_torn_last_line_is_left_out_and_left_alone(tmp_path: Path):
    path = tmp_path / "rank-00000.0001.jsonl"
    write(path, {"n": 1}, torn='{"n":')
    write(tmp_path / "rank-00000.0002.jsonl", {"n": 2})
    before = path.read_bytes()

    assert [record["n"] for record in read_events(tmp_path)] == [1, 2]
    assert path.read_bytes() == before


def test_files_that_are_no_journals_are_left_alone(tmp_path: Path):
    write(tmp_path / "rank-00000.0001.jsonl", {"n": 1})
    for name in ("rank-00000.0001.copy.jsonl", "rank-00000.old.jsonl", "notes.txt"):
        (tmp_path / name).write_text("not JSON\n")

    assert [record["n"] for record in read_events(tmp_path)] == [1]


def test_damage_that_no_crash_explains_is_an_error(tmp_path: Path):
    write(tmp_path / "rank-00000.0001.jsonl", {"n": 1}, torn="not JSON\n")

    with pytest.raises(DataError, match=r"rank-00000\.0001\.jsonl:2 is not a JSON object"):
        list(read_events(tmp_path))
