"""A document of task states that says the same after it was written and read."""

import json
import math
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.types import Task, TaskId
from etude.curriculum.states import TaskEvidence, TaskState
from etude.curriculum.task_state import STATUSES, TaskEntry, make_document
from etude.curriculum.task_state_reading import document_from_json, document_from_text
from task_states import DATA, TASKS, document, evidence, states

GOLDEN = Path(__file__).parents[1] / "golden" / "task_state_1.json"

amounts = st.floats(0, 1e12)
steps = st.integers(-(10**6), 10**6)
# Of plain values: the checks of shapes, which draw at random, may not run inside a strategy.
looks = st.fixed_dictionaries(
    {
        "step": steps,
        "weights": st.text(min_size=1),
        "kind": st.sampled_from(["rollout", "open_loop"]),
        "passed": st.just(0.0),
        "trials": amounts,
        "episodes": st.integers(0, 99),
        "score": st.none() | amounts,
        "spent": amounts,
        "stale": st.booleans(),
    }
)
task_states = st.fixed_dictionaries(
    {
        "task": st.text(min_size=1).map(TaskId),
        "status": st.sampled_from(STATUSES),
        "proxy": st.sampled_from([False]),
        "since_step": steps,
        "spent": amounts,
        "budget": amounts,
        "history": st.lists(looks, max_size=3),
        "streak": st.integers(0, 9),
        "boost": amounts,
        "reason": st.text(),
    }
)


def test_a_document_is_written_as_it_always_was(golden: Callable[[str, str], None]):
    golden("task_state_1.json", document().to_text())


def test_the_document_of_the_golden_file_is_read_as_it_always_was():
    read = document_from_text(GOLDEN.read_text(encoding="utf-8"), source="golden")

    assert read.states == states()
    assert read.plan is not None
    assert read.plan.weights == {"mt50/0": 0.125, "mt50/1": 0.5, "mt50/2": 0.25, "mt50/3": 0.125}
    assert (read.run_id, read.step, read.weights) == ("mt50-1a2b", 1000, "w1000")
    assert (read.rule, read.dataset) == ("learnability", DATA)
    assert [entry.name for entry in read.tasks] == [task.name for task in TASKS]


@given(drawn=st.lists(task_states, max_size=4, unique_by=lambda state: state["task"]))
def test_any_states_come_back_from_text(drawn: list[dict[str, Any]]):
    found = [
        TaskState(**{**state, "history": tuple(TaskEvidence(**look) for look in state["history"])})
        for state in drawn
    ]
    tasks = [Task(id=state.task, index=0, name="开门", text="") for state in found]
    written = make_document(
        {state.task: state for state in found},
        tasks,
        None,
        run_id="r",
        step=7,
        weights="w",
        dataset=DATA,
        rule="uniform",
    )

    read = document_from_text(written.to_text(), source="x.json", tasks=tasks)

    assert list(read.states.values()) == found
    assert read.to_text() == written.to_text()


def test_every_field_of_a_state_and_of_a_score_stands_in_the_document():
    row = document().to_json()["tasks"][0]

    renamed = {"task": "id", "history": "scores"}
    assert {renamed.get(each.name, each.name) for each in fields(TaskState)} <= set(row)
    assert {each.name for each in fields(TaskEvidence)} == set(row["scores"][0])


def test_every_entry_of_a_task_and_every_score_has_a_line():
    lines = document().to_text().splitlines()

    assert '   "status": "exhausted",' in lines
    assert '   "scores": []' in lines
    assert (
        '    {"step": 850, "weights": "mt50-1a2b@850", "kind": "open_loop", "passed": 17.5, '
        '"trials": 20.0, "episodes": 4, "score": 0.25, "spent": 6000.0, "stale": false},'
    ) in lines


def test_names_that_are_not_known_are_kept_where_they_stood():
    value = json.loads(document().to_text())
    value["note"] = {"by": "me"}
    value["dataset"]["licence"] = "apache-2.0"
    value["tasks"][1]["colour"] = "red"
    value["tasks"][0]["scores"][1]["camera"] = 3

    read = document_from_json(value, source="x.json")
    moved = replace(read, tasks=tuple(reversed(read.tasks)))
    written = json.loads(moved.to_text())

    assert written["note"] == {"by": "me"}
    assert written["dataset"]["licence"] == "apache-2.0"
    by_id = {row["id"]: row for row in written["tasks"]}
    assert by_id["mt50/1"]["colour"] == "red"
    assert [row.get("camera") for row in by_id["mt50/0"]["scores"]] == [None, 3]
    assert "colour" not in by_id["mt50/0"]


def test_what_is_not_known_of_a_score_goes_with_it_when_older_ones_leave():
    value = json.loads(document().to_text())
    value["tasks"][0]["scores"][1]["camera"] = 3
    read = document_from_json(value, source="x.json")
    first = read.tasks[0]
    history = (*first.state.history[1:], evidence(950))

    newer = replace(first, state=replace(first.state, history=history))
    written = json.loads(replace(read, tasks=(newer, *read.tasks[1:])).to_text())

    assert [row.get("camera") for row in written["tasks"][0]["scores"]] == [3, None]


def test_ids_that_look_like_numbers_stay_text_and_numbers_are_refused():
    ids = [TaskId("0"), TaskId("10")]
    tasks = [Task(id=task, index=0, name="", text="") for task in ids]
    found = {
        ids[0]: TaskState(task=ids[0], spent=0.1),
        ids[1]: TaskState(task=ids[1], spent=0.9),
    }
    given = {"run_id": "r", "step": 1, "weights": "w", "dataset": DATA, "rule": "uniform"}
    read = document_from_text(make_document(found, tasks, None, **given).to_text(), source="x")
    updated = {**read.states, ids[1]: replace(read.states[ids[1]], spent=0.5)}

    again = document_from_text(make_document(updated, tasks, None, **given).to_text(), source="x")

    assert {task: state.spent for task, state in again.states.items()} == {"0": 0.1, "10": 0.5}


def test_a_number_that_is_not_finite_is_never_written():
    broken = replace(states()[TaskId("mt50/0")], spent=math.nan)
    written = replace(document(), tasks=(TaskEntry(state=broken),))

    with pytest.raises(ValueError, match="not JSON compliant"):
        written.to_text()


@pytest.mark.parametrize("shares", [[None] * 4, [0.5, None, 0.25, 0.25]])
def test_a_document_without_every_share_has_no_plan(shares: list[Any]):
    tasks = [replace(e, share=s) for e, s in zip(document().tasks, shares, strict=True)]

    assert replace(document(), tasks=tuple(tasks)).plan is None
