import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from etude.core.errors import StateError, StorageError
from etude.store.layout import RunFolder

HOLD = """
import sys
from pathlib import Path
from etude.store.layout import RunFolder
with RunFolder(Path(sys.argv[1])).claim():
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(root: Path) -> subprocess.Popen[str]:
    """Start a process that claims `root`, and return once it has tried."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.first_line = process.stdout.readline()
    return process


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_of_two_processes_one_wins_and_the_other_refuses(tmp_path: Path):
    winner = hold(tmp_path / "run")
    loser = hold(tmp_path / "run")

    _, complaint = loser.communicate()
    winner.communicate()

    assert winner.first_line == "held\n"
    assert loser.first_line == ""
    assert loser.returncode == 1
    assert f"StateError: {tmp_path / 'run'} is in use by another process" in complaint


def test_a_killed_holder_frees_the_folder(tmp_path: Path):
    holder = hold(tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(StateError, match="in use") as caught, folder.claim():
        pass
    assert caught.value.hint == "Wait for it to end, or choose another --output_dir."

    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()

    with folder.claim():
        pass
    with folder.claim():
        pass


def test_a_run_folder_inside_a_file_is_refused(tmp_path: Path):
    (tmp_path / "notes").write_text("x")

    with (
        pytest.raises(StorageError, match="cannot be written"),
        RunFolder(tmp_path / "notes").claim(),
    ):
        pass
    with pytest.raises(StateError, match="notes is a file"):
        RunFolder(tmp_path / "notes").require_fresh()


def test_a_folder_that_is_missing_empty_or_only_claimed_is_fresh(tmp_path: Path):
    RunFolder(tmp_path / "missing").require_fresh()
    RunFolder(tmp_path).require_fresh()
    folder = RunFolder(tmp_path / "claimed")
    with folder.claim():
        folder.require_fresh()


RESUME = "Add --resume to continue it, or choose another --output_dir."
EMPTY = "Choose another --output_dir, or empty this one yourself."


def test_evaluations_and_scans_made_beforehand_do_not_keep_a_run_from_beginning(tmp_path: Path):
    (tmp_path / "eval/expert-1").mkdir(parents=True)
    (tmp_path / "scans").mkdir()

    RunFolder(tmp_path).require_fresh()


@pytest.mark.parametrize(
    ("files", "what", "hint"),
    [
        (("run.json", "checkpoints/step-00000010/MANIFEST.json"), "a run", RESUME),
        (
            ("checkpoints/step-00000010/hf/model.safetensors",),
            "checkpoints, which is no run",
            EMPTY,
        ),
        (("notes.txt",), "notes.txt, which is no run", EMPTY),
    ],
    ids=["a complete checkpoint", "only weights", "an unrelated file"],
)
def test_a_used_folder_is_refused_and_every_byte_stays(
    tmp_path: Path, files: tuple[str, ...], what: str, hint: str
):
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"precious {name}")
    before = bytes_of(tmp_path)

    with pytest.raises(StateError) as caught:
        RunFolder(tmp_path).require_fresh()

    assert str(caught.value) == f"{tmp_path} already holds {what}"
    assert caught.value.hint == hint
    assert bytes_of(tmp_path) == before


def test_evaluations_stand_in_the_order_in_which_they_were_begun(tmp_path: Path):
    folder = RunFolder(tmp_path)
    assert folder.evaluations() == []
    for name, begun in (("zebra", 100), ("apple", 300), ("mango", 200), ("lemon", 200)):
        manifest = folder.evaluation(name) / "manifest.json"
        manifest.parent.mkdir(parents=True)
        manifest.touch()
        os.utime(manifest, (begun, begun))
    folder.evaluation("never-begun").mkdir()

    names = [path.name for path in folder.evaluations()]

    assert names == ["zebra", "lemon", "mango", "apple"]


def test_everything_of_a_run_lies_inside_its_folder(tmp_path: Path):
    folder = RunFolder(tmp_path)

    names = {
        path.relative_to(tmp_path).as_posix()
        for path in (
            folder.manifest,
            folder.config,
            folder.environment,
            folder.data,
            folder.events,
            folder.checkpoints,
            folder.report,
            folder.evaluation("e1"),
            folder.scans,
            folder.scan("tasks-1"),
        )
    }

    assert names == {
        "run.json",
        "config.resolved.toml",
        "env.json",
        "data.json",
        "events",
        "checkpoints",
        "report.html",
        "eval/e1",
        "scans",
        "scans/tasks-1.jsonl.zst",
    }
