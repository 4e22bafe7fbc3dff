from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from etude.events.reader import read_events
from etude.events.recorder import Recorder
from etude.events.schema import (
    AttemptStarted,
    CheckpointCommitted,
    Event,
    HeldOutErrors,
    PhaseFinished,
    StepsFinished,
    StepSkipped,
    TaskLosses,
    Warned,
)
from etude.events.summary import RunSummary, summarise


def steps(step: int, loss: float) -> StepsFinished:
    return StepsFinished(step=step, steps=1, loss=loss, grad_norm=1.0, lr=0.1)


def began(step: int) -> AttemptStarted:
    return AttemptStarted(command="etude run", step=step)


def committed(step: int) -> CheckpointCommitted:
    return CheckpointCommitted(step=step, folder=f"checkpoints/step-{step:08d}", weights="w")


def attempt(folder: Path, *events: Event) -> None:
    """Record one attempt in a journal of its own."""
    recorder = Recorder(folder)
    for event in events:
        recorder.emit(event)
    recorder.close()


def fold(*events: Event) -> RunSummary:
    return summarise({"kind": event.kind, **event.fields()} for event in events)


def test_steps_that_were_done_again_are_shown_once_with_the_newer_values(tmp_path: Path):
    attempt(
        tmp_path,
        began(0),
        *(steps(step, 1.0) for step in range(1, 7)),
        committed(6),
        *(steps(step, 1.0) for step in range(7, 11)),
    )
    attempt(tmp_path, began(6), *(steps(step, 2.0) for step in range(7, 13)), committed(12))

    summary = summarise(read_events(tmp_path))

    assert list(summary.losses) == list(range(1, 13))
    assert [r["loss"] for r in summary.losses.values()] == [1.0] * 6 + [2.0] * 6
    assert (summary.step, summary.attempts) == (12, 2)
    assert [record["step"] for record in summary.checkpoints] == [6, 12]


def test_a_later_attempt_undoes_everything_beyond_its_first_step():
    summary = fold(
        began(0),
        steps(8, 1.0),
        TaskLosses(step=8, losses=[1.0], samples=[4]),
        HeldOutErrors(step=8, errors=[1.0], episodes=2),
        StepSkipped(step=5, rows=[17]),
        StepSkipped(step=8, rows=[21]),
        committed(4),
        committed(8),
        began(6),
    )

    assert summary.step == 6
    assert (summary.losses, summary.task_losses, summary.held_out) == ({}, {}, {})
    assert summary.skipped_steps == 1
    assert [record["step"] for record in summary.checkpoints] == [4]


def test_what_stands_at_the_first_step_itself_stays():
    summary = fold(began(0), steps(6, 1.0), committed(6), began(6))

    assert list(summary.losses) == [6]
    assert [record["step"] for record in summary.checkpoints] == [6]


def test_phases_are_summed_over_attempts_and_warnings_kept_in_order():
    summary = fold(
        began(0),
        PhaseFinished(phase="train", seconds=2.0),
        Warned(message="first"),
        began(0),
        PhaseFinished(phase="train", seconds=0.5),
        PhaseFinished(phase="eval", seconds=4.0),
        Warned(message="second"),
    )

    assert summary.phases == {"train": 2.5, "eval": 4.0}
    assert summary.warnings == ["first", "second"]


def test_losses_that_are_not_finite_are_points_too(tmp_path: Path):
    losses = (1.0, float("nan"), float("inf"), 0.5)
    attempt(tmp_path, began(0), *(steps(i, loss) for i, loss in enumerate(losses, start=1)))

    summary = summarise(read_events(tmp_path))

    assert [r["loss"] for r in summary.losses.values()] == [1.0, "NaN", "Infinity", 0.5]


def test_nothing_recorded_is_a_summary_of_nothing():
    summary = summarise([])

    assert (summary.step, summary.attempts, summary.losses) == (0, 0, {})


def test_kinds_of_a_newer_version_are_passed_over():
    record: dict[str, Any] = {"kind": "teleported", "step": 99}

    assert summarise([record]) == RunSummary()


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)), max_size=6))
def test_any_history_of_attempts_leaves_each_step_once_and_ascending(
    drawn: list[tuple[int, int]],
):
    done, events, owners = 0, list[Event](), dict[int, float]()
    for number, (back, ahead) in enumerate(drawn):
        first = max(done - back, 0)
        done = first + ahead
        events += [began(first), *(steps(s, float(number)) for s in range(first + 1, done + 1))]
        owners = {s: n for s, n in owners.items() if s <= first}
        owners |= {s: float(number) for s in range(first + 1, done + 1)}

    summary = fold(*events)

    assert [(step, r["loss"]) for step, r in summary.losses.items()] == sorted(owners.items())
    assert list(summary.losses) == list(range(1, done + 1))
    assert summary.step == done
