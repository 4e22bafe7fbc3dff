"""What a person reads after `etude scan tasks`."""

from typing import Any

import pytest
from rich.cells import cell_len

from etude.cli.output import figure
from etude.cli.scan_tasks_text import scan_text
from etude.simulators.groups import DIFFICULTY_GROUPS

RECORD = "runs/mt50/scans/tasks-step-00001000-0f3a5c7e91.jsonl.zst"


def task(name: str, pass_rate: float, **fields: Any) -> dict[str, Any]:
    return {
        "task": f"toy/{name}",
        "name": name,
        "windows": 8,
        "of": 1200,
        "gmse": 0.125,
        "groups": {"arm": 0.25, "gripper": 0.0},
        "pass_rate": pass_rate,
        "interval": [0.1, 0.6],
        "verdict": "undecided",
        "trained_on": False,
        **fields,
    }


def result(*tasks: dict[str, Any], complete: bool = True, record: str = RECORD) -> dict[str, Any]:
    return {
        "tasks": list(tasks),
        "inferences": 1000,
        "recalled": 5,
        "complete": complete,
        "record": record,
    }


def test_the_table_has_the_least_passing_task_last():
    text = scan_text(result(task("push", 0.25), task("reach", 1.0, verdict="pass")), "en")

    assert text.splitlines()[:3] == [
        "task   verdict    n   GMSE    arm  gripper  passed   95 %",
        "reach  pass       8  0.125  0.250    0.000   100 %  10-60",
        "push   undecided  8  0.125  0.250    0.000    25 %  10-60",
    ]


def test_windows_are_counted_below_the_table():
    text = scan_text(result(task("push", 0.25), task("reach", 1.0)), "en")

    assert "n: windows scored, 16 of 2,400." in text


@pytest.mark.parametrize(
    ("language", "proxy", "partial"),
    [("en", "a proxy of success", "Not complete"), ("zh", "替代指标", "未完成")],
)
def test_a_proxy_is_called_one_and_a_part_a_part(language: str, proxy: str, partial: str):
    whole = scan_text(result(task("push", 0.25)), language)
    part = scan_text(result(task("push", 0.25), complete=False), language)

    assert proxy in whole
    assert partial not in whole
    assert partial in part
    assert "1,000" in whole


def test_a_task_that_was_scanned_on_training_episodes_is_marked():
    text = scan_text(result(task("push", 0.25, trained_on=True), task("reach", 0.5)), "en")

    assert "\npush*  undecided" in text
    assert "* has no held-out episode" in text


def test_a_scan_of_nothing_has_a_table_of_nothing():
    assert scan_text(result(), "en").startswith("task  verdict")


def test_the_record_is_named_where_there_is_one():
    assert scan_text(result(task("push", 0.25)), "en").endswith(f"\nRecord: {RECORD}")
    assert "Record" not in scan_text(result(task("push", 0.25), record=""), "en")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_fifty_tasks_with_the_longest_names_and_numbers_fit_80_columns(language: str):
    names = [name for members in DIFFICULTY_GROUPS.values() for name in members]
    wide = {
        "windows": 1200,
        "gmse": 123.456,
        "groups": {"arm": 12.3456, "gripper": 1234.5},
        "interval": [0.873, 1.0],
        "trained_on": True,
    }

    text = scan_text(result(*(task(name, 1.0, **wide) for name in names), complete=False), language)

    assert len(names) == 50
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert "button-press-topdown-wall-v3*" in text
    assert "gripper" in text.splitlines()[0]


def test_groups_for_which_a_terminal_is_too_narrow_are_left_to_json():
    groups = {"left_arm": 0.5, "left_gripper": 0.5, "right_arm": 0.5, "right_gripper": 0.5}

    text = scan_text(result(task("button-press-topdown-wall-v3", 0.5, groups=groups)), "en")

    assert text.splitlines()[0].split() == ["task", "verdict", "n", "GMSE", "passed", "95", "%"]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0, "0.000"),
        (0.12345, "0.123"),
        (9.9996, "10.00"),
        (12.345, "12.35"),
        (999.96, "1000"),
        (99999.4, "99999"),
        (123456.0, "1.2e+05"),
    ],
)
def test_figures_take_little_room(value: float, told: str):
    assert figure(value) == told
