"""What a person reads after `etude tasks`."""

from dataclasses import replace
from typing import Any

import pytest
from rich.cells import cell_len

from etude.cli.output import plain
from etude.cli.tasks_text import changes_text, states_text, task_text
from etude.core.types import Task, TaskId
from etude.curriculum.states import TaskState
from etude.curriculum.task_state import TaskStateDocument, make_document
from etude.curriculum.task_state_adopt import mark_stale
from etude.curriculum.task_state_changes import difference, mark, reset
from etude.curriculum.task_state_overview import one_task, overview
from etude.simulators.groups import DIFFICULTY_GROUPS
from task_states import TASKS, document, states


def shown(states: TaskStateDocument) -> dict[str, Any]:
    return {"document": "runs/mt50/states.json", **overview(states)}


def compared(old: TaskStateDocument, new: TaskStateDocument) -> dict[str, Any]:
    return plain({"old": "a.json", "new": "b.json", "changes": difference(old, new)})


def fifty() -> TaskStateDocument:
    """The states of all fifty tasks, with numbers as long as they get."""
    names = [name for group in DIFFICULTY_GROUPS.values() for name in group]
    tasks = [
        Task(id=TaskId(f"mt50/{place}"), index=place, name=name, text="")
        for place, name in enumerate(names)
    ]
    reach = next(iter(states().values()))
    found = {
        task.id: mark_stale(replace(reach, task=task.id, since_step=123_456)) for task in tasks
    }
    return replace(
        document(weights="f" * 64),
        tasks=make_document(
            found, tasks, None, run_id="", step=0, weights="w", dataset=document().dataset, rule=""
        ).tasks,
    )


def test_the_table_has_the_tasks_in_work_first_with_their_reasons():
    assert states_text(shown(document()), "en") == (
        "task            status          since  passed  trials   share  why\n"
        "door-open-v3    untried             0       -       -  25.0 %\n"
        "push-v3         training           50    40 %       5  50.0 %  no score, 3 fail…\n"
        "disassemble-v3  exhausted         800    0 %~      20  12.5 %  spent 13000 of 1…\n"
        "reach-v3        passed (proxy)    900   95 %~      20  12.5 %  19.0 of 20.0 win…\n"
        "\n"
        "Tasks: 4 (untried 1, training 1, exhausted 1, passed 1)\n"
        "No score: push-v3 (3 failures)\n"
        "~ by windows, a proxy of success; only episodes measure it\n"
        "All about one task: --task NAME\n"
        "Step 1,000, weights w1000\n"
        "Document: runs/mt50/states.json"
    )


def test_scores_of_other_weights_are_marked():
    found = document()
    first = replace(found.tasks[1], state=mark_stale(found.tasks[1].state))

    text = states_text(shown(replace(found, tasks=(first,))), "en")

    assert "  40 %*  " in text
    assert "\n* of other weights; it decides nothing" in text


def test_of_many_tasks_without_a_score_the_worst_are_named():
    failed = [
        replace(entry, state=replace(entry.state, failures=1 + place % 7))
        for place, entry in enumerate(fifty().tasks)
    ]

    text = states_text(shown(replace(document(), tasks=tuple(failed))), "zh")

    (line,) = (each for each in text.splitlines() if each.startswith("没有得分"))
    assert line.count("（失败 7 次）") == 5
    assert line.endswith("另有 45 个")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_tables_of_fifty_tasks_fit_80_columns(language: str):
    passed = states_text(shown(fifty()), language)
    changed = changes_text(compared(fifty(), reset(fifty(), TaskId("mt50/3"))), language)

    assert max(cell_len(line) for line in passed.split("\n\n")[0].splitlines()) <= 80
    assert max(cell_len(line) for line in changed.splitlines()) <= 80


def test_states_are_told_in_chinese():
    text = states_text(shown(document()), "zh")

    assert "已通过（替代）" in text
    assert "没有得分，失败 3 次" in text


def test_one_task_is_told_with_all_its_looks():
    text = task_text(one_task(document(), TASKS[0].id), "en")

    assert "reason: 19.0 of 20.0 windows passed" in text
    table = text.split("\n\n")[1].splitlines()
    assert [line.split() for line in table] == [
        ["step", "kind", "passed", "trials", "score", "stale", "weights"],
        ["850", "open_loop", "17.5", "20.0", "0.250", "mt50-1a2b@850"],
        ["900", "open_loop", "19.0", "20.0", "0.250", "mt50-1a2b@900"],
    ]


def test_a_task_that_was_never_looked_at_says_so():
    assert task_text(one_task(document(), TASKS[2].id), "en").endswith("It was never looked at")


def test_changes_are_one_line_a_task_with_only_what_changed():
    old = document()
    fewer = replace(old.tasks[0], share=0.25)
    new = replace(document(step=1100), tasks=(fewer, *old.tasks[1:3]))

    assert changes_text(compared(old, mark(new, TASKS[1].id, "passed")), "en") == (
        "step: 1000 → 1100\n"
        "task            status                   passed          share\n"
        "reach-v3                                         12.5 %→25.0 %\n"
        "push-v3         training→passed\n"
        "disassemble-v3  only before (exhausted)\n"
        "\n"
        "--json tells every entry that differs"
    )


def test_a_reset_shows_what_was_known_before():
    text = changes_text(compared(document(), reset(document(), TASKS[0].id)), "en")

    assert "passed (proxy)→untried  95 %→-" in text


def test_other_data_are_shown_on_one_line():
    new = document(dataset=replace(document().dataset, identity="d2"))

    assert changes_text(compared(document(), new), "en") == (
        "dataset: etude/mt50 d1 → etude/mt50 d2"
    )


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "The two say the same about every task"), ("zh", "两者对每个任务的说法相同")],
)
def test_equal_documents_are_said_to_be_equal(language: str, said: str):
    assert changes_text(compared(document(), document()), language) == said


def test_a_document_of_no_tasks_has_an_empty_table():
    assert states_text(shown(replace(document(), tasks=())), "en").startswith("task  status")


def test_a_task_without_a_name_is_told_by_its_id():
    state = TaskState(task=TaskId("mt50/9"))
    found = replace(document(), tasks=(replace(document().tasks[0], state=state, name=""),))

    assert "\nmt50/9  untried" in states_text(shown(found), "en")
