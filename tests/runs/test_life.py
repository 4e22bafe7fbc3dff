import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import commands
from commands import Done
from etude.core.kill_points import VARIABLE

SETTINGS = """
steps = 30
batch_size = 32
[simulator]
tasks = ["reach-v3", "button-press-v3"]
[dataset]
root = "data"
[demos]
episodes = 2
noise = 0.0
[policy]
width = 32
blocks = 1
[train]
warmup_steps = 5
log_every = 10
held_out_every = 10
[save]
every = 10
keep_last = 2
[eval]
n_episodes = 2
max_steps = 40
"""


def etude(folder: Path, *words: str, kill_at: str = "") -> Done:
    """Run the command in `folder`, with `recipe.toml` there."""
    (folder / "recipe.toml").write_text(SETTINGS)
    return commands.etude(folder, *words, variables={VARIABLE: kill_at} if kill_at else {})


def run(folder: Path, *flags: str, kill_at: str = "") -> Done:
    return etude(folder, "run", "recipe.toml", "--json", *flags, kill_at=kill_at)


def told(done: Done) -> dict[str, Any]:
    """What a run says about success; times and the place of the report aside."""
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    return {name: result[name] for name in ("eval_id", "success", "per_task", "errors", "steps")}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder in which a whole run has ended, and what it said."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, told(run(folder))


def test_a_run_goes_from_nothing_to_a_report(finished: tuple[Path, dict[str, Any]]):
    folder, result = finished
    root = folder / "runs/recipe"

    assert result["success"]["n"] == 4
    assert (root / "report.html").stat().st_size > 10_000
    assert [task["trials"] for task in result["per_task"]] == [2, 2]
    names = {path.name for path in root.iterdir()}
    assert names >= {
        "run.json", "config.resolved.toml", "env.json", "data.json",
        "events", "checkpoints", "eval", "report.html",
    }  # fmt: skip
    assert (folder / "data/meta/info.json").exists()


@pytest.mark.parametrize(
    "kill_at",
    [
        "demos.task_written:1",
        pytest.param("demos.merged", marks=pytest.mark.slow),
        "train.step_done:25",
        "save.files_written:2",
        pytest.param("save.renamed:3", marks=pytest.mark.slow),
        pytest.param("eval.manifest_written", marks=pytest.mark.slow),
        "eval.row_written:2",
        pytest.param("eval.info_written", marks=pytest.mark.slow),
    ],
)
def test_a_run_that_was_killed_ends_with_the_same_result(
    tmp_path: Path, kill_at: str, finished: tuple[Path, dict[str, Any]]
):
    folder, result = finished
    if not kill_at.startswith("demos"):
        shutil.copytree(folder / "data", tmp_path / "data")
    killed = run(tmp_path, "--resume", kill_at=kill_at)
    assert killed.returncode != 0

    assert told(run(tmp_path, "--resume")) == result


def test_a_finished_run_repeats_nothing(finished: tuple[Path, dict[str, Any]]):
    folder, result = finished
    before = {p: p.stat().st_mtime_ns for p in (folder / "runs/recipe/checkpoints").rglob("*")}

    again = run(folder, "--resume")

    after = {p: p.stat().st_mtime_ns for p in (folder / "runs/recipe/checkpoints").rglob("*")}
    assert told(again) == result
    assert after == before


def test_a_used_folder_is_refused_and_left_alone(finished: tuple[Path, dict[str, Any]]):
    folder, _ = finished
    before = {p: p.stat().st_mtime_ns for p in (folder / "runs").rglob("*")}

    refused = run(folder)

    assert refused.returncode == 2
    assert "runs/recipe already holds a run" in refused.stderr
    assert "--resume" in refused.stderr
    assert {p: p.stat().st_mtime_ns for p in (folder / "runs").rglob("*")} == before


@pytest.mark.parametrize("kind", ["weights", "notes"])
def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path, kind: str):
    held = {"weights": "checkpoints/model.safetensors", "notes": "notes.txt"}[kind]
    path = tmp_path / "runs/recipe" / held
    path.parent.mkdir(parents=True)
    path.write_text("mine")

    refused = run(tmp_path)

    assert refused.returncode == 2
    assert f"already holds {held.partition('/')[0]}" in refused.stderr
    assert path.read_text() == "mine"
    assert not (tmp_path / "data").exists()


def test_other_settings_do_not_resume_and_are_named(finished: tuple[Path, dict[str, Any]]):
    folder, _ = finished

    refused = run(folder, "--resume", "--seed", "1", "--policy.width", "64")

    assert refused.returncode == 2
    assert "seed was 0, is 1; policy.width was 32, is 64" in refused.stderr


def test_more_steps_continue_a_finished_run(finished: tuple[Path, dict[str, Any]], tmp_path: Path):
    folder, _ = finished
    subprocess.run(["cp", "-r", f"{folder}/runs", f"{folder}/data", str(tmp_path)], check=True)

    longer = run(tmp_path, "--resume", "--steps", "40")

    assert "step-00000040" in told(longer)["eval_id"]
    names = sorted(p.name for p in (tmp_path / "runs/recipe/checkpoints").glob("step-*"))
    assert names == ["step-00000030", "step-00000040"]


def test_a_moved_run_is_evaluated_in_its_new_place(
    finished: tuple[Path, dict[str, Any]], tmp_path: Path
):
    folder, result = finished
    subprocess.run(["cp", "-r", f"{folder}/runs/recipe", f"{tmp_path}/moved"], check=True)

    done = etude(tmp_path, "eval", "recipe.toml", "--output_dir", "moved", "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["success"] == result["success"]
    assert str(folder) not in done.stdout + done.stderr


def test_the_experts_are_evaluated_on_the_same_seeds(finished: tuple[Path, dict[str, Any]]):
    folder, result = finished

    done = etude(
        folder, "eval", "recipe.toml", "--policy.use", "expert", "--json", "--eval.max_steps=150"
    )

    told_ = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert told_["success"]["mean"] == 1.0
    assert told_["eval_id"].startswith("expert-")
    assert [t["name"] for t in told_["per_task"]] == [t["name"] for t in result["per_task"]]


def test_sigterm_in_training_saves_and_ends_with_75(
    tmp_path: Path, finished: tuple[Path, dict[str, Any]]
):
    folder, _ = finished
    subprocess.run(["cp", "-r", f"{folder}/data", str(tmp_path)], check=True)
    (tmp_path / "recipe.toml").write_text(SETTINGS)
    words = ["train", "recipe.toml", "--steps", "1000000", "--save.every", "1000000"]
    with subprocess.Popen(
        [sys.executable, "-m", "etude", *words],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        events = tmp_path / "runs/recipe/events/rank-00000.0001.jsonl"
        while process.poll() is None and not (
            events.exists() and "steps_finished" in events.read_text()
        ):
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate()

    assert process.returncode == 75
    assert "stopped by SIGTERM after step" in errors
    assert list((tmp_path / "runs/recipe/checkpoints").glob("step-*/MANIFEST.json"))


def test_a_target_that_was_not_met_has_its_own_exit_code(finished: tuple[Path, dict[str, Any]]):
    folder, _ = finished

    done = run(folder, "--resume", "--target", "1.0")

    assert done.returncode == 5


RECIPES = Path(__file__).parents[2] / "recipes"


@pytest.mark.parametrize("recipe", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_each_recipe_runs(tmp_path: Path, recipe: Path):
    done = commands.etude(
        tmp_path,
        *("run", str(recipe), "--json"),
        *("--simulator.tasks", "reach-v3", "drawer-close-v3", "--dataset.root", "data"),
        *("--demos.episodes", "2", "--steps", "4", "--train.warmup_steps", "1"),
        *("--eval.n_episodes", "1", "--eval.max_steps", "20"),
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["success"]["n"] == 2
    assert (tmp_path / "runs" / recipe.stem / "report.html").exists()


def test_two_runs_in_one_folder_at_once_do_not_mix(
    finished: tuple[Path, dict[str, Any]], tmp_path: Path
):
    folder, _ = finished
    subprocess.run(["cp", "-r", f"{folder}/data", str(tmp_path)], check=True)
    (tmp_path / "recipe.toml").write_text(SETTINGS)
    words = [sys.executable, "-m", "etude", "train", "recipe.toml"]
    both = [
        subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    errors = [process.communicate()[1] for process in both]

    codes = sorted(process.returncode for process in both)
    assert codes == [0, 2], errors
    assert any("in use by another process" in e or "already holds a run" in e for e in errors)
