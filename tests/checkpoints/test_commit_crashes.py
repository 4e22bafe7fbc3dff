import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from etude.checkpoints.commit import CheckpointStore, faults
from etude.core.errors import DataError
from etude.core.types import CheckpointRef, ContentKey

KILL_POINTS = (
    "save.staging_made",
    "save.half_written",
    "save.files_written",
    "save.manifest_written",
    "save.renamed",
    "save.latest_written",
    "save.retiring",
)

SAVE_20 = """
import sys
from pathlib import Path
from etude.checkpoints.commit import CheckpointStore
from etude.core.kill_points import kill_point
def write(folder):
    (folder / "hf").mkdir()
    (folder / "hf" / "model.safetensors").write_text("weights of 20")
    kill_point("save.half_written")
    (folder / "train_state.json").write_text("{}")
CheckpointStore(Path(sys.argv[1]), keep_last=1).save(20, write, weights="w20")
print("saved")
"""


def writer(text: str) -> Callable[[Path], None]:
    """Return what fills a checkpoint with two small files."""

    def write(folder: Path) -> None:
        (folder / "hf").mkdir()
        (folder / "hf" / "model.safetensors").write_text(text)
        (folder / "train_state.json").write_text("{}")

    return write


def save(store: CheckpointStore, step: int) -> CheckpointRef:
    return store.save(step, writer(f"weights of {step}"), weights=ContentKey(f"w{step}"))


def weights_of(store: CheckpointStore, ref: CheckpointRef | None) -> str:
    assert ref is not None
    return (store.path(ref) / "hf" / "model.safetensors").read_text()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("point", KILL_POINTS)
def test_a_save_that_is_killed_leaves_the_old_checkpoint_or_the_new_one(tmp_path: Path, point: str):
    store = CheckpointStore(tmp_path, keep_last=1)
    save(store, 10)

    done = subprocess.run(
        [sys.executable, "-c", SAVE_20, str(tmp_path)],
        env={**os.environ, "ETUDE_KILL_AT": point},
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stdout) == (-9, "")
    latest = store.latest()
    assert latest is not None
    assert latest.step == (20 if KILL_POINTS.index(point) >= 4 else 10)
    assert faults(store.path(latest), full=True) == []
    assert weights_of(store, latest) == f"weights of {latest.step}"
    store.sweep()
    if latest.step == 10:
        save(store, 20)
    save(store, 30)
    assert names(tmp_path) == ["LATEST", "step-00000030"]
    assert weights_of(store, store.latest()) == "weights of 30"


def test_a_sweep_removes_staging_and_drafts_and_nothing_else(tmp_path: Path):
    store = CheckpointStore(tmp_path)
    save(store, 10)
    (tmp_path / ".staging-step-00000020-0a1b2c3d" / "hf").mkdir(parents=True)
    (tmp_path / ".LATEST.0a1b2c3d").write_text("step-")
    (tmp_path / "notes.txt").write_text("x")

    store.sweep()

    assert names(tmp_path) == ["LATEST", "notes.txt", "step-00000010"]


def lose_a_file(folder: Path) -> None:
    (folder / "hf" / "model.safetensors").unlink()


def cut_a_file(folder: Path) -> None:
    (folder / "hf" / "model.safetensors").write_text("weights")


def tear_the_manifest(folder: Path) -> None:
    (folder / "MANIFEST.json").write_text('{"schema": ')


def age_the_manifest(folder: Path) -> None:
    (folder / "MANIFEST.json").write_text('{"schema": "checkpoint/99"}')


def empty_the_manifest(folder: Path) -> None:
    (folder / "MANIFEST.json").write_text('{"schema": "checkpoint/1"}')


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lose_a_file, "hf/model.safetensors is missing"),
        (cut_a_file, "hf/model.safetensors has 7 of 13 bytes"),
        (tear_the_manifest, "MANIFEST.json is not JSON"),
        (age_the_manifest, "MANIFEST.json has schema 'checkpoint/99', not 'checkpoint/1'"),
        (empty_the_manifest, "MANIFEST.json lists no files"),
    ],
)
def test_a_damaged_newest_checkpoint_is_an_error_and_never_passed_over(
    tmp_path: Path, damage: Callable[[Path], None], said: str
):
    store = CheckpointStore(tmp_path)
    save(store, 10)
    save(store, 20)
    newest = tmp_path / "step-00000020"
    damage(newest)

    with pytest.raises(DataError) as caught:
        store.latest()

    assert str(caught.value).startswith(f"{newest} is damaged: ")
    assert said in str(caught.value)
    assert caught.value.hint == (
        f"Restore it from a copy, or remove the folder to fall back to step-00000010: "
        f"rm -r {newest}"
    )
    assert store.steps() == [10]
    shutil.rmtree(newest)
    assert weights_of(store, store.latest()) == "weights of 10"
    save(store, 20)


def test_a_damaged_only_checkpoint_promises_no_fallback(tmp_path: Path):
    store = CheckpointStore(tmp_path)
    save(store, 10)
    lose_a_file(tmp_path / "step-00000010")

    with pytest.raises(DataError, match="is damaged") as caught:
        store.latest()

    assert "fall back" not in caught.value.hint


def test_damage_to_an_older_checkpoint_does_not_stop_a_resume(tmp_path: Path):
    store = CheckpointStore(tmp_path)
    save(store, 10)
    save(store, 20)
    lose_a_file(tmp_path / "step-00000010")

    assert weights_of(store, store.latest()) == "weights of 20"
    assert store.steps() == [20]


def test_changed_bytes_of_the_same_length_show_in_a_full_check(tmp_path: Path):
    store = CheckpointStore(tmp_path)
    folder = store.path(save(store, 10))
    (folder / "hf" / "model.safetensors").write_text("weights of 11")

    assert faults(folder) == []
    assert faults(folder, full=True) == ["hf/model.safetensors has other bytes than were saved"]


def test_a_writer_that_fails_leaves_no_staging_and_no_checkpoint(tmp_path: Path):
    store = CheckpointStore(tmp_path)
    save(store, 10)

    def write(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.save(20, write, weights=ContentKey("w"))

    assert names(tmp_path) == ["LATEST", "step-00000010"]
    assert weights_of(store, store.latest()) == "weights of 10"
    save(store, 20)
