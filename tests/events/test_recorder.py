import json
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from etude.events.reader import read_events
from etude.events.recorder import Recorder
from etude.events.schema import StepsFinished, TaskLosses, Warned
from etude.testing.fakes import MemorySink


class BrokenSink:
    """A view that fails from its `after`-th record on."""

    def __init__(self, after: int = 0) -> None:
        self.seen = 0
        self._after = after

    def write(self, record: Mapping[str, object]) -> None:
        self.seen += 1
        if self.seen > self._after:
            raise OSError("the terminal is gone")


class OtherBrokenSink(BrokenSink):
    pass


def ticks() -> Iterator[float]:
    return (float(second) for second in count(100))


def steps(step: int, loss: float) -> StepsFinished:
    return StepsFinished(step=step, steps=1, loss=loss, grad_norm=1.0, lr=0.1)


def strict(line: str) -> Any:
    """Parse as a reader does who knows nothing but the standard."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    return json.loads(line, parse_constant=refuse)


def test_a_record_says_when_who_and_what(tmp_path: Path):
    recorder = Recorder(tmp_path / "events", rank=3, clock=ticks().__next__)

    recorder.emit(Warned(message="slow disk"))
    recorder.emit(Warned(message="slower disk"))

    path = tmp_path / "events" / "rank-00003.0001.jsonl"
    first, second = map(strict, path.read_text().splitlines())
    assert first == {
        "seq": 0,
        "t": 100.0,
        "attempt": 1,
        "rank": 3,
        "kind": "warned",
        "message": "slow disk",
    }
    assert (second["seq"], second["t"]) == (1, 101.0)


def test_every_attempt_writes_a_journal_of_its_own(tmp_path: Path):
    for expected in (1, 2, 3):
        recorder = Recorder(tmp_path)
        assert recorder.attempt == expected
        recorder.close()
    (tmp_path / "rank-00000.0003.jsonl").rename(tmp_path / "rank-00000.12345.jsonl")

    assert Recorder(tmp_path).attempt == 12346
    assert Recorder(tmp_path, rank=1).attempt == 1


def test_foreign_files_do_not_count_as_attempts(tmp_path: Path):
    for name in ("rank-00000.0007.jsonl.bak", "rank-00000.copy.jsonl", "rank-00000.0009.old.jsonl"):
        (tmp_path / name).touch()

    assert Recorder(tmp_path).attempt == 1


def test_numbers_that_json_cannot_say_are_spelled_as_text(tmp_path: Path):
    recorder = Recorder(tmp_path)

    for step, loss in enumerate((1.0, float("nan"), float("inf"), 0.5, -float("inf"))):
        recorder.emit(steps(step, loss))
    recorder.emit(TaskLosses(step=5, losses=[None, float("nan"), 0.25], samples=[0, 1, 2]))

    lines = (tmp_path / "rank-00000.0001.jsonl").read_text().splitlines()
    assert [strict(line)["loss"] for line in lines[:5]] == [
        1.0,
        "NaN",
        "Infinity",
        0.5,
        "-Infinity",
    ]
    assert strict(lines[5])["losses"] == [None, "NaN", 0.25]


def test_a_view_that_fails_is_dropped_and_reported_once_and_the_run_goes_on(tmp_path: Path):
    broken, working = BrokenSink(after=1), MemorySink()
    recorder = Recorder(tmp_path, sinks=(broken, working))

    for step in (1, 2, 3):
        recorder.emit(steps(step, 0.5))

    kinds = ["steps_finished", "steps_finished", "sink_failed", "steps_finished"]
    assert [record["kind"] for record in read_events(tmp_path)] == kinds
    assert [record["kind"] for record in working.records] == kinds
    assert [record["seq"] for record in working.records] == [0, 1, 2, 3]
    assert working.of("sink_failed")[0]["sink"] == "BrokenSink"
    assert working.of("sink_failed")[0]["reason"] == "OSError('the terminal is gone')"
    assert broken.seen == 2


def test_views_that_fail_together_are_each_reported_once(tmp_path: Path):
    working = MemorySink()
    recorder = Recorder(tmp_path, sinks=(BrokenSink(), OtherBrokenSink(), working))

    recorder.emit(steps(1, 0.5))
    recorder.emit(steps(2, 0.5))

    assert [(r["kind"], r.get("sink")) for r in working.records] == [
        ("steps_finished", None),
        ("sink_failed", "BrokenSink"),
        ("sink_failed", "OtherBrokenSink"),
        ("steps_finished", None),
    ]


def test_a_view_that_fails_on_the_report_of_another_is_reported_too(tmp_path: Path):
    working = MemorySink()
    recorder = Recorder(tmp_path, sinks=(BrokenSink(), OtherBrokenSink(after=1), working))

    recorder.emit(steps(1, 0.5))

    failed = [record["sink"] for record in working.of("sink_failed")]
    assert failed == ["BrokenSink", "OtherBrokenSink"]
    assert [record["seq"] for record in working.records] == [0, 1, 2]


def test_a_phase_is_marked_and_timed(tmp_path: Path):
    recorder = Recorder(tmp_path, clock=ticks().__next__)

    with recorder.phase("demos"):
        recorder.emit(Warned(message="inside"))

    started, inside, finished = read_events(tmp_path)
    assert (started["kind"], started["phase"]) == ("phase_started", "demos")
    assert inside["kind"] == "warned"
    assert (finished["kind"], finished["phase"]) == ("phase_finished", "demos")
    assert finished["seconds"] == 3.0


def test_a_phase_that_fails_is_not_finished(tmp_path: Path):
    recorder = Recorder(tmp_path)

    with pytest.raises(ZeroDivisionError), recorder.phase("demos"):
        raise ZeroDivisionError

    assert [record["kind"] for record in read_events(tmp_path)] == ["phase_started"]


def test_the_record_that_a_killed_attempt_has_lost_is_reported_by_the_next(tmp_path: Path):
    recorder = Recorder(tmp_path)
    recorder.emit(steps(1, 0.5))
    recorder.close()
    with (tmp_path / "rank-00000.0001.jsonl").open("ab") as file:
        file.write(b'{"seq": 1, "t"')

    Recorder(tmp_path).emit(steps(2, 0.5))

    records = list(read_events(tmp_path))
    assert [record["kind"] for record in records] == ["steps_finished", "warned", "steps_finished"]
    assert records[1]["message"] == (
        "rank-00000.0001.jsonl ends in 14 torn bytes; one record is lost"
    )


def test_an_event_with_a_file_name_that_is_no_utf_8_is_recorded(tmp_path: Path):
    name = b"caf\xe9".decode("utf-8", "surrogateescape")

    Recorder(tmp_path).emit(Warned(message=name))

    assert next(iter(read_events(tmp_path)))["message"] == name
