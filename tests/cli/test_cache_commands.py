"""`etude cache` as a user meets it."""

import json
from pathlib import Path

import pytest

from etude.cli.main import main
from etude.core.types import ContentKey
from etude.store.cache import SegmentCache
from etude.store.segments import Subject


def keep(root: Path, *, weights: str = "w1", frame: int = 0) -> ContentKey:
    subject = Subject(
        logic="task-scan@1", weights=ContentKey(weights), inference={"dtype": "float32"}
    )
    with SegmentCache(root, subject) as cache:
        key = cache.key(episode=ContentKey("e"), draw={"frame": frame})
        cache.put(key, {"squared": [0.5]})
    return key


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def answer(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, object]:
    """Run a command with --json and return what it prints, and its exit code."""
    code = main(["cache", *map(str, words), "--json"])
    return {**json.loads(capsys.readouterr().out), "code": code}


def test_stats_count_what_is_kept(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(root)
    keep(root, weights="w2")

    found = answer(capsys, "stats", "--cache.root", root)

    assert (found["schema_version"], found["root"], found["code"]) == (1, str(root), 0)
    assert found["task-scan"]["entries"] == 2
    assert found["sample-scan"] == {"entries": 0, "segments": 0, "bytes": 0, "weights": 0}


def test_the_cache_of_the_desktop_is_used_without_a_setting(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(root))
    keep(root / "etude")

    assert answer(capsys, "stats")["task-scan"]["entries"] == 1


def test_why_names_the_input_that_differs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = keep(root)
    new = keep(root, weights="w2")

    assert main(["cache", "why", new, "--cache.root", str(root)]) == 0
    assert capsys.readouterr().out == (
        f"The nearest result is {old}, with 4 equal inputs\n  weights is w2, there w1\n"
    )
    found = answer(capsys, "why", new[:12], "--cache.root", root)
    assert found["nearest"] == old
    assert found["differences"] == [{"input": "weights", "wanted": "w2", "kept": "w1"}]


def test_why_takes_inputs_instead_of_a_key(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(root)
    like = json.dumps({"weights": "w1", "inference": {"dtype": "bfloat16"}})

    assert main(["--lang", "zh", "cache", "why", "--like", like, "--cache.root", str(root)]) == 0
    assert "inference.dtype 为 bfloat16，那里是 float32" in capsys.readouterr().out


def test_why_says_when_there_is_nothing_to_compare_with(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache", "why", keep(root), "--cache.root", str(root)]) == 0
    assert capsys.readouterr().out == f"{root} holds no other result to compare with\n"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["why"], "`etude cache why` takes either a KEY or --like"),
        (["why", "abc", "--like", "{}"], "`etude cache why` takes either a KEY or --like"),
        (["why", "--like", "{"], "--like is '{', not JSON"),
        (["why", "--like", "[1]"], "--like is '[1]', not a JSON object"),
        (["why", "abc", "--cache.root", "nowhere"], "no key in nowhere begins with 'abc'"),
        (["gc"], "no folder of runs is named"),
        (["gc", "nowhere"], "nowhere is no folder"),
        (["import", "nowhere"], "nowhere is no folder"),
        (["export"], "`etude cache export` does not take these options"),
        (["stats", "--steps", "3"], "`etude cache stats` does not take these options"),
        (["sats"], "'cache sats' is no command of etude"),
        ([], "'cache' is no command of etude"),
    ],
)
def test_what_cannot_be_done_is_said_with_a_way_out(
    words: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cache", *words]) == 2

    said = capsys.readouterr().err.splitlines()
    assert said[-2].startswith(f"error: {error}")
    assert said[-1].startswith("hint: ")


def test_verify_ends_with_findings_when_a_file_is_damaged(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(root)
    assert answer(capsys, "verify", "--cache.root", root)["code"] == 0
    (path,) = root.rglob("*.zst")
    path.write_bytes(b"x")

    found = answer(capsys, "verify", "--cache.root", root)

    assert found["code"] == 3
    assert found["damaged"][0].startswith(str(path))


def test_collecting_keeps_what_checkpoints_refer_to(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "runs/one/checkpoints/step-00000001/MANIFEST.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"weights": "w1"}))
    keep(root)
    keep(root, weights="w2")

    found = answer(capsys, "gc", tmp_path / "runs", "--dry-run", "--cache.root", root)

    assert (found["kept_weights"], found["removed_weights"], found["code"]) == (1, 1, 0)
    assert (found["removed_files"], found["too_young"]) == (0, 1)


def test_an_exported_cache_is_imported_elsewhere(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(root)
    out, other = tmp_path / "out", tmp_path / "other"

    assert answer(capsys, "export", out, "--cache.root", root)["segments"] == 1
    assert answer(capsys, "import", out, "--cache.root", other)["segments"] == 1
    assert answer(capsys, "stats", "--cache.root", other)["task-scan"]["entries"] == 1
