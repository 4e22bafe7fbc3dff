from typing import Any

import pytest

from etude.cli.main import main
from etude.cli.scan_commands import scan_text


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


def result(*tasks: dict[str, Any], complete: bool = True) -> dict[str, Any]:
    return {"tasks": list(tasks), "inferences": 1000, "recalled": 5, "complete": complete}


def test_the_table_has_the_least_passing_task_last():
    text = scan_text(result(task("push", 0.25), task("reach", 1.0, verdict="pass")), "en")

    head, reach, push = text.splitlines()[:3]
    assert head.split()[:4] == ["task", "verdict", "windows", "GMSE"]
    assert " ".join(reach.split()) == (
        "reach pass 8 of 1,200 0.125 arm 0.250, gripper 0.000 100.0 % 10.0 - 60.0"
    )
    assert push.startswith("push   undecided  8 of 1,200")


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

    assert "\npush *  undecided" in text
    assert "* has no held-out episode" in text


def test_a_scan_of_nothing_has_a_table_of_nothing():
    assert scan_text(result(), "en").startswith("task  verdict")


@pytest.mark.parametrize(("language", "said"), [("en", "task by task"), ("zh", "逐个任务")])
def test_help_says_what_a_scan_does(language: str, said: str, capsys: pytest.CaptureFixture[str]):
    assert main(["scan", "tasks", "--help", "--lang", language]) == 0

    assert said in capsys.readouterr().out
