"""Runs that adapt, from the command line: alone, on two ranks, and from the weights of another."""

import json
import shutil
from pathlib import Path

import pytest

from adaptive_life import etude, told, train
from etude.curriculum.task_state_reading import document_from_text

UNSCORED = ("--score.kind", "none", "--train.held_out_every", "20")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with demonstrations and one finished run."""
    folder = tmp_path_factory.mktemp("trained")
    assert etude(folder, "demos", "recipe.toml").returncode == 0
    train(folder)
    return folder


@pytest.fixture
def beside(trained: Path, tmp_path: Path) -> Path:
    """A folder with the same demonstrations and run, to be changed at will."""
    shutil.copytree(trained, tmp_path / "copy")
    return tmp_path / "copy"


def test_tasks_are_scored_and_planned_for_while_training(trained: Path):
    run = trained / "runs/recipe"

    scores = told(run, "task_scores")
    assert [row["step"] for row in scores] == [10, 20, 30, 40]
    assert {row["by"] for row in scores} == {"open_loop"}
    assert all(0.0 < score < 3.0 for row in scores for score in row["scores"])
    run_id = json.loads((run / "run.json").read_text())["run_id"]
    assert scores[0]["weights"] == f"{run_id}@10"
    plans = told(run, "plan_chosen")
    assert [(row["step"], row["from_step"]) for row in plans] == [(0, 0), (20, 25), (40, 45)]


def test_the_states_can_be_shown_as_those_of_the_newest_weights(trained: Path):
    shown = etude(trained, "tasks", "show", "runs/recipe", "--json")

    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout)["step"] == 40


def test_two_ranks_find_and_plan_the_same_as_one(trained: Path, beside: Path):
    run = train(beside, "--output_dir", "two", ranks=2)

    alone = trained / "runs/recipe"
    for ours, theirs in zip(told(run, "task_scores"), told(alone, "task_scores"), strict=True):
        assert ours["scores"] == pytest.approx(theirs["scores"], rel=1e-4)
    assert [row["weights"] for row in told(run, "plan_chosen")] == [
        pytest.approx(row["weights"], rel=1e-3) for row in told(alone, "plan_chosen")
    ]
    assert {row["rank"] for row in told(run, "task_scores")} == {0}


def test_a_run_of_two_ranks_goes_on_with_one(beside: Path):
    train(beside, "--output_dir", "two", "--steps", "20", "--train.final_lr", "0.5", ranks=2)

    run = train(beside, "--output_dir", "two", "--resume", "--train.final_lr", "0.5")

    assert [row["step"] for row in told(run, "task_scores")] == [10, 20, 30, 40]
    assert [row["step"] for row in told(run, "attempt_started")] == [0, 20]


@pytest.mark.parametrize("place", ["", "/hf"])
def test_a_run_that_begins_with_other_weights_takes_their_states_and_looks_first(
    beside: Path, place: str
):
    init = f"runs/recipe/checkpoints/step-00000040{place}"

    run = train(beside, "--output_dir", "next", "--init", init)

    before = document_from_text(
        (beside / init / "task_state.json").read_text(), source="the document"
    )
    first = told(run, "task_scores")[0]
    assert (first["step"], first["weights"]) == (0, before.weights)
    after = document_from_text(
        (run / "checkpoints/step-00000020/task_state.json").read_text(), source="the document"
    )
    for task, state in before.states.items():
        looks = [each.step for each in after.states[task].history]
        assert looks[: len(state.history)] == [each.step - 40 for each in state.history]


def test_weights_that_are_not_there_are_named(beside: Path):
    done = etude(beside, "train", "recipe.toml", "--output_dir", "next", "--init", "nowhere")

    assert done.returncode == 2
    assert "init is nowhere, where there is no folder" in done.stderr
    assert not (beside / "next/run.json").exists()


def test_weights_of_another_shape_are_named(beside: Path):
    init = "runs/recipe/checkpoints/step-00000040"

    done = etude(
        beside, "train", "recipe.toml", "--output_dir", "n", "--init", init, "--policy.width", "16"
    )

    assert done.returncode == 1
    assert "tensors that this policy has not or in another shape" in done.stderr


def test_without_scores_nothing_is_written_about_tasks(beside: Path):
    run = train(beside, "--output_dir", "plain", *UNSCORED)

    assert told(run, "plan_chosen") == told(run, "task_scores") == []
    assert not (run / "ledger.jsonl").exists()
    assert not (run / "checkpoints/step-00000040/task_state.json").exists()


def test_task_states_that_nothing_would_look_at_are_refused(beside: Path):
    done = etude(
        beside,
        *("train", "recipe.toml", "--output_dir", "plain", *UNSCORED),
        *("--task-state", "states.json"),
    )

    assert done.returncode == 2
    assert '--task-state is states.json, but score.kind is "none"' in done.stderr
    assert not (beside / "plain").exists()
