import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from etude.checkpoints.commit import CheckpointStore
from etude.core.errors import StateError, StorageError
from etude.core.types import CheckpointRef, ContentKey


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


def test_a_saved_checkpoint_is_the_latest_one(tmp_path: Path):
    store = CheckpointStore(tmp_path / "checkpoints")

    ref = save(store, 10)

    assert ref == CheckpointRef(
        step=10, folder="checkpoints/step-00000010", weights=ContentKey("w10")
    )
    assert store.latest() == ref
    assert store.steps() == [10]
    assert weights_of(store, ref) == "weights of 10"
    assert names(store.folder) == ["LATEST", "step-00000010"]
    assert (store.folder / "LATEST").read_text() == "step-00000010\n"


def test_the_manifest_names_every_file_with_size_and_digest(tmp_path: Path):
    store = CheckpointStore(tmp_path)

    store.save(10, writer("abc"), weights=ContentKey("w"), topology={"world_size": 1})

    manifest = json.loads((tmp_path / "step-00000010" / "MANIFEST.json").read_text())
    assert {k: v for k, v in manifest.items() if k != "files"} == {
        "schema": "checkpoint/1",
        "step": 10,
        "weights": "w",
        "topology": {"world_size": 1},
    }
    assert [(f["path"], f["bytes"]) for f in manifest["files"]] == [
        ("hf/model.safetensors", 3),
        ("train_state.json", 2),
    ]
    # The BLAKE3 digest of "abc", from the reference test vectors.
    assert manifest["files"][0]["blake3"] == (
        "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"
    )


def test_a_run_without_checkpoints_has_no_latest_one(tmp_path: Path):
    assert CheckpointStore(tmp_path / "missing").latest() is None
    assert CheckpointStore(tmp_path).latest() is None
    assert CheckpointStore(tmp_path / "missing").steps() == []


def test_a_step_is_saved_once(tmp_path: Path):
    store = CheckpointStore(tmp_path)
    save(store, 10)

    with pytest.raises(StateError, match="step-00000010 exists already"):
        save(store, 10)

    assert names(tmp_path) == ["LATEST", "step-00000010"]


def test_steps_are_ordered_as_numbers_and_only_the_newest_stay(tmp_path: Path):
    store = CheckpointStore(tmp_path, keep_last=1)
    for step in (9800, 9900, 10000):
        save(store, step)

    latest = store.latest()

    assert latest is not None
    assert latest.step == 10000
    assert store.steps() == [10000]
    assert names(tmp_path) == ["LATEST", "step-00010000"]


def test_steps_beyond_eight_digits_are_still_the_newest(tmp_path: Path):
    store = CheckpointStore(tmp_path, keep_last=2)
    for step in (99_999_998, 99_999_999, 100_000_000):
        save(store, step)

    assert store.steps() == [99_999_999, 100_000_000]


def test_nothing_is_deleted_where_all_are_kept(tmp_path: Path):
    store = CheckpointStore(tmp_path, keep_last=0)
    for step in (1, 2, 3):
        save(store, step)

    assert store.steps() == [1, 2, 3]


def test_names_that_do_not_parse_are_left_alone(tmp_path: Path):
    store = CheckpointStore(tmp_path, keep_last=1)
    for name in ("step-best", "step-9800", "step-00000001-copy", "xstep-00000001"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "precious").write_text("x")
    (tmp_path / "step-00000002").write_text("a file, not a folder")

    for step in (3, 4):
        save(store, step)

    assert store.steps() == [4]
    assert set(names(tmp_path)) == {
        "LATEST",
        "step-00000001-copy",
        "step-00000002",
        "step-00000004",
        "step-9800",
        "step-best",
        "xstep-00000001",
    }


def test_retention_leaves_damaged_and_foreign_folders_alone(tmp_path: Path):
    store = CheckpointStore(tmp_path, keep_last=1)
    save(store, 1)
    (tmp_path / "step-00000001" / "train_state.json").unlink()
    (tmp_path / "step-00000002").mkdir()

    save(store, 3)

    assert names(tmp_path) == ["LATEST", "step-00000001", "step-00000002", "step-00000003"]


def test_the_hint_file_is_never_relied_on(tmp_path: Path):
    store = CheckpointStore(tmp_path)
    save(store, 10)
    save(store, 20)

    for text in ("step-00000010\n", "", "step-00000099\n"):
        (tmp_path / "LATEST").write_text(text)
        assert weights_of(store, store.latest()) == "weights of 20"
    (tmp_path / "LATEST").unlink()
    assert weights_of(store, store.latest()) == "weights of 20"


def test_a_folder_without_a_manifest_is_no_checkpoint(tmp_path: Path):
    store = CheckpointStore(tmp_path)
    save(store, 10)
    (tmp_path / "step-00000020").mkdir()
    (tmp_path / "step-00000020" / "train_state.json").write_text("{}")

    assert weights_of(store, store.latest()) == "weights of 10"
    assert store.steps() == [10]
    shutil.rmtree(tmp_path / "step-00000010")
    assert store.latest() is None


def test_a_run_folder_that_was_moved_or_copied_is_as_good_as_before(tmp_path: Path):
    store = CheckpointStore(tmp_path / "here" / "checkpoints")
    save(store, 10)
    ref = save(store, 20)
    shutil.copytree(tmp_path / "here", tmp_path / "copy")
    (tmp_path / "here").rename(tmp_path / "there")

    for place in ("copy", "there"):
        moved = CheckpointStore(tmp_path / place / "checkpoints")
        assert moved.latest() == ref
        assert weights_of(moved, ref) == "weights of 20"
        assert moved.path(ref).is_relative_to(tmp_path / place)
        texts = [p.read_text() for p in moved.folder.rglob("*") if p.is_file()]
        assert not [text for text in texts if str(tmp_path) in text]


def test_a_save_without_room_is_refused_before_anything_is_written(tmp_path: Path):
    store = CheckpointStore(tmp_path)
    save(store, 10)
    needed = 10**18

    def write(folder: Path) -> None:
        raise AssertionError("nothing may be written")

    with pytest.raises(StorageError) as caught:
        store.save(20, write, weights=ContentKey("w"), needed_bytes=needed)

    assert f"{tmp_path / 'step-00000020'} cannot be written: no space left" in str(caught.value)
    assert "1,000,000,000,000,000,000 bytes needed" in str(caught.value)
    assert names(tmp_path) == ["LATEST", "step-00000010"]
