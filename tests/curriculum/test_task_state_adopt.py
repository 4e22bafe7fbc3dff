"""What a run takes over from a document, and what it refuses."""

from dataclasses import replace
from typing import Any

import pytest

from etude.core.errors import StateError
from etude.core.types import Task, TaskId
from etude.curriculum.states import TaskState, deciding
from etude.curriculum.task_state import DatasetMark
from etude.curriculum.task_state_adopt import adopt
from task_states import DATA, TASKS, document, states

NEW = Task(id=TaskId("mt50/4"), index=4, name="pick-place-v3", text="")


def test_states_of_the_same_weights_are_taken_over_as_they_are():
    adopted = adopt(document(), TASKS, weights="w1000", dataset=DATA)

    assert adopted.states == states()
    assert adopted.plan is not None
    assert adopted.plan.weights[TASKS[1].id] == 0.5
    assert (adopted.stale, adopted.added, adopted.dropped) == (False, (), ())


def test_states_of_other_weights_are_refused_with_both_ids():
    with pytest.raises(StateError) as caught:
        adopt(document(), TASKS, weights="w900")

    assert str(caught.value) == (
        "the task state document:weights is w1000, but the loaded weights are w900"
    )
    assert "--accept-weights-mismatch" in caught.value.hint


def test_accepted_states_of_other_weights_keep_their_history_but_decide_nothing():
    adopted = adopt(document(), TASKS, weights="w900", accept_mismatch=True)

    assert adopted.stale
    for task, before in states().items():
        after = adopted.states[task]
        assert (after.status, after.proxy, after.spent) == (
            before.status,
            before.proxy,
            before.spent,
        )
        assert all(look.stale for look in after.history)
        assert [look.weights for look in after.history] == [look.weights for look in before.history]
        assert deciding(after.history, "open_loop") == ()
        assert (after.streak, after.recheck_in, after.recheck_every) == (0, 1, 1)


def test_a_task_that_the_document_lacks_is_untried():
    adopted = adopt(document(), (*TASKS, NEW), weights="w1000", budget=500.0)

    assert adopted.states[NEW.id] == TaskState(task=NEW.id, budget=500.0, since_step=1000)
    assert adopted.added == (NEW.id,)
    assert adopted.plan is None
    assert list(adopted.states) == [task.id for task in (*TASKS, NEW)]


def test_a_task_that_only_the_document_has_is_refused_unless_that_is_accepted():
    fewer = TASKS[:3]

    with pytest.raises(StateError) as caught:
        adopt(document(), fewer, weights="w1000")
    assert str(caught.value) == (
        'the task state document:tasks[3].id is "mt50/3", which is none of the 3 tasks of this run'
    )

    adopted = adopt(document(), fewer, weights="w1000", accept_data_change=True)
    assert list(adopted.states) == [task.id for task in fewer]
    assert (adopted.dropped, adopted.plan) == ((TaskId("mt50/3"),), None)


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        (
            DatasetMark(repo_id="etude/other", identity="d1"),
            "dataset.repo_id is etude/mt50, but the data of this run have etude/other",
        ),
        (
            DatasetMark(repo_id="etude/mt50", identity="d2"),
            "dataset.identity is d1, but the data of this run have d2",
        ),
    ],
)
def test_other_data_are_refused_unless_that_is_accepted(mark: DatasetMark, message: str):
    with pytest.raises(StateError, match=message):
        adopt(document(), TASKS, weights="w1000", dataset=mark)

    given: dict[str, Any] = {"weights": "w1000", "dataset": mark, "accept_data_change": True}
    assert adopt(document(), TASKS, **given).states == states()


def test_data_that_nobody_identified_are_not_compared():
    old = document(dataset=DatasetMark(repo_id="etude/mt50"))

    assert adopt(old, TASKS, weights="w1000", dataset=DATA).states == states()


def test_all_that_does_not_fit_is_told_at_once():
    with pytest.raises(StateError) as caught:
        adopt(document(), TASKS[:2], weights="w900", dataset=DatasetMark(identity="d2"))

    told = str(caught.value).splitlines()
    assert told[0] == "the task state document has 4 faults"
    assert [line.split(":")[1].split()[0] for line in told if line.startswith("  the")] == [
        "weights",
        "tasks[2].id",
        "tasks[3].id",
        "dataset.identity",
    ]


def test_a_run_that_counts_its_steps_anew_has_the_past_before_its_first_step():
    adopted = adopt(document(), TASKS, weights="w1000", step=0)

    reach = adopted.states[TASKS[0].id]
    assert (reach.since_step, reach.streak_step) == (-100, -100)
    assert [look.step for look in reach.history] == [-150, -100]
    assert len(deciding(reach.history, "open_loop", step=0)) == 2
    assert adopt(document(), TASKS, weights="w1000", step=1000).states == states()


def test_states_whose_steps_are_negative_go_through_a_document():
    adopted = adopt(document(), TASKS, weights="w1000", step=0)
    entries = tuple(replace(e, state=adopted.states[e.task]) for e in document().tasks)

    again = replace(document(), step=0, tasks=entries)

    assert adopt(again, TASKS, weights="w1000").states == adopted.states
