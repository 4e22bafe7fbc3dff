"""A history in which every later change shows."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from etude.core.errors import DataError
from etude.store.ledger import START, Ledger, LedgerHead, read_ledger

KILLED = """
import sys
from pathlib import Path
from etude.store.ledger import Ledger

with Ledger(Path(sys.argv[1])) as ledger:
    for step in (100, 200, 300):
        ledger.append("task.transition", step=step, data={"task": "toy/0"})
"""


def filled(path: Path, lines: int = 3) -> LedgerHead:
    with Ledger(path) as ledger:
        for number in range(1, lines + 1):
            ledger.append("commit", step=100 * number, weights=f"w{number}", data={"n": number})
        return ledger.head


def test_what_was_appended_is_read_in_order_with_its_place(tmp_path: Path):
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.append("commit", step=100, weights="w1", data={"tasks": ["toy/0", "开门"]})
        head = ledger.append("stopped", step=150)

    history = read_ledger(path)

    first, second = history.entries
    assert (first.seq, first.kind, first.step, first.weights) == (1, "commit", 100, "w1")
    assert first.data == {"tasks": ["toy/0", "开门"]}
    assert (second.seq, second.kind, second.step, second.weights) == (2, "stopped", 150, "")
    assert history.head == head == second.head
    assert history.torn_bytes == 0


def test_a_line_holds_its_fields_by_name_and_the_hash_of_the_line_before(tmp_path: Path):
    path = tmp_path / "ledger.jsonl"
    filled(path, lines=2)

    first, second = (json.loads(line) for line in path.read_text().splitlines())

    assert list(first) == ["v", "seq", "type", "step", "weights", "data", "prev", "h"]
    assert (first["v"], first["seq"], first["prev"]) == (1, 1, START)
    assert (second["v"], second["seq"], second["prev"]) == (1, 2, first["h"])


def test_the_same_history_has_the_same_head_anywhere(tmp_path: Path):
    assert filled(tmp_path / "a.jsonl") == filled(tmp_path / "b.jsonl")
    assert filled(tmp_path / "c.jsonl", lines=2) != filled(tmp_path / "d.jsonl", lines=3)


def test_a_ledger_that_is_opened_again_goes_on_where_it_ended(tmp_path: Path):
    path = tmp_path / "ledger.jsonl"
    before = filled(path)

    with Ledger(path) as ledger:
        assert ledger.head == before
        ledger.append("commit", step=400)

    assert [entry.seq for entry in read_ledger(path).entries] == [1, 2, 3, 4]


def test_a_ledger_that_is_missing_or_empty_has_no_entries(tmp_path: Path):
    (tmp_path / "empty.jsonl").touch()

    for name in ("missing.jsonl", "empty.jsonl"):
        history = read_ledger(tmp_path / name)
        assert (history.entries, history.head) == ((), LedgerHead(seq=0, hash=START))


def test_a_torn_last_line_is_counted_and_dropped_when_the_ledger_is_opened(tmp_path: Path):
    path = tmp_path / "ledger.jsonl"
    head = filled(path, lines=2)
    with path.open("ab") as file:
        file.write(b'{"v": 1, "seq"')

    assert (read_ledger(path).head, read_ledger(path).torn_bytes) == (head, 14)
    with Ledger(path) as ledger:
        assert ledger.torn_bytes == 14
        ledger.append("commit", step=300)
    assert [entry.step for entry in read_ledger(path).entries] == [100, 200, 300]


def test_a_kill_behind_a_line_leaves_it_and_those_before(tmp_path: Path):
    path = tmp_path / "ledger.jsonl"
    command = [sys.executable, "-c", KILLED, str(path)]

    done = subprocess.run(command, env={**os.environ, "ETUDE_KILL_AT": "ledger.appended:2"})

    assert done.returncode == -9
    assert [entry.step for entry in read_ledger(path).entries] == [100, 200]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a ledger with entries of many shapes."""
    path = tmp_path_factory.mktemp("sound") / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.append("stopped", step=0)
        ledger.append("plan", step=100, data={"toy/0": 0.25, "toy/1": 7.5e-20, "": [], "x": None})
        ledger.append(
            "note", step=-1, weights="w1", data={"text": '开门\n"\\', "deep": {"a": True}}
        )
        ledger.append("stopped", step=200)
    return path.read_bytes()


@given(draw=st.data(), byte=st.integers(0, 255))
@settings(max_examples=300)
def test_a_changed_byte_of_any_line_but_the_last_is_found(
    sound: bytes, draw: st.DataObject, byte: int
):
    place = draw.draw(st.integers(0, sound[:-1].rfind(b"\n")))
    assume(sound[place] != byte)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.jsonl"

        path.write_bytes(sound[:place] + bytes([byte]) + sound[place + 1 :])

        with pytest.raises(DataError, match=r"ledger\.jsonl:\d"):
            read_ledger(path)


@given(draw=st.data())
@settings(max_examples=100)
def test_a_byte_added_to_or_taken_from_any_line_but_the_last_is_found(
    sound: bytes, draw: st.DataObject
):
    place = draw.draw(st.integers(0, sound[:-1].rfind(b"\n")))
    added = draw.draw(st.binary(max_size=1))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.jsonl"

        path.write_bytes(sound[:place] + added + sound[place + (not added) :])

        with pytest.raises(DataError, match=r"ledger\.jsonl:\d"):
            read_ledger(path)


@given(order=st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_any_other_choice_of_lines_is_found_unless_it_only_ends_sooner(
    sound: bytes, order: list[int]
):
    assume(order != list(range(len(order))))
    lines = sound.splitlines(keepends=True)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.jsonl"

        path.write_bytes(b"".join(lines[number] for number in order))

        with pytest.raises(DataError, match="lines are missing or were moved"):
            read_ledger(path)


def rewritten(lines: list[bytes]) -> list[bytes]:
    """The second line replaced by one that is sound in itself, as a careful forger would."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.jsonl"
        with Ledger(path) as ledger:
            ledger.append("commit", step=100, weights="w1", data={"n": 1})
            ledger.append("commit", step=200, weights="other", data={"n": 2})
        return [lines[0], path.read_bytes().splitlines(keepends=True)[1], *lines[2:]]


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (lambda lines: [lines[0], lines[2]], r":2 has the number 3, not 2: lines are missing"),
        (lambda lines: [*lines[:2], lines[1], lines[2]], r":3 has the number 2, not 3"),
        (
            lambda lines: [lines[0], lines[1].replace(b"w2", b"w9"), lines[2]],
            r":2 was changed after it was written",
        ),
        (
            lambda lines: [lines[0].replace(b'": ', b'":  ', 1), *lines[1:]],
            r":1 was changed after it was written",
        ),
        (rewritten, r":3 does not continue the line before it"),
        (lambda lines: [lines[0], b'{"v": 1}\n', lines[2]], r":2 is no line of a ledger/1"),
        (
            lambda lines: [lines[0].replace(b'"v": 1', b'"v": 2'), *lines[1:]],
            r":1 is no line of a ledger/1",
        ),
        (lambda lines: [lines[0], b"{\n", lines[2]], r":2 is not a JSON object"),
    ],
    ids=["missing", "twice", "value", "space", "forged", "other", "version", "torn"],
)
def test_an_edit_is_refused_with_its_line_and_the_file_is_left_alone(
    tmp_path: Path, edit: Callable[[list[bytes]], list[bytes]], found: str
):
    path = tmp_path / "ledger.jsonl"
    filled(path)
    path.write_bytes(b"".join(edit(path.read_bytes().splitlines(keepends=True))))
    edited = path.read_bytes()

    with pytest.raises(DataError, match=rf"ledger\.jsonl{found}") as caught:
        Ledger(path)

    assert caught.value.hint.startswith("Restore the file from a copy")
    assert path.read_bytes() == edited


def test_a_history_that_was_cut_short_does_not_hold_the_head_that_was_kept(tmp_path: Path):
    path = tmp_path / "ledger.jsonl"
    early = filled(path, lines=2)
    late = filled(path, lines=2)
    assert read_ledger(path).holds(early)
    assert read_ledger(path).holds(late)
    assert read_ledger(path).holds(LedgerHead())

    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))

    assert read_ledger(path).holds(early)
    assert not read_ledger(path).holds(late)
    assert not read_ledger(path).holds(LedgerHead(seq=2, hash=START))
    assert not read_ledger(path).holds(LedgerHead(seq=0, hash="1" * 64))


def test_names_that_are_no_text_are_refused_so_that_1_and_text_1_stay_apart(tmp_path: Path):
    with Ledger(tmp_path / "ledger.jsonl") as ledger:
        with pytest.raises(TypeError, match="the key 0, which is not text"):
            ledger.append("plan", step=1, data={"weights": {0: 0.1, "0": 0.9}})
        ledger.append("plan", step=1, data={"weights": {"0": 0.9}})

    assert [entry.seq for entry in read_ledger(ledger.path).entries] == [1]


def test_a_number_that_is_not_finite_leaves_the_chain_as_it_was(tmp_path: Path):
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        with pytest.raises(ValueError, match="not JSON compliant"):
            ledger.append("score", step=1, data={"score": float("nan")})
        ledger.append("score", step=1, data={"score": 0.5})

    assert [entry.data for entry in read_ledger(path).entries] == [{"score": 0.5}]


def test_text_that_only_looks_like_one_letter_is_read_back(tmp_path: Path):
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.append("note", step=1, data={"pair": "\ud83d\ude00", "lone": "\udce9"})

    assert read_ledger(path).entries[0].data == {"pair": "😀", "lone": "\udce9"}
