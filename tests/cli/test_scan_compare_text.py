"""What a person reads after `etude scan compare`."""

from typing import Any

import pytest
from rich.cells import cell_len

from etude.cli.scan_compare_text import comparison_text
from etude.simulators.groups import DIFFICULTY_GROUPS


def task(name: str, verdict: str, **fields: Any) -> dict[str, Any]:
    return {
        "task": f"toy/{name}",
        "name": name,
        "pairs": 32,
        "only_a": 0,
        "only_b": 4,
        "before": 0.5,
        "after": 0.25,
        "ratio": 0.5,
        "interval": [0.4, 0.625],
        "passed_before": 12,
        "passed_after": 15,
        "verdict": verdict,
        **fields,
    }


def result(*tasks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    scan = {"record": "runs/mt50/scans/tasks-step-00001000-0f3a5c7e91.jsonl.zst", "complete": True}
    return {
        "a": {**scan, "step": 1000},
        "b": {**scan, "step": 2000},
        "tasks": list(tasks),
        "overall": {
            "tasks": len(tasks),
            "pairs": 1600,
            "only_a": 0,
            "only_b": 120,
            "ratio": 0.5,
            "interval": [0.4, 0.625],
            "passed_before": 1200,
            "passed_after": 1300,
            "better": 1,
            "worse": 1,
            "unresolved": 1,
        },
        **fields,
    }


def test_the_table_has_the_tasks_that_got_worse_last():
    text = comparison_text(
        result(
            task("push", "worse", ratio=1.2, interval=[1.1, 1.31]),
            task("reach", "better"),
            task("pull", "unresolved", ratio=1.01, interval=None),
        ),
        "en",
    )

    assert text.splitlines()[:4] == [
        "task   verdict      n  before  after  ratio       95 %  passed",
        "reach  better      32   0.500  0.250   0.50  0.40-0.62   12→15",
        "pull   unresolved  32   0.500  0.250   1.01          -   12→15",
        "push   worse       32   0.500  0.250   1.20  1.10-1.31   12→15",
    ]


def test_what_was_compared_and_how_is_said_below():
    text = comparison_text(result(task("push", "worse")), "en")

    assert "Mean ratio of 1 tasks: 0.50, 95 % interval 0.40-0.62" in text
    assert "Tasks: 1 better, 1 unresolved, 1 worse" in text
    assert "Windows: 1,600 in both scans (n), 0 only in the first, 120 in the second" in text
    assert "Passed, of those in both: 1,200 before, 1,300 after" in text
    assert "GMSE is a proxy of success" in text
    assert "Holm's correction" in text
    assert "Before: step 1,000, runs/mt50/scans/tasks-step-00001000-" in text


def test_a_scan_that_was_not_complete_is_said_to_be_a_part():
    whole = result(task("push", "worse"))

    part = comparison_text({**whole, "b": {**whole["b"], "complete": False}}, "en")

    assert "(not complete)" not in comparison_text(whole, "en")
    assert part.splitlines()[-1].endswith(".jsonl.zst (not complete)")


def test_a_task_without_pairs_has_marks_for_numbers():
    nothing = {"pairs": 0, "before": None, "after": None, "ratio": None, "interval": None}

    text = comparison_text(
        result(task("push", "unresolved", **nothing), task("reach", "better")), "en"
    )

    assert text.splitlines()[2].split() == ["push", "unresolved", "0", "-", "-", "-", "-", "-"]


def test_a_ratio_of_nothing_is_not_told():
    whole = result(task("push", "unresolved"))
    overall = {**whole["overall"], "ratio": None, "interval": None}

    assert "Mean ratio" not in comparison_text({**whole, "overall": overall}, "en")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_fifty_tasks_with_the_longest_names_and_numbers_fit_80_columns(language: str):
    names = [name for members in DIFFICULTY_GROUPS.values() for name in members]
    wide = {
        "pairs": 128,
        "before": 12.3,
        "after": 0.123,
        "ratio": 0.01,
        "passed_before": 100,
        "passed_after": 128,
    }
    text = comparison_text(result(*(task(name, "unresolved", **wide) for name in names)), language)

    told = [line for line in text.splitlines() if ".jsonl.zst" not in line]
    assert len(names) == 50
    assert max(cell_len(line) for line in told) <= 80
    assert "button-press-topdown-wall-v3 " in text
