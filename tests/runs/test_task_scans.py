"""`etude scan tasks` on two tasks of Meta-World, as a user starts it."""

import json
from pathlib import Path
from typing import Any

import pytest

from commands import Done, etude
from etude.core.errors import EtudeError
from etude.runs.config import load
from etude.runs.task_scans import scan as scan_here
from etude.store.journal import read_journal
from training_run import quiet

SETTINGS = """
steps = 60
batch_size = 32
[simulator]
tasks = ["reach-v3", "button-press-v3"]
[dataset]
root = "data"
[demos]
episodes = 3
noise = 0.0
[policy]
width = 32
blocks = 1
[train]
warmup_steps = 5
[save]
every = 30
[scan]
groups = ["arm=0-2", "gripper=3"]
batch_size = 4
[cache]
root = "kept"
"""


def started(folder: Path, *flags: str, ranks: int = 1, **variables: str) -> Done:
    words = ["scan", "tasks", "recipe.toml", "--json", *flags]
    return etude(folder, *words, ranks=ranks, variables=variables)


def scan(folder: Path, *flags: str, ranks: int = 1) -> dict[str, Any]:
    """Scan and return what `--json` prints."""
    done = started(folder, *flags, ranks=ranks)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def uncounted(report: dict[str, Any]) -> dict[str, Any]:
    return {name: report[name] for name in report if name not in ("inferences", "recalled")}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recipe, its demonstrations and two checkpoints."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "recipe.toml").write_text(SETTINGS)
    for command in ("demos", "train"):
        done = etude(folder, command, "recipe.toml")
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def report(trained: Path) -> dict[str, Any]:
    """The first scan of the newest checkpoint, whose results are kept."""
    return scan(trained)


def test_every_task_is_told_with_windows_groups_and_interval(report: dict[str, Any]):
    assert report["schema_version"] == 1
    assert [task["name"] for task in report["tasks"]] == ["button-press-v3", "reach-v3"]
    for task in report["tasks"]:
        assert task["task"] in ("metaworld-mt50/0", "metaworld-mt50/1")
        assert 8 <= task["windows"] <= task["of"]
        # Neither task opens or closes the gripper, so nothing can be wrong with it.
        assert list(task["groups"]) == ["arm"]
        low, high = task["interval"]
        assert 0 <= low <= task["pass_rate"] <= high <= 1
        assert not task["trained_on"]
    assert report["inferences"] == sum(task["windows"] for task in report["tasks"])
    assert report["recalled"] == 0


def test_the_same_scan_again_recalls_everything(trained: Path, report: dict[str, Any]):
    again = scan(trained)

    assert (again["inferences"], again["recalled"]) == (0, report["inferences"])
    assert uncounted(again) == uncounted(report)


def test_a_scan_that_recalls_everything_needs_no_weights(trained: Path, report: dict[str, Any]):
    (tensors,) = trained.glob("runs/recipe/checkpoints/step-00000060/hf/model.safetensors")
    content = tensors.read_bytes()
    tensors.write_bytes(bytes(len(content)))

    again = scan(trained)
    tensors.write_bytes(content)

    assert uncounted(again) == uncounted(report)


def test_two_ranks_print_and_record_what_one_does(trained: Path, report: dict[str, Any]):
    record = trained / report["record"]
    of_one = record.read_bytes()
    record.unlink()

    of_two = scan(trained, "--cache.root", "two", ranks=2)

    assert of_two == report
    assert record.read_bytes() == of_one


def test_a_checkpoint_can_be_named_in_place_of_a_recipe(trained: Path, report: dict[str, Any]):
    step = "runs/recipe/checkpoints/step-00000060"
    words = ["--dataset.root", "data", "--policy.path", step, "--cache.root", "kept"]
    groups = ["--scan.groups", "arm=0-2", "gripper=3"]

    done = etude(trained, "scan", "tasks", *words, *groups, "--json")

    found = json.loads(done.stdout)
    assert found["inferences"] == 0
    assert found["record"] == report["record"].replace("recipe", "unnamed")
    assert uncounted({**found, "record": report["record"]}) == uncounted(report)


def test_another_checkpoint_shares_no_result(trained: Path, report: dict[str, Any]):
    other = scan(trained, "--policy.path", "runs/recipe/checkpoints/step-00000030")

    assert other["recalled"] == 0
    assert other["policy"] != report["policy"]


def test_two_checkpoints_are_compared_window_by_window(trained: Path, report: dict[str, Any]):
    other = scan(trained, "--policy.path", "runs/recipe/checkpoints/step-00000030")
    words = ["scan", "compare", other["record"], "runs/recipe"]

    found = json.loads(etude(trained, *words, "--json").stdout)
    told = etude(trained, *words, "--lang", "en").stdout.splitlines()

    assert (found["a"]["step"], found["a"]["policy"]) == (30, other["policy"])
    assert (found["b"]["step"], found["b"]["policy"]) == (60, report["policy"])
    assert [task["name"] for task in found["tasks"]] == ["button-press-v3", "reach-v3"]
    for task, before, after in zip(found["tasks"], other["tasks"], report["tasks"], strict=True):
        assert task["pairs"] + task["only_a"] == before["windows"]
        assert task["pairs"] + task["only_b"] == after["windows"]
        assert task["pairs"] >= 8
        assert task["interval"][0] <= task["ratio"] <= task["interval"][1]
    assert found["overall"]["tasks"] == 2
    assert told[0].split() == [
        "task",
        "verdict",
        "n",
        "before",
        "after",
        "ratio",
        "95",
        "%",
        "passed",
    ]
    assert {told[1].split()[0], told[2].split()[0]} == {"button-press-v3", "reach-v3"}
    assert "GMSE is a proxy of success" in "\n".join(told)


def test_after_a_rank_was_killed_only_what_was_not_kept_is_computed(
    trained: Path, report: dict[str, Any], tmp_path: Path
):
    flags = ["--cache.root", str(tmp_path / "kept"), "--scan.write_every_s", "0"]

    # A rank dies when its first four windows are on disk; the other may get as far, or give up.
    killed = started(trained, *flags, ranks=2, ETUDE_KILL_AT="cache.segment_written")
    after = scan(trained, *flags, ranks=2)

    assert (killed.returncode, killed.stdout) == (1, "")
    assert after["recalled"] in (4, 8)
    assert after["recalled"] + after["inferences"] == report["inferences"]
    assert uncounted(after) == uncounted(report)


def test_a_person_reads_a_table_and_that_it_is_a_proxy(trained: Path, report: dict[str, Any]):
    done = etude(trained, "scan", "tasks", "recipe.toml", "--lang", "en")

    lines = done.stdout.splitlines()
    assert lines[0].split()[:6] == ["task", "verdict", "n", "GMSE", "arm", "passed"]
    assert {lines[1].split()[0], lines[2].split()[0]} == {"button-press-v3", "reach-v3"}
    assert "It is a proxy of success" in done.stdout
    assert f"0 asked of the policy, {report['inferences']} known" in done.stdout
    assert lines[-1] == f"Record: {report['record']}"


def test_the_run_is_told_of_the_scan_and_its_record(trained: Path, report: dict[str, Any]):
    told = [
        event
        for path in sorted(trained.glob("runs/recipe/events/rank-00000.*"))
        for event in read_journal(path)
        if event["kind"] == "scan_finished" and event["policy"] == report["policy"]
    ]

    assert f"runs/recipe/{told[0]['record']}" == report["record"]
    assert told[0]["windows"] == [task["windows"] for task in report["tasks"]]
    assert told[0]["gmse"] == [task["gmse"] for task in report["tasks"]]


def test_a_scan_whose_record_cannot_be_written_is_told_with_a_warning(
    trained: Path, report: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").touch()
    monkeypatch.chdir(trained)
    step = "runs/recipe/checkpoints/step-00000060"
    said: list[str] = []

    outcome = scan_here(
        load(Path("recipe.toml"), ["--output_dir", str(tmp_path / "file"), "--policy.path", step]),
        progress=quiet,
        warn=said.append,
    )

    assert outcome.record == ""
    assert outcome.report.recalled == report["inferences"]
    assert said[0].endswith("cannot be written: Not a directory; the scan is told but not recorded")


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--policy.use", "expert"], 2, "policy.use is 'expert', which has no weights to scan"),
        (["--policy.path", "gone"], 1, "policy.path is gone, where there is no folder"),
        (["--policy.path", "data"], 4, "data is no whole checkpoint: MANIFEST.json is missing"),
        (["--dataset.root", "gone"], 4, "gone"),
        (["--scan.horizon", "9"], 1, "the policy returned 8 actions for metaworld-mt50/"),
        (["--scan.groups", "arm=0-9"], 2, "group 'arm' has action dimension 4"),
    ],
    ids=["expert", "gone", "folder", "dataset", "horizon", "groups"],
)
def test_what_cannot_be_scanned_is_refused(
    trained: Path, flags: list[str], code: int, message: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(trained)
    config = load(Path("recipe.toml"), flags)

    with pytest.raises(EtudeError) as caught:
        scan_here(config, progress=quiet, warn=print)

    assert message in str(caught.value)
    assert caught.value.exit_code == code
