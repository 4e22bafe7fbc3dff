"""What is shown of a task: its newest look, at episodes if there is one."""

from dataclasses import replace

import pytest

from etude.core.types import TaskId
from etude.curriculum.states import TaskState
from etude.curriculum.task_state import TaskEntry
from etude.curriculum.task_state_overview import newest_look, one_task, overview, success
from task_states import TASKS, document, evidence


def test_an_overview_counts_the_statuses_and_has_every_task_in_order():
    found = overview(document())

    assert found["statuses"] == {"untried": 1, "training": 1, "passed": 1, "exhausted": 1}
    assert [row["name"] for row in found["tasks"]] == [task.name for task in TASKS]
    assert (found["run_id"], found["step"], found["weights"]) == ("mt50-1a2b", 1000, "w1000")


def test_a_look_at_episodes_says_more_than_a_newer_one_at_windows():
    played = evidence(800, kind="rollout", passed=4.0, trials=5.0)
    state = TaskState(task=TASKS[0].id, history=(evidence(750), played, evidence(900)))

    assert newest_look(state) == played
    assert success(played) == 0.8


def test_windows_speak_where_no_episode_was_played():
    state = TaskState(task=TASKS[0].id, history=(evidence(850), evidence(900)))

    assert newest_look(state) == evidence(900)


@pytest.mark.parametrize("history", [(), (evidence(900, passed=0.0, trials=0.0),)])
def test_a_task_that_was_not_tried_has_no_success(history: tuple[()]):
    state = TaskState(task=TASKS[0].id, history=history)

    assert success(newest_look(state)) is None


def test_a_task_without_a_name_is_called_by_its_id():
    entry = TaskEntry(state=TaskState(task=TaskId("mt50/7")))

    assert overview(replace(document(), tasks=(entry,)))["tasks"][0]["name"] == "mt50/7"


def test_one_task_comes_with_its_looks_oldest_first():
    found = one_task(document(), TASKS[0].id)

    assert (found["task"], found["looks"]) == ("mt50/0", 2)
    assert [look["step"] for look in found["scores"]] == [850, 900]
