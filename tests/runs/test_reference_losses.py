"""Losses that a rule compares with come from a run or a file, or are refused."""

import json
from pathlib import Path
from typing import Any

import pytest

import adaptive_run
from adaptive_run import EASY, HARD, TASKS
from adaptive_toys import TASKS as TOYS
from adaptive_toys import etude, told, train
from etude.core.errors import ConfigError, DataError
from etude.core.ranks import Solo
from etude.core.types import TaskId
from etude.curriculum.rules_view import RuleView
from etude.events.recorder import Recorder
from etude.events.schema import AttemptStarted, TaskLosses
from etude.runs.reference_losses import read_references
from etude.testing.ranks import run_ranks


def write_run(folder: Path, *rows: tuple[int, list[float | None], list[int]]) -> str:
    """A run of three tasks that has logged these losses."""
    folder.mkdir()
    (folder / "run.json").write_text(
        json.dumps({"schema_version": 1, "tasks": [{"id": task.id} for task in TASKS]})
    )
    recorder = Recorder(folder / "events")
    recorder.emit(AttemptStarted(command="etude train", step=0))
    for step, losses, samples in rows:
        recorder.emit(TaskLosses(step=step, losses=losses, samples=samples))
    recorder.close()
    return str(folder)


def refusal(place: str, error: type[ConfigError] = ConfigError) -> ConfigError:
    with pytest.raises(error) as caught:
        read_references(place, TASKS, Solo())
    return caught.value


def test_a_run_is_averaged_over_the_last_quarter_of_its_steps(tmp_path: Path):
    place = write_run(
        tmp_path / "run",
        (25, [9.0, 9.0, 9.0], [5, 5, 5]),
        (75, [9.0, 9.0, 9.0], [5, 5, 5]),
        (90, [1.0, 4.0, None], [10, 10, 0]),
        (100, [2.0, float("nan"), None], [30, 10, 0]),
    )

    # (1 x 10 + 2 x 30) / 40; the second logged no number at the end, the third was not drawn.
    assert read_references(place, TASKS, Solo()) == {EASY: 1.75, HARD: 4.0}


def test_a_file_names_losses_by_the_ids_of_tasks(tmp_path: Path):
    path = tmp_path / "losses.json"
    path.write_text(json.dumps({EASY: 0.25, HARD: 1, "other/0": 3.0}))

    assert read_references(str(path), TASKS, Solo()) == {EASY: 0.25, HARD: 1.0}
    assert read_references("", TASKS, Solo()) == {}


def test_every_rank_is_told_what_the_first_has_read(tmp_path: Path):
    path = tmp_path / "losses.json"
    path.write_text(json.dumps({EASY: 0.25}))

    told_to = run_ranks(2, lambda ranks: read_references(str(path), TASKS, ranks))

    assert told_to == [{EASY: 0.25}, {EASY: 0.25}]


@pytest.mark.parametrize(
    ("losses", "message"),
    [
        ({EASY: "low"}, f"the loss of {EASY} is 'low', not a number of at least 0"),
        ({EASY: -0.5}, f"the loss of {EASY} is -0.5"),
        ({EASY: True}, f"the loss of {EASY} is True"),
        ({"x/0": 1.0}, "has a loss of none of the 3 tasks"),
        ({}, "has a loss of none of the 3 tasks"),
    ],
)
def test_a_file_without_usable_losses_is_refused(
    tmp_path: Path, losses: dict[str, Any], message: str
):
    path = tmp_path / "losses.json"
    path.write_text(json.dumps(losses))

    error = refusal(str(path))

    assert message in str(error)
    assert error.hint


def test_a_place_without_losses_is_refused(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "torn.json").write_text("{")

    assert "where there is nothing" in str(refusal(str(tmp_path / "nowhere")))
    assert "a folder that is no run" in str(refusal(str(tmp_path / "folder")))
    assert "has a loss of none" in str(refusal(write_run(tmp_path / "new")))
    with pytest.raises(DataError, match=r"torn\.json"):
        read_references(str(tmp_path / "torn.json"), TASKS, Solo())


class Overheard:
    """A rule that keeps what it was shown."""

    shaped = True

    def __init__(self) -> None:
        self.views: list[RuleView] = []

    def weights(self, view: RuleView) -> dict[TaskId, float]:
        self.views.append(view)
        return dict.fromkeys(view.states, 1.0)


def test_a_rule_sees_the_mean_losses_since_the_last_plan(tmp_path: Path):
    rule = Overheard()
    adaptive_run.train(tmp_path, steps=20, rule=rule)

    # Once for the plan and once for what could have been, at each of three plans.
    first, _, second, _, third, _ = rule.views
    assert first.losses == {}
    rows = {row["step"]: row for row in told(tmp_path, "task_losses")}
    for view, steps in ((second, (5, 10)), (third, (15, 20))):
        for place, task in enumerate(view.states):
            pairs = [(rows[s]["losses"][place], rows[s]["samples"][place]) for s in steps]
            mean = sum(loss * n for loss, n in pairs) / sum(n for _, n in pairs)
            assert view.losses[task] == pytest.approx(mean)


def test_a_run_by_excess_loss_compares_with_another_run(tmp_path: Path):
    train(tmp_path, "even", "--score.kind", "none", "--train.held_out_every", "20")
    flags = ("--steps", "40", "--curriculum.use", "excess_loss", "--curriculum.reference")

    run = train(tmp_path, "two", *flags, "even")

    plans = told(run, "plan_chosen")
    assert {row["rule"] for row in plans} == {"excess_loss"}
    assert max(plans[-1]["weights"]) > 1.2 / TOYS
    assert not [row for row in told(run, "warned") if "excess_loss" in row["message"]]
    refused = etude(tmp_path, "train", "recipe.toml", "--output_dir", "no", *flags, "nowhere")
    assert refused.code == 2
    assert "curriculum.reference is nowhere, where there is nothing" in refused.err


def test_excess_loss_without_a_reference_says_what_it_compares_with(tmp_path: Path):
    run = train(tmp_path, "one", "--steps", "20", "--curriculum.use", "excess_loss")

    assert any(
        row["message"].startswith("curriculum.use is excess_loss without curriculum.reference")
        for row in told(run, "warned")
    )
