"""From `dcp/`, from `hf/` alone, from a document alone, from nothing: how a run goes on."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from adaptive_toys import DOUBTFUL, PASSING, TASKS, etude, told, train
from etude.curriculum.task_state import TaskStateDocument
from etude.runs.task_documents import read_document

LAST = "one/checkpoints/step-00000060"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of 60 steps in which 15 of 20 tasks have passed."""
    folder = tmp_path_factory.mktemp("trained")
    train(folder, "one", "--steps", "60")
    return folder


@pytest.fixture
def beside(trained: Path, tmp_path: Path) -> Path:
    """A folder with the same data and run, to be changed at will."""
    shutil.copytree(trained, tmp_path / "copy")
    return tmp_path / "copy"


def looks(run: Path, *, since: int = 0) -> dict[int, int]:
    """How many tasks were looked at, by step."""
    return {
        row["step"]: sum(trials is not None for trials in row["trials"])
        for row in told(run, "task_scores")
        if row["step"] >= since
    }


def states_at(run: Path, step: int) -> TaskStateDocument:
    return read_document(run / f"checkpoints/step-{step:08d}/task_state.json")


def statuses(run: Path, step: int) -> Counter[str]:
    return Counter(state.status for state in states_at(run, step).states.values())


def test_fifteen_tasks_pass_and_are_looked_at_less(trained: Path):
    run = trained / "one"

    assert statuses(run, 60) == {"passed": PASSING, "training": DOUBTFUL}
    doubt = (
        f"{DOUBTFUL} tasks have fewer than 3 held-out episodes (toys/15 has 1): windows steer "
        "what is practised, but these cannot pass by them"
    )
    assert [row["message"] for row in told(run, "warned")] == [doubt]
    # All pass at step 20, are looked at after one scan more, and then after two.
    few = DOUBTFUL
    assert looks(run) == {10: TASKS, 20: TASKS, 30: TASKS, 40: few, 50: TASKS, 60: few}


def test_from_dcp_a_run_goes_on_as_if_it_had_not_stopped(trained: Path, beside: Path):
    shutil.rmtree(beside / LAST)

    run = train(beside, "one", "--steps", "60", "--resume")

    assert [row["step"] for row in told(run, "attempt_started")] == [0, 40]
    assert looks(run, since=41) == {50: TASKS, 60: DOUBTFUL}
    assert states_at(run, 60) == states_at(trained / "one", 60)


def test_from_an_export_alone_passed_tasks_stay_passed_and_only_others_are_looked_at(
    trained: Path, tmp_path: Path
):
    shutil.copytree(trained / "data", tmp_path / "data")
    shutil.copytree(trained / LAST / "hf", tmp_path / "export")

    run = train(tmp_path, "two", "--init", "export", "--steps", "30")

    assert looks(run)[0] == DOUBTFUL
    rows = [row["trials"] for row in told(run, "task_scores")]
    times = [sum(trials is not None for trials in of_task) for of_task in zip(*rows, strict=True)]
    assert max(times[:PASSING]) == 1
    assert min(times[PASSING:]) >= 3
    assert statuses(run, 30)["passed"] == PASSING
    first = told(run, "task_scores")[0]
    assert first["weights"] == states_at(trained / "one", 60).weights
    plan = told(run, "plan_chosen")[0]
    assert (plan["step"], plan["from_step"]) == (0, 0)
    passed, rest = plan["weights"][:PASSING], plan["weights"][PASSING:]
    assert max(rest) > 4 * max(passed)


def test_from_a_document_alone_its_weights_must_be_accepted_and_all_is_looked_at_again(
    trained: Path, tmp_path: Path
):
    shutil.copytree(trained / "data", tmp_path / "data")
    shutil.copy(trained / LAST / "task_state.json", tmp_path / "states.json")
    flags = ("--task-state", "states.json", "--steps", "20")

    refused = etude(tmp_path, "train", "recipe.toml", "--output_dir", "no", *flags)
    run = train(tmp_path, "three", *flags, "--accept-weights-mismatch")

    assert refused.code == 2
    assert "states.json:weights is " in refused.err
    assert "but the loaded weights are " in refused.err
    assert looks(run)[0] == TASKS
    assert any("is of other weights" in row["message"] for row in told(run, "warned"))
    # What passed elsewhere is kept and shown until these weights say otherwise, which they do not.
    assert statuses(run, 20)["passed"] == PASSING
    history = next(iter(states_at(run, 20).states.values())).history
    assert [look.stale for look in history] == [look.step < 0 for look in history]


def test_from_nothing_all_tasks_are_untried_and_drawn_alike(trained: Path, tmp_path: Path):
    shutil.copytree(trained / "data", tmp_path / "data")

    run = train(tmp_path, "four", "--steps", "20")

    assert looks(run) == {10: TASKS, 20: TASKS}
    assert told(run, "plan_chosen")[0]["weights"] == pytest.approx([1 / TASKS] * TASKS)
    first = [row for row in told(run, "task_transition") if row["step"] == 10]
    assert {(row["before"], row["after"]) for row in first} == {("untried", "training")}


def test_weights_with_states_of_a_later_step_cannot_be_made_with_the_tool(beside: Path):
    run = beside / "one"
    earlier, later = (run / f"checkpoints/step-{step:08d}" for step in (20, 40))

    exported = etude(beside, "tasks", "export", str(later), str(earlier / "states.json"))

    assert exported.code == 2
    assert f"{earlier / 'states.json'} is sealed with the weights in {earlier}" in exported.err
    for folder in (earlier, later):
        document = json.loads((folder / "task_state.json").read_text())
        manifest = json.loads((folder / "MANIFEST.json").read_text())
        assert document["weights"] == manifest["weights"]


def test_weights_with_states_of_a_later_step_put_there_by_hand_are_refused(beside: Path):
    run = beside / "one"
    earlier, later = (run / f"checkpoints/step-{step:08d}" for step in (20, 40))
    shutil.copy(later / "task_state.json", earlier / "task_state.json")
    for other in (later, run / "checkpoints/step-00000060"):
        shutil.rmtree(other)

    resumed = etude(beside, "train", "recipe.toml", "--output_dir", "one", "--resume")
    begun = etude(
        beside, "train", "recipe.toml", "--output_dir", "new", "--init", str(earlier.resolve())
    )

    assert resumed.code == 4
    assert f"{earlier.relative_to(beside)} is damaged: task_state.json has" in resumed.err
    assert begun.code == 2
    assert "was edited, but it is sealed with the weights beside it" in begun.err
    assert "--task-state FILE" in begun.err


def test_weights_with_the_document_of_a_later_step_are_refused(beside: Path):
    run = beside / "one"
    earlier, later = (run / f"checkpoints/step-{step:08d}" for step in (20, 40))
    shutil.copy(later / "task_state.json", beside / "later.json")
    theirs = json.loads((earlier / "MANIFEST.json").read_text())["weights"]
    told_by = json.loads((beside / "later.json").read_text())["weights"]
    for other in (later, run / "checkpoints/step-00000060"):
        shutil.rmtree(other)

    done = etude(
        beside,
        *("train", "recipe.toml", "--output_dir", "one", "--resume"),
        *("--task-state", "later.json"),
    )

    assert done.code == 2
    assert done.err == (
        f"error: later.json:weights is {told_by}, but the loaded weights are {theirs}\n"
        "hint: Name the document of these weights, or add --accept-weights-mismatch to keep the "
        "history and look at every task again.\n"
    )


def test_an_export_with_the_document_of_a_later_step_is_refused(trained: Path, tmp_path: Path):
    shutil.copytree(trained / "data", tmp_path / "data")
    earlier = trained / "one/checkpoints/step-00000020/hf"
    shutil.copytree(earlier, tmp_path / "export")
    shutil.copy(trained / LAST / "hf/task_state.json", tmp_path / "export")

    done = etude(tmp_path, "train", "recipe.toml", "--output_dir", "new", "--init", "export")

    assert done.code == 2
    assert "export/task_state.json:weights is " in done.err
    assert "but the loaded weights are " in done.err
