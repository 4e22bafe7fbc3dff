import resource
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import Tensor

from etude.checkpoints.commit import CheckpointStore
from etude.checkpoints.dcp import load_dcp, save_dcp
from etude.checkpoints.hf import save_hf
from etude.core.errors import StorageError
from etude.core.types import CheckpointRef, ContentKey

MIB = 2**20


@contextmanager
def limited(folder: Path, *, by: str) -> Generator[None, None, None]:
    """Leave 3 MiB to `folder`: a file system of that size, or that limit to every file.

    Only root may mount, so everywhere else the limit stands in for the small disk.
    """
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(folder)]
    if by == "disk" and subprocess.run(mount, capture_output=True).returncode == 0:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 * MIB, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def folder(tmp_path: Path) -> Generator[Path, None, None]:
    yield tmp_path / "run"
    subprocess.run(["umount", str(tmp_path / "run")], capture_output=True)


def tensors(mebibytes: int) -> dict[str, Tensor]:
    return {"weight": torch.full((mebibytes * MIB // 4,), float(mebibytes))}


def save(
    store: CheckpointStore, step: int, state: dict[str, Tensor], *, form: str, needed: int = 1000
) -> CheckpointRef:
    def write(folder: Path) -> None:
        if form == "dcp":
            save_dcp(folder / "dcp", state)
        else:
            save_hf(folder / "hf", config={}, tensors=state, card="")

    return store.save(step, write, weights=ContentKey("w"), needed_bytes=needed)


@pytest.mark.parametrize("by", ["disk", "limit"])
@pytest.mark.parametrize("form", ["dcp", "hf"])
def test_a_disk_that_fills_during_a_save_keeps_the_old_checkpoint_and_no_torn_one(
    folder: Path, by: str, form: str
):
    with limited(folder, by=by):
        store = CheckpointStore(folder / "checkpoints")
        first = save(store, 10, tensors(1), form="dcp")
        with pytest.raises(StorageError) as caught:
            save(store, 20, tensors(4), form=form)

        target = folder / "checkpoints" / "step-00000020"
        assert str(caught.value).startswith(f"{target} cannot be written: ")
        assert str(caught.value).endswith(", 1,000 bytes needed")
        assert caught.value.hint != ""
        assert sorted(path.name for path in store.folder.iterdir()) == ["LATEST", "step-00000010"]
        assert store.latest() == first
        state = {"weight": torch.zeros(MIB // 4)}
        load_dcp(store.path(first) / "dcp", state)
        assert torch.equal(state["weight"], torch.ones(MIB // 4))
        assert save(store, 20, {"weight": torch.zeros(8)}, form=form).step == 20


def test_a_second_checkpoint_that_cannot_fit_is_refused_before_it_is_begun(folder: Path):
    with limited(folder, by="disk"):
        store = CheckpointStore(folder / "checkpoints")
        first = save(store, 10, tensors(1), form="dcp")

        with pytest.raises(
            StorageError, match=r"no space left on the disk, 4,096,000,000,000,000 bytes needed"
        ):
            save(store, 20, tensors(1), form="dcp", needed=4_096_000_000_000_000)

        assert store.latest() == first
