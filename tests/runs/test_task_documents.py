"""Finding, copying and editing documents of task states, and what is refused."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from etude.core.errors import DataError, StateError, StorageError
from etude.curriculum.task_state import FILE_NAME, TaskStateDocument
from etude.curriculum.task_state_changes import mark, reset
from etude.runs.task_documents import (
    compare,
    edit,
    export,
    find_document,
    read_document,
    write_document,
)
from task_states import TASKS, document, save_checkpoint

REACH = TASKS[0].id


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    save_checkpoint(folder, 900, states=document(step=900, weights="w900"))
    save_checkpoint(folder, 1000, states=document())
    return folder


@pytest.fixture
def run(saved: Path, tmp_path: Path) -> Path:
    """A run with two checkpoints, of which the newer has later states."""
    return Path(shutil.copytree(saved, tmp_path / "runs" / "mt50"))


def pass_reach(states: TaskStateDocument) -> TaskStateDocument:
    return mark(states, REACH, "passed")


def test_a_run_means_its_newest_checkpoint_and_a_file_itself(run: Path, tmp_path: Path):
    newest = run / "checkpoints" / "step-00001000"
    copy = tmp_path / "mine.json"
    write_document(copy, document())

    assert find_document(run) == newest / FILE_NAME
    assert find_document(newest) == newest / FILE_NAME
    assert find_document(newest / "hf") == newest / "hf" / FILE_NAME
    assert find_document(run / "checkpoints" / "step-00000900" / FILE_NAME).parent.name == (
        "step-00000900"
    )
    assert find_document(copy) == copy


def test_without_a_place_the_run_that_saved_last_is_meant(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    other = tmp_path / "runs" / "other"
    older = save_checkpoint(other, 5000, states=document(step=5000))
    for path in older.rglob("*"):
        os.utime(path, (1.0, 1.0))
    monkeypatch.chdir(tmp_path)

    assert find_document(None) == Path("runs/mt50/checkpoints/step-00001000") / FILE_NAME


def test_an_export_alone_is_enough(run: Path, tmp_path: Path):
    folder = tmp_path / "export"
    (run / "checkpoints" / "step-00001000" / "hf").rename(folder)

    assert read_document(find_document(folder)) == document()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("nowhere", "nowhere does not exist"),
        ("runs", "runs has no checkpoint, and is no document"),
        ("old", "old/checkpoints/step-00000100/task_state.json does not exist"),
    ],
)
def test_a_place_without_a_document_is_refused(
    place: str, message: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    save_checkpoint(tmp_path / "old", 100, states=None)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(StateError, match=message) as caught:
        find_document(Path(place))

    assert caught.value.hint


def test_no_run_at_all_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(StateError, match="runs holds no run with a checkpoint"):
        find_document(None)


@pytest.mark.parametrize("where", [FILE_NAME, f"hf/{FILE_NAME}"])
def test_a_copy_that_was_edited_inside_a_checkpoint_is_refused_with_the_way_to_do_it(
    run: Path, where: str
):
    path = run / "checkpoints" / "step-00001000" / where
    path.write_text(path.read_text().replace('"training"', '"passed"'), encoding="utf-8")

    with pytest.raises(StateError, match="was edited, but it is sealed with the weights") as caught:
        find_document(path)
    assert "etude tasks export" in caught.value.hint
    assert "--task-state FILE" in caught.value.hint


def test_a_run_whose_newest_copy_was_edited_is_refused_in_the_same_way(run: Path):
    path = run / "checkpoints" / "step-00001000" / FILE_NAME
    path.write_text(path.read_text().replace('"training"', '"passed"'), encoding="utf-8")

    with pytest.raises(StateError, match="was edited, but it is sealed"):
        find_document(run)


def test_a_damaged_newest_checkpoint_is_never_passed_over(run: Path):
    (run / "checkpoints" / "step-00001000" / "weights").unlink()

    with pytest.raises(DataError, match="is damaged: weights is missing"):
        find_document(run)


def test_an_exported_copy_can_be_edited_and_read(run: Path, tmp_path: Path):
    target = tmp_path / "new" / "states.json"

    assert export(run, target) == target
    done = edit(target, pass_reach)

    assert read_document(target) == mark(document(), REACH, "passed")
    assert [(change.entry, change.before, change.after) for change in done.changes] == [
        ("status", "passed (proxy)", "passed"),
        ("reason", "19.0 of 20.0 windows passed", "set by hand"),
    ]
    assert read_document(find_document(run)) == document()


def test_an_export_replaces_nothing(run: Path, tmp_path: Path):
    target = tmp_path / "states.json"
    target.write_text("mine")

    with pytest.raises(StateError, match="exists already"):
        export(run, target)
    with pytest.raises(StateError, match="is a folder"):
        export(run, tmp_path)
    with pytest.raises(StateError, match="is sealed with the weights"):
        export(run, run / "checkpoints" / "step-00001000" / "mine.json")
    assert target.read_text() == "mine"


@pytest.mark.parametrize("where", [FILE_NAME, f"hf/{FILE_NAME}"])
def test_the_copy_in_a_checkpoint_is_not_edited(run: Path, where: str):
    path = run / "checkpoints" / "step-00001000" / where
    before = path.read_bytes()

    with pytest.raises(StateError, match="is sealed with the weights in") as caught:
        edit(path, pass_reach)

    assert path.read_bytes() == before
    assert caught.value.hint.startswith("Edit a copy: etude tasks export")
    assert "--task-state FILE" in caught.value.hint


def test_a_link_into_a_checkpoint_is_not_edited_either(run: Path, tmp_path: Path):
    link = tmp_path / "link.json"
    link.symlink_to(run / "checkpoints" / "step-00001000" / FILE_NAME)

    with pytest.raises(StateError, match="is sealed with the weights"):
        edit(link, pass_reach)


def test_a_run_cannot_be_edited_as_if_it_were_a_document(run: Path):
    with pytest.raises(StateError, match="is a folder") as caught:
        edit(run, pass_reach)

    assert caught.value.hint == f"Export it first: etude tasks export {run} states.json"


def test_an_edit_that_fails_leaves_the_document_as_it_was(tmp_path: Path):
    path = tmp_path / "states.json"
    write_document(path, document())
    before = path.read_bytes()

    with pytest.raises(StateError, match="is no state of a task"):
        edit(path, lambda states: mark(states, REACH, "won"))

    assert path.read_bytes() == before


def test_an_edit_keeps_what_is_not_known(tmp_path: Path):
    path = tmp_path / "states.json"
    value = json.loads(document().to_text())
    value["note"] = "mine"
    path.write_text(json.dumps(value), encoding="utf-8")

    edit(path, lambda states: reset(states, REACH))

    assert json.loads(path.read_text())["note"] == "mine"


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"\xff\xfe{}", StateError, "is no text in UTF-8"),
        (b"{", StateError, "states.json:1 is not JSON"),
        (b'{"schema": "train/1"}', StateError, "has schema 'train/1'"),
    ],
)
def test_a_file_that_is_no_document_is_refused(
    tmp_path: Path, content: bytes, error: type[Exception], message: str
):
    path = tmp_path / "states.json"
    path.write_bytes(content)

    with pytest.raises(error, match=message):
        read_document(path)


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path: Path):
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_document(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written: Not a directory"):
        write_document(tmp_path / "file" / "states.json", document())


def test_names_in_any_script_go_through_a_file(tmp_path: Path):
    path = tmp_path / "states.json"
    odd = replace(document().tasks[0], name="开门 \udce9 \ud83d\ude00")
    written = replace(document(), tasks=(odd,))

    write_document(path, written)

    assert read_document(path).tasks[0].name == "开门 \udce9 😀"


def test_two_runs_are_compared_by_their_newest_states(run: Path, tmp_path: Path):
    other = tmp_path / "runs" / "other"
    save_checkpoint(other, 2000, states=pass_reach(document(step=2000, weights="w2000")))

    found = compare(run, other)

    assert found.old.endswith("runs/mt50/checkpoints/step-00001000/task_state.json")
    assert found.new.endswith("runs/other/checkpoints/step-00002000/task_state.json")
    assert [(change.task, change.entry) for change in found.changes] == [
        ("", "step"),
        ("", "weights"),
        ("mt50/0", "status"),
        ("mt50/0", "reason"),
    ]
