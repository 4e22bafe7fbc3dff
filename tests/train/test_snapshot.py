"""What one process saves and how it comes back: parts that are left out, and saves beside steps."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from etude.checkpoints.dcp import save_dcp
from etude.checkpoints.hf import load_hf
from etude.checkpoints.save_config import SaveConfig
from etude.checkpoints.weights_id import weights_id
from etude.core.errors import StateError
from etude.core.types import CheckpointRef, ContentKey
from etude.events.reader import read_events
from etude.train.loop import TrainingParts
from etude.train.restore import load_export, load_snapshot
from etude.train.snapshot import Saves
from etude.train.stop import StopRequest
from etude.train.trainable import Trainable
from training_run import assert_equal_weights, continue_run, events_after, make_loop, weights


class Diary:
    """A steering that counts what it is asked, and hands it over."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.saved: list[int] = []
        self.resumed: list[int] = []

    def after_step(self, step: int, average: Trainable) -> None:
        del average
        self.steps.append(step)

    def capture(self, step: int) -> Callable[[ContentKey], Mapping[str, bytes]]:
        text = json.dumps(self.steps)
        return lambda weights: {"task_state.json": f"{step} {weights} {text}".encode()}

    def extra(self, step: int) -> Mapping[str, Any]:
        return {"ledger": {"seq": step}}

    def committed(self, ref: CheckpointRef) -> None:
        self.saved.append(ref.step)

    def resume(self, folder: Path, step: int) -> None:
        assert (folder / "task_state.json").is_file()
        self.resumed.append(step)


def warnings_of(folder: Path) -> list[str]:
    return [r["message"] for r in read_events(folder / "events") if r["kind"] == "warned"]


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_checkpoint_holds_what_there_was_when_its_step_was_done(tmp_path: Path, mode: str):
    diary = Diary()
    loop, parts = make_loop(tmp_path, steps=7, save_every=3, steering=diary, mode=mode)

    loop.run(StopRequest())

    assert diary.steps == [1, 2, 3, 4, 5, 6, 7]
    assert diary.saved == [3, 6, 7]
    for step, seen in ((6, [1, 2, 3, 4, 5, 6]), (7, [1, 2, 3, 4, 5, 6, 7])):
        folder = parts.store.folder / f"step-{step:08d}"
        manifest = json.loads((folder / "MANIFEST.json").read_text())
        document = (folder / "task_state.json").read_text()
        assert document == f"{step} {manifest['weights']} {seen}"
        assert (folder / "hf" / "task_state.json").read_text() == document
        assert manifest["ledger"] == {"seq": step}
        assert manifest["topology"] == {"world_size": 1, "strategy": "single"}
        assert weights_id(load_hf(folder / "hf")[1]) == manifest["weights"]


def test_saving_beside_the_steps_changes_neither_weights_nor_events(tmp_path: Path):
    parts: list[TrainingParts] = []
    for mode in ("sync", "async"):
        loop, made = make_loop(tmp_path / mode, save_every=5, mode=mode)
        loop.run(StopRequest())
        parts.append(made)

    assert_equal_weights(parts[0], parts[1])
    assert events_after(tmp_path / "sync", 0) == events_after(tmp_path / "async", 0)


def test_what_is_written_later_is_what_was_there_at_the_instant(tmp_path: Path):
    _, parts = make_loop(tmp_path)
    optimisation = parts.optimisation
    saves = Saves(
        parts.store,
        optimisation,
        parts.loader.sampler,
        SaveConfig(mode="async"),
    )
    optimisation.step(parts.loader.next_batch().tensors, 0)
    before = {name: tensor.clone() for name, tensor in weights(parts).items()}

    saves.begin(1)
    for tensor in weights(parts).values():
        tensor.zero_()
    saves.commit()

    _, resumed = continue_run(tmp_path)
    for name, tensor in weights(resumed).items():
        assert torch.equal(tensor, before[name]), name


def test_a_steering_goes_on_with_the_checkpoint(tmp_path: Path):
    loop, _ = make_loop(tmp_path, steps=3, save_every=3, steering=Diary())
    loop.run(StopRequest())
    diary = Diary()

    again, _ = continue_run(tmp_path, steps=5, save_every=3, steering=diary)
    again.run(StopRequest())

    assert (diary.resumed, diary.steps, diary.saved) == ([3], [4, 5], [5])


def test_a_checkpoint_without_moments_says_that_they_begin_anew(tmp_path: Path):
    loop, parts = make_loop(tmp_path, steps=6, save_every=3, optimizer=False)
    loop.run(StopRequest())
    before = {name: tensor.clone() for name, tensor in weights(parts).items()}

    _, resumed = continue_run(tmp_path, steps=9)

    assert warnings_of(tmp_path) == ["step-00000006 has no optimiser state: its moments begin anew"]
    assert resumed.optimisation.optimizer.state_dict()["state"] == {}
    for name, tensor in weights(resumed).items():
        assert torch.equal(tensor, before[name]), name


def test_averages_that_were_not_saved_come_from_the_export(tmp_path: Path):
    loop, parts = make_loop(tmp_path, steps=6, save_every=3, ema=False)
    loop.run(StopRequest())
    before = {name: tensor.clone() for name, tensor in weights(parts).items()}

    _, resumed = continue_run(tmp_path, steps=9)

    assert warnings_of(tmp_path) == [
        "step-00000006 has no averaged weights for training: those of its export go on"
    ]
    for name, tensor in weights(resumed).items():
        assert torch.equal(tensor, before[name]), name


def test_without_export_and_averages_the_live_weights_are_averaged_anew(tmp_path: Path):
    loop, _ = make_loop(tmp_path, steps=7, save_every=3, ema=False, hf_every=100)
    loop.run(StopRequest())
    shutil.rmtree(tmp_path / "checkpoints" / "step-00000007")

    _, resumed = continue_run(tmp_path, steps=9)

    assert warnings_of(tmp_path) == [
        "step-00000006 has no averaged weights: they begin anew from the live ones"
    ]
    found = weights(resumed)
    for name in resumed.optimisation.module.state_dict():
        assert torch.equal(found[f"average.{name}"], found[f"live.{name}"]), name


def test_exports_are_as_rare_as_asked_and_the_last_checkpoint_has_one(tmp_path: Path):
    loop, parts = make_loop(tmp_path, steps=11, save_every=2, hf_every=4, keep_last=0)

    loop.run(StopRequest())

    exported = [
        step
        for step in parts.store.steps()
        if (parts.store.folder / f"step-{step:08d}" / "hf").is_dir()
    ]
    assert parts.store.steps() == [2, 4, 6, 8, 10, 11]
    assert exported == [4, 8, 11]


def test_missing_weights_and_moments_are_named_together(tmp_path: Path):
    loop, parts = make_loop(tmp_path, steps=3, save_every=3)
    ref = loop.run(StopRequest())
    folder = parts.store.path(ref)
    _, fresh = make_loop(tmp_path / "fresh", steps=3)
    fresh.optimisation.step(fresh.loader.next_batch().tensors, 0)
    state = {
        "model": fresh.optimisation.module.state_dict(),
        "average": fresh.optimisation.average.state_dict(),
    }
    del state["model"]["network.leave.bias"]
    shutil.rmtree(folder / "dcp")
    save_dcp(folder / "dcp", state)

    with pytest.raises(StateError) as caught:
        load_snapshot(parts.store, ref, fresh.optimisation, fresh.loader.sampler)

    assert "entries are missing: model.network.leave.bias, optimizer." in str(caught.value)


def test_an_export_alone_gives_weights_and_averages_and_no_moments(tmp_path: Path):
    loop, parts = make_loop(tmp_path, steps=3, save_every=3)
    ref = loop.run(StopRequest())
    exported = load_hf(parts.store.path(ref) / "hf")[1]
    _, fresh = make_loop(tmp_path / "fresh")

    load_export(parts.store.path(ref) / "hf", fresh.optimisation)

    found = weights(fresh)
    for name, tensor in exported.items():
        assert torch.equal(found[f"live.{name}"], tensor), name
        assert torch.equal(found[f"average.{name}"], tensor), name
    assert fresh.optimisation.optimizer.state_dict()["state"] == {}


def test_an_export_of_another_network_is_refused_by_name(tmp_path: Path):
    loop, parts = make_loop(tmp_path, steps=3, save_every=3)
    ref = loop.run(StopRequest())
    _, other = make_loop(tmp_path / "other", blocks=2)

    with pytest.raises(StateError, match=r"4 tensors are missing, .*network\.blocks\.1\.mix\.bias"):
        load_export(parts.store.path(ref) / "hf", other.optimisation)
