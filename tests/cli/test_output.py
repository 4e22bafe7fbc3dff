"""Results as tables for people and one JSON object for programs."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from etude.cli.output import fields_text, json_text, plain, success_text
from etude.core.statistics import wilson

COUNTS = {
    "reach-v3": ("easy", 20, 20),
    "button-press-topdown-wall-v3": ("easy", 19, 20),
    "push-v3": ("hard", 7, 20),
    "disassemble-v3": ("very_hard", 0, 0),
}


def result() -> dict[str, Any]:
    tasks: list[dict[str, Any]] = []
    for index, (name, (group, k, n)) in enumerate(COUNTS.items()):
        interval = wilson(k, n)
        tasks.append(
            {
                "id": f"mt50/{index}",
                "name": name,
                "group": group,
                "successes": k,
                "trials": n,
                "rate": interval.rate,
                "low": interval.low,
                "high": interval.high,
            }
        )
    success = {
        "mean": 0.766666,
        "n": 60,
        "tasks": 3,
        "low": 0.69,
        "high": 0.84,
        "pooled": {"k": 46, "n": 60, "rate": 0.766666},
        "groups": {"easy": 0.975, "hard": 0.35},
        "macro4": 0.6625,
        "worst5": 0.766666,
        "worst5_tasks": ["mt50/2", "mt50/1"],
    }
    return {
        "success": success,
        "per_task": tasks,
        "errors": 2,
        "report": "runs/x/report.html",
        "seconds": 754.2,
    }


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_table_shows_every_task_with_counts_and_interval(
    language: str, golden: Callable[[str, str], None]
) -> None:
    text = success_text(result(), language)

    golden(f"success_{language}.txt", text + "\n")
    table = text.partition("\n\n")[0].splitlines()
    assert max(cell_len(line) for line in table) <= 80


def test_an_evaluation_without_a_finished_episode_has_no_rate() -> None:
    success = {"mean": None, "n": 0, "tasks": 0, "low": None, "high": None}

    assert success_text({"success": success}, "en") == "no episode was finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    folder: Path
    steps: int
    loss: float


def test_a_dataclass_becomes_one_json_object() -> None:
    text = json_text(Outcome(folder=Path("runs/x"), steps=3, loss=float("nan")))

    assert json.loads(text) == {
        "schema_version": 1,
        "folder": "runs/x",
        "steps": 3,
        "loss": None,
    }


class Summary:
    def to_json(self) -> dict[str, object]:
        return {"schema_version": 1, "paths": [Path("a")]}


def test_a_value_that_knows_its_json_is_asked() -> None:
    assert plain(Summary()) == {"schema_version": 1, "paths": ["a"]}


def test_plain_fields_are_printed_one_a_line() -> None:
    plan = {"folder": "runs/x", "tasks": ["a", "b"], "demos": {"to_record": 50}, "none": None}

    assert fields_text(plan) == ("folder: runs/x\ntasks: a, b\ndemos:\n  to record: 50\nnone: -")
