"""`etude data` as a user meets it."""

import json
from pathlib import Path
from typing import Any

import pytest

from etude.cli.main import main
from filmed_dataset import CAMERA, VIDEO, write_filmed
from robotwin_data import write_old
from tiny_dataset import DATA, set_value, snapshot, write_tiny

REAL = Path(__file__).parents[1] / "data"


def told(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, dict[str, Any]]:
    """Run a command with --json; return its exit code and what it prints."""
    code = main(["data", *map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


def printed(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    main(["data", *map(str, words)])
    return capsys.readouterr().out


def spoilt(folder: Path) -> Path:
    """A dataset with a value that is not finite and a video that is cut."""
    write_filmed(folder, [5, 4])
    set_value(folder / DATA, "action", 7, 1, float("nan"))
    (folder / VIDEO).write_bytes((folder / VIDEO).read_bytes()[:500])
    return folder


def test_all_faults_are_listed_at_once_with_address_and_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = spoilt(tmp_path / "set")
    before = snapshot(folder)

    code, found = told(capsys, "check", folder)

    assert code == 3
    assert snapshot(folder) == before
    head = {name: found[name] for name in ("format", "episodes", "frames", "errors", "warnings")}
    assert head == {
        "format": "lerobot_v3",
        "episodes": 2,
        "frames": 9,
        "errors": 2,
        "warnings": 0,
    }
    value, video = found["findings"]
    assert value == {
        "id": "not-finite",
        "severity": "error",
        "address": "episode 1, frame 2, column action, dimension 1",
        "message": "episode 1, frame 2: column action, dimension 1 is nan",
        "fix": "Repair these episodes, or leave them out with --dataset.on_bad skip.",
    }
    assert (video["id"], video["address"]) == ("video-unreadable", VIDEO)
    assert list(video) == ["id", "severity", "address", "message", "fix"]


def test_people_read_the_same_as_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = write_tiny(tmp_path / "set", [5, 4])
    set_value(folder / DATA, "action", 7, 1, float("nan"))

    assert printed(capsys, "check", folder, "--lang", "en") == (
        f"{folder}: lerobot_v3, 2 episodes, 9 frames\n\n"
        "error  not-finite  episode 1, frame 2, column action, dimension 1\n"
        "  episode 1, frame 2: column action, dimension 1 is nan\n"
        "  Fix: Repair these episodes, or leave them out with --dataset.on_bad skip.\n\n"
        "1 errors, 0 warnings\n"
    )
    assert "错误  not-finite" in printed(capsys, "check", folder, "--lang", "zh")


@pytest.mark.parametrize("name", ["lerobot_v30", "lerobot_v21"])
def test_a_warning_fails_only_if_asked_to(name: str, capsys: pytest.CaptureFixture[str]):
    code, found = told(capsys, "check", REAL / name)

    assert code == 0
    assert [each["id"] for each in found["findings"]] == ["tasks-alike"]
    assert (found["errors"], found["warnings"]) == (0, 1)
    assert told(capsys, "check", REAL / name, "--fail-on", "warning")[0] == 3


def test_nothing_wrong_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = write_tiny(tmp_path / "set", [5, 4])

    assert printed(capsys, "check", folder, "--lang", "en").endswith(
        "\n\nNothing is wrong with it\n"
    )


def test_a_last_frame_may_be_missing_if_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = write_filmed(tmp_path / "set", [10, 4], without=[(0, 9)])

    assert told(capsys, "check", folder)[0] == 3
    code, found = told(capsys, "check", folder, "--video-tolerance-frames", "1")
    assert code == 0
    assert [(f["severity"], f["address"]) for f in found["findings"]] == [
        ("warning", f"episode 0, {CAMERA}")
    ]


def test_a_folder_without_a_dataset_is_a_finding_and_none_at_all_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    code, found = told(capsys, "check", tmp_path)
    assert (code, found["episodes"], found["errors"]) == (3, None, 1)
    assert "too little of it can be read" in printed(capsys, "check", tmp_path, "--lang", "en")

    assert main(["data", "check", str(tmp_path / "none")]) == 4
    assert f"{tmp_path / 'none'} is no folder" in capsys.readouterr().err

    (tmp_path / "link").symlink_to("gone")
    assert main(["data", "stats", str(tmp_path / "link")]) == 4
    assert "link is a link to gone, which is not there" in capsys.readouterr().err


def test_statistics_are_those_of_every_dimension(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = write_tiny(tmp_path / "set", [3, 2])

    code, found = told(capsys, "stats", folder)

    assert code == 0
    assert (found["episodes"], found["frames"], found["skipped"]) == (2, 5, [])
    assert list(found["columns"]) == ["observation.state", "action"]
    action = found["columns"]["action"]
    # The first dimension is 0, 1, 2, 100, 101.
    assert action["names"] == ["x", "y"]
    assert action["count"] == [5, 5]
    assert action["mean"][0] == pytest.approx(40.8)
    assert action["std"][0] == pytest.approx(48.749974)
    assert (action["min"][0], action["max"][0]) == (0, 101)
    assert action["q50"][0] == pytest.approx(2, rel=found["quantile_tolerance"])


def test_statistics_are_printed_as_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = write_tiny(tmp_path / "set", [3, 2])

    text = printed(capsys, "stats", folder, "--lang", "en")

    assert text.startswith(f"{folder}: lerobot_v3, 2 episodes, 5 frames\n\nobservation.state")
    assert "action  frames  min" in text
    [row] = [line for line in text.splitlines() if line.startswith("x ")]
    assert row.split() == ["x", "5", "0", "0", "2.008", "100.2", "101", "40.8", "48.75"]
    assert "0.39% of their own size" in text


def test_statistics_need_no_video(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = write_filmed(tmp_path / "set", [3, 2])
    whole = told(capsys, "stats", folder)
    (folder / VIDEO).unlink()

    assert told(capsys, "stats", folder) == whole


def test_a_faulty_episode_stops_statistics_or_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = write_tiny(tmp_path / "set", [3, 2])
    set_value(folder / DATA, "action", 3, 1, float("nan"))

    assert told(capsys, "stats", folder)[0] == 4
    code, found = told(capsys, "stats", folder, "--on-bad", "skip")
    assert (code, found["frames"], found["skipped"]) == (0, 3, [1])
    assert found["columns"]["action"]["max"][0] == 2
    text = printed(capsys, "stats", folder, "--on-bad", "skip", "--lang", "en")
    assert "1 episodes are left out" in text


def test_robotwin_data_are_measured_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_old(tmp_path / "lift_pot/clean", 0, 4)

    code, found = told(capsys, "stats", tmp_path)

    assert (code, found["format"], found["episodes"], found["frames"]) == (0, "robotwin", 1, 3)
