from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from etude.core.errors import ConfigError, DataError, PolicyError
from etude.core.types import ActionChunk, Observation
from etude.testing.fakes import ToyPolicy
from evaluation_run import TASKS, rows, run


class Failing(ToyPolicy):
    """Returns chunks that cannot be played."""

    def __init__(self, fault: str) -> None:
        super().__init__(horizon=2, execute=2)
        self.fault = fault

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        chunks = super().act(observations, seed=seed)
        match self.fault:
            case "nan":
                return [replace(chunk, actions=chunk.actions * np.nan) for chunk in chunks]
            case "padding":
                return [replace(chunk, valid=np.zeros(2, np.bool_)) for chunk in chunks]
            case _:
                return chunks[:-1]


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("nan", "returned an action that is not finite for toy/0"),
        ("padding", "returned no valid action for toy/0"),
        ("short", "returned 4 chunks for 5 observations"),
    ],
)
def test_what_cannot_be_played_is_the_fault_of_the_policy(
    fault: str, complaint: str, tmp_path: Path
):
    with pytest.raises(PolicyError, match=complaint):
        run(tmp_path, policy=Failing(fault))


def test_no_task_is_an_error_before_anything_is_written(tmp_path: Path):
    with pytest.raises(ConfigError, match="tasks is empty"):
        run(tmp_path / "eval", tasks=())

    assert not (tmp_path / "eval").exists()


def test_a_task_that_is_named_twice_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="tasks holds toy/0 twice"):
        run(tmp_path, tasks=(TASKS[0], TASKS[1], TASKS[0]))


def test_a_task_without_an_instruction_is_refused_by_name(tmp_path: Path):
    with pytest.raises(DataError, match="toy/0 has no instruction"):
        run(tmp_path, tasks=(replace(TASKS[0], text=""),))


def test_an_instruction_that_training_did_not_use_is_given_and_warned_of(tmp_path: Path):
    warnings: list[str] = []
    drawer = replace(TASKS[0], name="drawer-open", text="Open the drawer.")

    run(
        tmp_path,
        tasks=(drawer, TASKS[1], TASKS[2]),
        known_texts={TASKS[0].id: "open drawer", TASKS[1].id: "do task 1"},
        warnings=warnings,
    )

    assert warnings == [
        "toy/0 (drawer-open) is told 'Open the drawer.', but was trained with 'open drawer'",
        "toy/2 (task-2) was not in the training data",
    ]
    assert {row["instruction"] for row in rows(tmp_path) if row["task_id"] == "toy/0"} == {
        "Open the drawer."
    }
