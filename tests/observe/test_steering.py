"""What a report says of tasks that were scored and planned for while a run trained."""

import json
import re
from typing import Any

from etude.events.schema import (
    AttemptStarted,
    CheckpointCommitted,
    PlanChosen,
    TaskScores,
    TaskTransition,
    WindowsWeighed,
)
from etude.observe.report import write_report
from etude.observe.run_files import read_run
from etude.observe.steering import Steering, steering
from etude.observe.texts import Text

FOLDER = "checkpoints/step-00000100"


def scores(step: int, *found: float | None) -> TaskScores:
    trials = [None if score is None else 20.0 for score in found]
    return TaskScores(
        step=step,
        by="open_loop",
        weights=f"run@{step}",
        due=len(found),
        each=32,
        scores=list(found),
        passed=trials,
        trials=trials,
        seconds=1.5,
    )


def plan(step: int, *shares: float) -> PlanChosen:
    return PlanChosen(step=step, from_step=step + 8, rule="learnability", weights=list(shares))


def transition(step: int, task: int, before: str, after: str) -> TaskTransition:
    return TaskTransition(
        step=step,
        task=f"toy/{task}",
        before=before,
        after=after,
        proxy=after == "passed",
        reason=f"because of {step}",
    )


def steered(run: Any, *, states: list[dict[str, Any]] | None = None) -> None:
    """A run of two tasks; the first passes at step 100, the second after the checkpoint."""
    run.begin(["open", "push"])
    run.emit(
        AttemptStarted(command="etude train", step=0),
        plan(0, 0.5, 0.5),
        scores(50, 0.5, 0.75),
        transition(50, 0, "untried", "training"),
        transition(50, 1, "untried", "training"),
        scores(100, 0.125, 0.75),
        transition(100, 0, "training", "passed"),
        plan(100, 0.25, 0.75),
        CheckpointCommitted(step=100, folder=FOLDER, weights="w"),
        scores(150, None, 0.0625),
        transition(150, 1, "training", "exhausted"),
    )
    if states is not None:
        run.write_json(f"{FOLDER}/task_state.json", {"step": 100, "tasks": states})


def told(run: Any) -> Steering:
    found = steering(read_run(run.folder))
    assert found is not None
    return found


def test_a_run_that_was_not_steered_has_no_such_part(run: Any):
    run.begin(["open"])

    assert steering(read_run(run.folder)) is None
    write_report(run.folder)
    assert "Tasks while it trained" not in run.folder.report.read_text(encoding="utf-8")


def test_every_task_has_its_state_its_shares_and_how_often_it_was_looked_at(run: Any):
    steered(run)

    first, second = told(run).standings

    assert (first.name, first.label, first.since) == (
        "open",
        Text(en="passed (proxy)", zh="已通过（替代）"),
        100,
    )
    assert (first.looks, first.score, first.reason) == (2, "0.125", "because of 100")
    assert first.first == Text(en="50.0\u00a0%", zh="50.0%")
    assert first.last == Text(en="25.0\u00a0%", zh="25.0%")
    assert (second.status, second.looks, second.score) == ("exhausted", 3, "0.0625")


def test_shares_are_drawn_on_one_scale_and_hold_until_the_next_plan(run: Any):
    steered(run)

    found = told(run)

    # The largest share, 0.75, is the top; an even one, 0.5, lies at a third of the height.
    assert found.standings[0].line == "0.0,6.7 120.0,6.7 120.0,13.3 120.0,13.3"
    assert found.standings[1].line == "0.0,6.7 120.0,6.7 120.0,0.0 120.0,0.0"
    assert round(found.even, 1) == 6.7


def test_a_checkpoint_says_how_tasks_began_and_events_what_came_later(run: Any):
    before = {"id": "toy/0", "status": "passed", "proxy": False, "since_step": -40}
    second = {"id": "toy/1", "status": "training", "proxy": False, "since_step": 50}
    steered(run, states=[before | {"reason": "passed before this run"}, second])

    standings = told(run).standings

    assert standings[0].label.en == "passed"
    assert (standings[0].since, standings[0].reason) == (-40, "passed before this run")
    assert standings[1].status == "exhausted"


def test_changes_are_told_in_order_with_their_reasons(run: Any):
    steered(run)

    assert [(c.step, c.name, c.before.en, c.after.en, c.reason) for c in told(run).changes] == [
        (50, "open", "untried", "training", "because of 50"),
        (50, "push", "untried", "training", "because of 50"),
        (100, "open", "training", "passed (proxy)", "because of 100"),
        (150, "push", "training", "exhausted", "because of 150"),
    ]


def test_sentences_count_states_plans_and_looks(run: Any):
    steered(run)

    assert [fact.en for fact in told(run).facts] == [
        "2 tasks: 1 passed, 0 in training, 1 exhausted, 0 untried.",
        "2 plans by the rule learnability said how often each task was drawn.",
        "3 looks at the weights in training took 4.5 s.",
    ]


def test_what_a_resumed_attempt_undid_is_not_told(run: Any):
    steered(run)
    run.emit(AttemptStarted(command="etude train --resume", step=100), scores(150, None, 0.5))

    found = told(run)

    assert found.standings[1].status == "training"
    assert found.changes[-1].step == 100
    assert found.standings[1].score == "0.5"


def test_window_weights_are_named_with_their_scan(run: Any):
    run.begin(["open"])
    run.emit(
        WindowsWeighed(
            step=0, record="one/scans/s.zst", policy="w", strata=["slow"], weights=[[1.0]]
        )
    )

    assert [fact.en for fact in told(run).facts] == [
        "From about step 0 on, frames inside tasks were drawn by the sample scan one/scans/s.zst."
    ]
    assert told(run).standings == ()


def test_the_page_shows_it_in_both_languages_and_takes_names_as_data(run: Any):
    steered(run)
    evil = "<b>push</b>"
    manifest = json.loads((run.root / "run.json").read_text())
    manifest["tasks"][1]["name"] = evil
    run.write_json("run.json", manifest)

    page = write_report(run.folder).read_text(encoding="utf-8")

    assert "训练过程中的任务" in page
    assert "All 4 changes of state, in order" in page
    assert evil not in page
    assert len(re.findall(r'<svg class="spark"', page)) == 2


def test_a_damaged_document_is_said_and_passed_over(run: Any):
    steered(run)
    path = run.root / FOLDER / "task_state.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")

    files = read_run(run.folder)

    assert len(files.damages) == 1
    assert told(run).standings[0].status == "passed"
