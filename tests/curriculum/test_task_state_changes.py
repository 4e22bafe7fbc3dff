"""Changing states by hand, and saying what differs."""

from dataclasses import replace

import pytest

from etude.core.errors import StateError
from etude.core.types import TaskId
from etude.curriculum.states import TaskState
from etude.curriculum.task_state_changes import Change, difference, find_task, mark, reset
from task_states import TASKS, document

REACH, PUSH, DOOR, DISASSEMBLE = (task.id for task in TASKS)


def test_a_reset_task_is_as_if_it_had_never_been_looked_at():
    changed = reset(document(), REACH)

    assert changed.states[REACH] == TaskState(
        task=REACH, budget=12800.0, since_step=1000, reason="set by hand"
    )
    assert {task: changed.states[task] for task in (PUSH, DOOR, DISASSEMBLE)} == {
        task: document().states[task] for task in (PUSH, DOOR, DISASSEMBLE)
    }


@pytest.mark.parametrize("status", ["untried", "training", "passed", "exhausted"])
def test_a_marked_task_keeps_its_history_and_is_looked_at_next(status: str):
    before = document().states[REACH]

    after = mark(document(), REACH, status).states[REACH]

    assert (after.status, after.proxy, after.since_step) == (status, False, 1000)
    assert (after.history, after.spent, after.budget) == (before.history, 6000.0, 12800.0)
    assert (after.streak, after.recheck_in, after.recheck_every) == (0, 1, 1)
    assert after.reason == "set by hand"


def test_an_exhausted_task_that_is_trained_again_gets_a_larger_budget():
    after = mark(document(), DISASSEMBLE, "training").states[DISASSEMBLE]

    assert (after.status, after.spent, after.budget) == ("training", 13000.0, 19500.0)


def test_a_state_that_there_is_not_is_refused_with_the_nearest():
    with pytest.raises(StateError, match="'pased' is no state of a task") as caught:
        mark(document(), REACH, "pased")

    assert caught.value.hint == "The nearest is passed."


def test_a_task_is_found_by_its_id_or_its_name():
    assert find_task(document(), "mt50/1") == PUSH
    assert find_task(document(), "push-v3") == PUSH


def test_a_task_that_is_not_there_is_refused_with_the_nearest():
    with pytest.raises(StateError, match="has no task 'pusch-v3'") as caught:
        find_task(document(), "pusch-v3")

    assert caught.value.hint == "The nearest is push-v3."


def test_a_name_that_two_tasks_share_is_refused_with_their_ids():
    entries = tuple(replace(entry, name="push") for entry in document().tasks[:2])

    with pytest.raises(StateError, match="has 2 tasks of the name 'push': mt50/0, mt50/1"):
        find_task(replace(document(), tasks=entries), "push")


def test_equal_documents_do_not_differ():
    assert difference(document(), document()) == []


def test_what_differs_is_told_by_entry_the_document_first():
    old = document()
    entry = replace(old.tasks[0], share=0.25)
    new = replace(document(step=1100, weights="w1100"), tasks=(entry, *old.tasks[1:]))

    assert difference(old, mark(new, PUSH, "passed")) == [
        Change(task="", name="", entry="step", before=1000, after=1100),
        Change(task="", name="", entry="weights", before="w1000", after="w1100"),
        Change(task="mt50/0", name="reach-v3", entry="share", before=0.125, after=0.25),
        Change(task="mt50/1", name="push-v3", entry="status", before="training", after="passed"),
        Change(task="mt50/1", name="push-v3", entry="failures", before=3, after=0),
        Change(
            task="mt50/1",
            name="push-v3",
            entry="reason",
            before="first look at it: 0.0 of 20.0 passed",
            after="set by hand",
        ),
    ]


def test_a_task_that_only_one_document_has_is_one_change():
    old = document()
    new = replace(old, tasks=old.tasks[1:])

    lost = Change(
        task=TaskId("mt50/0"), name="reach-v3", entry="task", before="passed (proxy)", after=None
    )
    assert difference(old, new) == [lost]
    assert difference(new, old) == [replace(lost, before=None, after="passed (proxy)")]
