"""A document that somebody has edited, and all that is wrong with it."""

import json
from typing import Any

import pytest

from etude.core.errors import ExitCode, StateError
from etude.curriculum.task_state_reading import document_from_json, document_from_text
from task_states import TASKS, document


def edited(**changes: Any) -> dict[str, Any]:
    """The document of four tasks with entries replaced by their address, e.g. tasks_1_status."""
    value = json.loads(document().to_text())
    for address, new in changes.items():
        *path, last = [int(word) if word.isdecimal() else word for word in address.split("__")]
        place: Any = value
        for word in path:
            place = place[word]
        place[last] = new
    return value


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        (
            {"tasks__3__status": "pased"},
            's.json:tasks[3].status is "pased", not untried, training, passed or exhausted',
            "The nearest is passed.",
        ),
        (
            {"tasks__1__id": "mt50/9"},
            's.json:tasks[1].id is "mt50/9", which is no task',
            "The nearest is mt50/3.",
        ),
        ({"tasks__1__id": 1}, "s.json:tasks[1].id is 1, not text that is not empty", ""),
        (
            {"tasks__1__id": "mt50/0"},
            's.json:tasks[1].id is "mt50/0", as is tasks[0].id',
            "",
        ),
        ({"tasks__0__spent": -1}, "s.json:tasks[0].spent is -1, not a number of at least 0", ""),
        (
            {"tasks__0__spent": True},
            "s.json:tasks[0].spent is true, not a number of at least 0",
            "",
        ),
        (
            {"tasks__0__budget": "all"},
            's.json:tasks[0].budget is "all", not a number of at least 0',
            "",
        ),
        (
            {"tasks__0__streak": 1.5},
            "s.json:tasks[0].streak is 1.5, not a whole number of at least 0",
            "",
        ),
        (
            {"tasks__0__since_step": "9"},
            's.json:tasks[0].since_step is "9", not a whole number',
            "",
        ),
        (
            {"tasks__1__proxy": True},
            's.json:tasks[1].proxy is true, but status is "training"',
            "Set it to false, or status to passed.",
        ),
        (
            {"tasks__0__scores__1__passed": 21},
            "s.json:tasks[0].scores[1].passed is 21, over trials (20.0)",
            "",
        ),
        (
            {"tasks__0__scores__1__kind": "rolout"},
            's.json:tasks[0].scores[1].kind is "rolout", not rollout or open_loop',
            "The nearest is rollout.",
        ),
        (
            {"tasks__0__scores__0": 0.25},
            "s.json:tasks[0].scores[0] is 0.25, not an object",
            "",
        ),
        ({"tasks__2": None}, "s.json:tasks[2] is null, not an object", ""),
        ({"dataset": "mt50"}, 's.json:dataset is "mt50", not an object', ""),
        ({"weights": ""}, 's.json:weights is "", not text that is not empty', ""),
        ({"step": -1}, "s.json:step is -1, not a whole number of at least 0", ""),
    ],
)
def test_a_fault_is_told_with_its_address_and_the_nearest_name(
    changes: dict[str, Any], message: str, hint: str
):
    with pytest.raises(StateError) as caught:
        document_from_json(edited(**changes), source="s.json", tasks=TASKS)

    told = str(caught.value).splitlines()
    assert message in [line.strip() for line in told]
    assert hint in (caught.value.hint, *(line.strip() for line in told)) or not hint
    assert caught.value.exit_code == ExitCode.USAGE
    assert caught.value.hint


def test_all_faults_are_told_at_once():
    value = edited(tasks__0__status="exausted", tasks__1__id="push-v3", tasks__3__spent="much")
    del value["tasks"][2]

    with pytest.raises(StateError) as caught:
        document_from_json(value, source="s.json", tasks=TASKS)

    assert str(caught.value) == (
        "s.json has 5 faults\n"
        '  s.json:tasks[0].status is "exausted", not untried, training, passed or exhausted\n'
        "    The nearest is exhausted.\n"
        '  s.json:tasks[2].spent is "much", not a number of at least 0\n'
        '  s.json:tasks[1].id is "push-v3", which is no task\n'
        "    The id of push-v3 is mt50/1.\n"
        "  s.json:tasks has no mt50/1 (push-v3)\n"
        "  s.json:tasks has no mt50/2 (door-open-v3)"
    )
    assert caught.value.hint == "Correct them, then read it again: etude tasks show s.json"


def test_a_misspelt_name_is_told_instead_of_being_kept_as_a_strange_one():
    value = edited()
    value["tasks"][0]["buget"] = value["tasks"][0].pop("budget")

    with pytest.raises(StateError, match=r"tasks\[0\]\.buget is no entry; budget is missing"):
        document_from_json(value, source="s.json")


def test_a_short_document_written_by_hand_is_enough():
    value = {
        "schema": "task-state/1",
        "step": 0,
        "weights": "w",
        "tasks": [{"id": "mt50/0", "status": "passed"}],
    }

    (entry,) = document_from_json(value, source="s.json").tasks

    assert (entry.task, entry.state.status, entry.name, entry.share) == (
        "mt50/0",
        "passed",
        "",
        None,
    )


@pytest.mark.parametrize("missing", ["step", "weights", "tasks"])
def test_an_entry_that_is_needed_is_missed(missing: str):
    value = edited()
    del value[missing]

    with pytest.raises(StateError, match=f"s.json:{missing} is missing"):
        document_from_json(value, source="s.json")


def test_tasks_are_judged_later_where_nobody_says_which_there_are():
    assert len(document_from_json(edited(tasks__1__id="other/1"), source="s.json").tasks) == 4


@pytest.mark.parametrize(
    ("written", "shown"), [("1e999", "Infinity"), ("1" + "0" * 400, "10{58}…")]
)
def test_a_number_too_large_to_be_one_is_refused(written: str, shown: str):
    text = document().to_text().replace('"spent": 9000.5', f'"spent": {written}')

    with pytest.raises(StateError, match=rf"tasks\[1\]\.spent is {shown}, not a number"):
        document_from_text(text, source="s.json")


def test_of_very_many_faults_the_first_are_told_and_the_rest_counted():
    row = {"id": "", "status": "passed"}
    value = edited(tasks=[{**row, "id": f"other/{number}"} for number in range(5000)])

    with pytest.raises(StateError) as caught:
        document_from_json(value, source="s.json", tasks=TASKS)

    told = str(caught.value).splitlines()
    assert told[0] == "s.json has 5004 faults"
    assert told[-1] == "  and 4,904 more"
