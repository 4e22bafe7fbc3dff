from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from etude.events.reader import read_events
from etude.events.recorder import Recorder
from etude.events.schema import (
    AttemptStarted,
    CheckpointCommitted,
    CounterfactualPlans,
    Event,
    HeldOutErrors,
    PhaseFinished,
    PlanChosen,
    StepsFinished,
    StepSkipped,
    TaskLosses,
    TaskScores,
    TaskTransition,
    Warned,
)
from etude.events.summary import RunSummary, summarise


def steps(step: int, loss: float) -> StepsFinished:
    return StepsFinished(step=step, steps=1, loss=loss, grad_norm=1.0, lr=0.1)


def began(step: int) -> AttemptStarted:
    return AttemptStarted(command="etude run", step=step)


def committed(step: int) -> CheckpointCommitted:
    return CheckpointCommitted(step=step, folder=f"checkpoints/step-{step:08d}", weights="w")


def scored(step: int, by: str = "open_loop", score: float = 0.5) -> TaskScores:
    return TaskScores(
        step=step,
        by=by,
        weights=f"run@{step}",
        due=1,
        each=8,
        scores=[score],
        passed=[4.0],
        trials=[8.0],
        seconds=0.1,
    )


def moved(step: int, task: str, after: str) -> TaskTransition:
    return TaskTransition(
        step=step, task=task, before="training", after=after, proxy=False, reason="so"
    )


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


def test_scores_plans_and_transitions_are_kept_by_step():
    summary = fold(
        began(0),
        scored(50),
        scored(50, by="rollout", score=0.25),
        moved(50, "d/0", "passed"),
        moved(50, "d/1", "exhausted"),
        PlanChosen(step=50, from_step=58, rule="learnability", weights=[1.0]),
        CounterfactualPlans(step=50, rules=["uniform"], weights=[[1.0]]),
    )

    assert summary.scores["open_loop"][50]["scores"] == [0.5]
    assert summary.scores["rollout"][50]["scores"] == [0.25]
    assert [row["after"] for row in summary.transitions[50].values()] == ["passed", "exhausted"]
    assert summary.plans[50]["from_step"] == 58
    assert summary.counterfactuals[50]["rules"] == ["uniform"]


def test_what_was_decided_after_the_step_that_a_run_goes_on_from_is_undone():
    summary = fold(
        began(0),
        *(scored(step) for step in (50, 100, 150)),
        *(moved(step, "d/0", "passed") for step in (100, 150)),
        PlanChosen(step=150, from_step=158, rule="learnability", weights=[1.0]),
        began(100),
        scored(150, score=0.125),
    )

    assert [row["scores"] for row in summary.scores["open_loop"].values()] == [
        [0.5],
        [0.5],
        [0.125],
    ]
    assert list(summary.transitions) == [100]
    assert summary.plans == {}


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
