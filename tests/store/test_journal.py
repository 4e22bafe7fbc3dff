import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import DataError
from etude.store.journal import (
    Journal,
    count_torn_bytes,
    parse_journal,
    read_journal,
    torn_bytes_of,
)

records = st.dictionaries(st.text(), st.integers() | st.text() | st.none(), max_size=3)

FILL = """
import resource, sys
from pathlib import Path
from etude.core.errors import StorageError
from etude.store.journal import Journal
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with Journal(Path(sys.argv[1])) as journal:
    for step in range(100):
        journal.append({"step": step, "filler": "x" * 300})
"""


@given(before=st.lists(records, max_size=4), after=records, data=st.data())
def test_a_crash_at_any_byte_loses_only_what_was_not_whole(
    before: list[dict[str, object]], after: dict[str, object], data: st.DataObject
):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        with Journal(path, sync=False) as journal:
            for record in before:
                journal.append(record)
        content = path.read_bytes()
        cut = data.draw(st.integers(0, len(content)))
        path.write_bytes(content[:cut])
        whole = content[:cut].count(b"\n")

        survivors = list(read_journal(path))
        torn = count_torn_bytes(path)
        with Journal(path, sync=False) as journal:
            journal.append(after)

        assert survivors == before[:whole]
        assert journal.torn_bytes == torn
        assert list(read_journal(path)) == [*survivors, after]


def test_a_reader_sees_one_record_while_the_second_is_written_and_then_two(tmp_path: Path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"step": 1}\n{"st')
    assert list(read_journal(path)) == [{"step": 1}]

    with path.open("ab") as writer:
        writer.write(b'ep": 2}\n')

    assert list(read_journal(path)) == [{"step": 1}, {"step": 2}]


def test_a_torn_record_is_dropped_and_counted_when_the_journal_is_opened_again(tmp_path: Path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"step": 1}\n{"step": 2')

    with Journal(path) as journal:
        journal.append({"step": 3})

    assert journal.torn_bytes == 10
    assert path.read_bytes() == b'{"step": 1}\n{"step": 3}\n'


@pytest.mark.parametrize(
    "content",
    [
        b'{"step": 1}\n{"step": \n{"step": 3}\n',
        b'{"step": 1}\n[2]\n{"step": 3}\n',
        b'{"step": 1}\n\n{"step": 3}\n',
        b'{"step": 1}\n\x00\x00\x00\x00\n{"step": 3}\n',
    ],
    ids=["torn", "list", "empty", "zeros"],
)
def test_damage_before_the_last_line_is_an_error_with_its_line(tmp_path: Path, content: bytes):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)
    reader = read_journal(path)

    assert next(reader) == {"step": 1}
    with pytest.raises(DataError, match=r"journal\.jsonl:2 is not a JSON object"):
        next(reader)


def test_a_journal_that_is_missing_or_empty_has_no_records(tmp_path: Path):
    (tmp_path / "empty.jsonl").touch()

    assert list(read_journal(tmp_path / "missing.jsonl")) == []
    assert list(read_journal(tmp_path / "empty.jsonl")) == []


def test_a_journal_that_cannot_be_read_is_named(tmp_path: Path):
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        list(read_journal(tmp_path))


def test_line_ends_and_letters_inside_a_record_come_back(tmp_path: Path):
    record = {"text": "a\nb\u2028c\x85d", "instruction": "打开门", "name": os.fsdecode(b"caf\xe9")}

    with Journal(tmp_path / "deep" / "journal.jsonl") as journal:
        journal.append(record)

    assert list(read_journal(journal.path)) == [record]


def test_a_number_that_is_not_finite_leaves_the_journal_as_it_was(tmp_path: Path):
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.append({"loss": 1.0})
        with pytest.raises(ValueError, match="not JSON compliant"):
            journal.append({"loss": float("inf")})
        journal.append({"loss": 2.0})

    assert list(read_journal(journal.path)) == [{"loss": 1.0}, {"loss": 2.0}]


def test_a_record_that_finds_no_room_is_refused_whole(tmp_path: Path):
    path = tmp_path / "journal.jsonl"

    done = subprocess.run([sys.executable, "-c", FILL, str(path)], capture_output=True, text=True)

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"etude.core.errors.StorageError: {path} cannot be written: "
        "over the largest size of a file, 326 bytes needed"
    )
    assert [record["step"] for record in read_journal(path)] == [0, 1, 2]
    assert count_torn_bytes(path) == 0


def test_records_of_two_writers_do_not_mix_within_a_line(tmp_path: Path):
    path = tmp_path / "journal.jsonl"

    with Journal(path, sync=False) as one, Journal(path, sync=False) as two:
        for step in range(20):
            one.append({"writer": 1, "step": step})
            two.append({"writer": 2, "step": step})

    read = list(read_journal(path))
    assert [(r["writer"], r["step"]) for r in read] == [(w, s) for s in range(20) for w in (1, 2)]


def test_records_come_with_the_bytes_of_their_lines_and_a_torn_one_does_not(tmp_path: Path):
    content = b'{"a":1}\n{"a": 2 }\n{"a":'

    assert list(parse_journal(tmp_path, content)) == [
        ({"a": 1}, b'{"a":1}'),
        ({"a": 2}, b'{"a": 2 }'),
    ]
    assert torn_bytes_of(content) == 5
