"""Reading run folders in every state."""

from typing import Any

from etude.events.schema import AttemptStarted, SinkFailed, StepsFinished, Warned
from etude.observe.run_files import read_run


def step(number: int, loss: float) -> StepsFinished:
    return StepsFinished(step=number, steps=1, loss=loss, grad_norm=1.0, lr=0.1)


def test_an_empty_folder_is_a_run_of_which_nothing_is_known(run: Any) -> None:
    files = read_run(run.folder)
    assert (files.run, files.environment, files.data, files.config) == ({}, {}, {}, "")
    assert files.summary.losses == {}
    assert files.evaluations == ()
    assert files.damages == ()
    assert files.first_event is None


def test_an_empty_journal_and_a_torn_first_line_hold_no_records(run: Any) -> None:
    run.folder.events.mkdir()
    (run.folder.events / "rank-00000.0001.jsonl").write_bytes(b"")
    (run.folder.events / "rank-00000.0002.jsonl").write_bytes(b'{"kind": "steps_fin')
    files = read_run(run.folder)
    assert files.summary.losses == {}
    assert files.damages == ()


def test_a_torn_last_line_costs_only_itself(run: Any) -> None:
    run.emit(step(1, 0.5))
    journal = run.folder.events / "rank-00000.0001.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"kind": "steps_finished", "step": 2, "lo')
    assert list(read_run(run.folder).summary.losses) == [1]


def test_a_damaged_file_is_noted_and_the_rest_is_read(run: Any) -> None:
    run.begin(["open"])
    run.emit(step(1, 0.5))
    journal = run.folder.events / "rank-00000.0001.jsonl"
    journal.write_bytes(journal.read_bytes() + b"not json\n")
    (run.root / "env.json").write_text("[1, 2]")
    run.evaluate("bad", {"open": (1, 2)}, manifest={"policy": {}})
    files = read_run(run.folder)
    assert files.run["run_id"] == "demo"
    assert list(files.summary.losses) == [1]
    assert len(files.damages) == 3
    assert files.damages[0].endswith("rank-00000.0001.jsonl:2 is not a JSON object")
    assert files.damages[1].endswith("env.json holds list, not a JSON object")


def test_a_config_that_is_no_text_is_noted(run: Any) -> None:
    run.folder.config.write_bytes(b"\xff\xfe")
    files = read_run(run.folder)
    assert files.config == ""
    assert "config.resolved.toml cannot be read" in files.damages[0]


def test_commands_times_and_failed_views_come_from_the_events(run: Any) -> None:
    run.emit(
        AttemptStarted(command="etude run a.toml", step=0),
        SinkFailed(sink="Console", reason="OSError()"),
    )
    run.emit(AttemptStarted(command="etude run a.toml --resume", step=0), Warned(message="w"))
    files = read_run(run.folder)
    assert files.commands == ("etude run a.toml", "etude run a.toml --resume")
    assert files.sink_failures == ("Console: OSError()",)
    assert (files.first_event, files.last_event) == (1_790_000_000.0, 1_790_000_001.0)


def test_evaluations_are_ordered_by_what_they_say_not_by_file_times(run: Any) -> None:
    run.evaluate("zz", {"open": (1, 2)}, manifest={"created_at": "2026-01-02T00:00:00+00:00"})
    run.evaluate("aa", {"open": (1, 2)}, manifest={"created_at": "2026-01-01T00:00:00+00:00"})
    assert [e.id for e in read_run(run.folder).evaluations] == ["aa", "zz"]
