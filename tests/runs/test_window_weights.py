"""Frames inside tasks are drawn by what a sample scan has found about them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from adaptive_toys import TASKS, etude, told, train, write_toys

PLAIN = ("--score.kind", "none", "--train.held_out_every", "20", "--scan.tau", "0.65")
WEIGHED = ("--output_dir", "two", *PLAIN, "--curriculum.windows")


def sampler_of(run: Path, step: int) -> dict[str, Any]:
    state = json.loads((run / f"checkpoints/step-{step:08d}/train_state.json").read_text())
    return state["sampler"]


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder with a run of 20 steps, and what a scan of its training episodes said."""
    folder = tmp_path_factory.mktemp("scanned")
    train(folder, "one", *PLAIN, "--steps", "20")
    done = etude(
        folder,
        *(
            "scan",
            "samples",
            "recipe.toml",
            "--json",
            "--output_dir",
            "one",
            "--cache.root",
            "kept",
        ),
        *("--scan.groups", "arm=0-1"),
    )
    assert done.code == 0, done.err
    return folder, json.loads(done.out)


@pytest.fixture
def beside(scanned: tuple[Path, dict[str, Any]], tmp_path: Path) -> Path:
    shutil.copytree(scanned[0], tmp_path / "copy")
    return tmp_path / "copy"


def multipliers(scan: dict[str, Any], task: int) -> dict[str, float]:
    return {row["stratum"]: row["weight"] for row in scan["tasks"][task]["strata"]}


def sizes(scan: dict[str, Any], task: int) -> dict[str, int]:
    return {row["stratum"]: row["of"] for row in scan["tasks"][task]["strata"]}


def test_what_the_scan_found_hard_is_drawn_as_often_as_it_says(
    scanned: tuple[Path, dict[str, Any]], beside: Path
):
    scan = scanned[1]

    run = train(beside, "two", *PLAIN, "--curriculum.windows", "one", "--steps", "40")

    event = told(run, "windows_weighed")[0]
    assert (event["step"], event["policy"]) == (0, scan["policy"])
    names, drawn = event["strata"], sampler_of(run, 40)["cursors"]
    for task in range(TASKS):
        wanted, of = multipliers(scan, task), sizes(scan, task)
        assert {
            name: weight
            for name, weight in zip(names, event["weights"][task], strict=True)
            if weight is not None
        } == pytest.approx(wanted)
        total = sum(drawn[task])
        assert total == 40
        for name, weight in wanted.items():
            share = weight * of[name] / sum(of.values())
            assert abs(drawn[task][1 + names.index(name)] - share * total) <= 2.5


def test_no_stratum_is_starved_or_flooded(scanned: tuple[Path, dict[str, Any]]):
    weights = [weight for task in range(TASKS) for weight in multipliers(scanned[1], task).values()]

    assert min(weights) >= 0.5
    assert max(weights) <= 8.0
    assert max(weights) - min(weights) > 0.2


def test_a_run_goes_on_drawing_by_them_as_if_it_had_not_stopped(beside: Path):
    flags = (*PLAIN, "--curriculum.windows", "one")
    straight = train(beside, "straight", *flags, "--steps", "40")
    run = train(beside, "two", *flags, "--steps", "40")
    shutil.rmtree(run / "checkpoints/step-00000040")

    train(beside, "two", *flags, "--steps", "40", "--resume")

    assert sampler_of(run, 40) == sampler_of(straight, 40)
    assert [row["step"] for row in told(run, "windows_weighed")] == [0]


def test_a_run_may_be_scanned_and_go_on_by_what_was_found(beside: Path):
    flags = (*PLAIN, "--steps", "40", "--resume")

    run = train(beside, "one", *flags, "--curriculum.windows", "one")

    assert [row["step"] for row in told(run, "windows_weighed")] == [20]
    # All frames alike up to step 20 and for the lag of 8 steps, by strata from then on.
    assert [sum(row[1:]) for row in sampler_of(run, 40)["cursors"]] == [12] * TASKS
    back = etude(beside, "train", "recipe.toml", "--output_dir", "one", *flags, "--steps", "60")
    assert back.code == 2
    assert "the saved sampler has other strata than this run" in back.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("nowhere",), "nowhere does not exist"),
        (("data",), "data has no record of a scan of samples"),
        (("one", "--dataset.repo_id", "other"), "a scan of toys, but the run trains on other"),
        (
            ("one", "--dataset.hold_out_episodes", "1"),
            "a scan of other training episodes than the run has",
        ),
        (("one", "--seed", "1"), "a scan of other training episodes than the run has"),
    ],
)
def test_a_scan_that_is_not_there_or_of_other_data_is_refused(
    beside: Path, flags: tuple[str, ...], message: str
):
    done = etude(beside, "train", "recipe.toml", *WEIGHED, *flags)

    assert done.code == 2
    assert message in done.err
    assert (
        "hint: Name a" in done.err
        or "hint: Make one: etude scan samples" in done.err
        or ("hint: Keep the data, dataset.hold_out_episodes and seed" in done.err)
    )
    assert not (beside / "two/run.json").exists()


def test_a_scan_of_the_same_name_but_other_content_is_refused(beside: Path):
    shutil.rmtree(beside / "data")
    write_toys(beside / "data", seed=1)

    done = etude(beside, "train", "recipe.toml", *WEIGHED, "one")

    assert "a scan of other training episodes than the run has" in done.err


def test_a_damaged_scan_is_named(beside: Path):
    record = next((beside / "one/scans").iterdir())
    record.write_bytes(record.read_bytes()[:-9])

    done = etude(beside, "train", "recipe.toml", *WEIGHED, str(record))

    assert done.code == 4
    assert f"{record}" in done.err
    assert "is no whole record of a scan" in done.err


def test_the_setting_is_shown_with_what_it_means(beside: Path):
    done = etude(beside, "config", "show", "recipe.toml")

    assert 'windows = ""' in done.out
    assert "Sample scan by which frames inside tasks are drawn" in done.out
