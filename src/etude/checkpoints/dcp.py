"""Training state as a torch.distributed.checkpoint folder."""
# pyright: reportUnknownVariableType=false

import errno
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch.distributed.checkpoint as dcp
from torch import Tensor
from torch.distributed.checkpoint._nested_dict import (  # the writer's own names
    flatten_state_dict,
)
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner
from torch.distributed.checkpoint.filesystem import FileSystemWriter
from torch.distributed.checkpoint.metadata import MetadataIndex, TensorStorageMetadata
from torch.distributed.checkpoint.planner import SavePlan
from torch.distributed.checkpoint.storage import WriteResult

from etude.checkpoints.copies import Take, own_part, themselves
from etude.core.errors import DataError, StateError
from etude.core.protocols import Ranks
from etude.core.ranks import Solo, together
from etude.store.atomic import storage_errors


class DcpWrite:
    """Tensors of all ranks on their way into one folder.

    Between the planning, which all ranks do together, and the end, which one does for all, no rank
    waits for another: `write` may run beside anything else.
    """

    def __init__(
        self, folder: Path, state: Mapping[str, Any], ranks: Ranks, *, take: Take = themselves
    ) -> None:
        """Agree with the other ranks on who writes what; a tensor that all have is written once.

        Args:
            folder: The same for all ranks.
            state: Nested tensors, sharded or not, and plain values.
            ranks: Who writes.
            take: Asked now, by dotted name, for what `write` shall write of each tensor that
                this rank writes.

        Raises:
            StorageError: The folder cannot be written, on whatever rank.
        """
        self._state = dict(state)
        self._planner = _Planner()
        self._writer = FileSystemWriter(folder)
        self._folder = folder
        plans = together(ranks, lambda: self._own_plan(ranks.rank))
        plans, self._metadata = self._planner.create_global_plan(plans)
        self._plan = self._planner.finish_plan(self._writer.prepare_global_plan(plans)[ranks.rank])
        self._planner.take_all(self._plan, take)

    def write(self) -> list[WriteResult]:
        """Write this rank's part.

        Raises:
            OSError: The disk is full or read-only.
        """
        try:
            written = self._writer.write_data(self._plan, self._planner)
            written.wait()
            return written.value()
        except RuntimeError as error:
            if "No space left" in str(error) or "unexpected pos" in str(error):
                raise OSError(errno.ENOSPC, "no space left on the disk") from error
            raise

    def files(self, results: Iterable[WriteResult]) -> list[Path]:
        """Return the files that hold what one rank has written."""
        return sorted({self._folder / result.storage_data.relative_path for result in results})

    def finish(self, results: list[list[WriteResult]]) -> None:
        """Say in the folder where everything is, once all ranks have written."""
        self._writer.finish(self._metadata, results)

    def _own_plan(self, rank: int) -> SavePlan:
        with storage_errors(self._folder):
            self._planner.set_up_planner(self._state, is_coordinator=rank == 0)
            self._writer.set_up_storage_writer(rank == 0)
            return self._writer.prepare_local_plan(self._planner.create_local_plan())


class _Planner(DefaultSavePlanner):
    """Writes what was taken of the tensors instead of the tensors."""

    def __init__(self) -> None:
        super().__init__()
        self._taken: dict[str, Tensor] = {}

    def take_all(self, plan: SavePlan, take: Take) -> None:
        """Take every tensor that `plan` writes; a rank holds one part of each at most."""
        for name in {item.index.fqn for item in plan.items}:
            value = self.state_dict[name]
            if isinstance(value, Tensor):
                self._taken[name] = take(name, own_part(value))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """Return what stands for the entry at `index`."""
        taken = self._taken.get(index.fqn)
        return super().lookup_object(index) if taken is None else taken


def save_dcp(folder: Path, state: Mapping[str, Any]) -> None:
    """Write nested tensors and plain values of one process.

    Raises:
        StorageError: The folder cannot be written.
        OSError: The disk is full or read-only.
    """
    write = DcpWrite(folder, state, Solo())
    write.finish([write.write()])


def load_dcp(folder: Path, state: dict[str, Any]) -> None:
    """Read into the tensors of `state`, in place.

    Raises:
        DataError: The folder holds no training state.
        StateError: The checkpoint lacks a name that `state` has, has one that it lacks, or has a
            tensor of another shape or type.
    """
    saved = _saved(folder)
    wanted: dict[str, Any] = flatten_state_dict(state)[0]
    problems = _misfits(saved, wanted)
    if problems:
        raise StateError(
            f"{folder} does not fit this run: {'; '.join(problems)}",
            hint="Resume with the policy and optimiser that the checkpoint was saved with.",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        dcp.load(state, checkpoint_id=folder, no_dist=True)


def parts_in(folder: Path) -> set[str]:
    """Return the outermost names of what a folder holds.

    Raises:
        DataError: The folder holds no training state.
    """
    return {name.partition(".")[0] for name in _saved(folder)}


def _saved(folder: Path) -> Mapping[str, object]:
    try:
        return dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
    except FileNotFoundError as error:
        raise DataError(
            f"{folder} holds no training state: {error.strerror}",
            hint="Restore the checkpoint from a copy, or remove it to fall back to an older one.",
        ) from error


def _misfits(saved: Mapping[str, object], wanted: Mapping[str, object]) -> list[str]:
    changed = [
        f"{name} ({there}, not {here})"
        for name in sorted(saved.keys() & wanted.keys())
        if (there := _form(saved[name])) != (here := _form(wanted[name]))
    ]
    groups = (
        (sorted(wanted.keys() - saved.keys()), "missing"),
        (sorted(saved.keys() - wanted.keys()), "not wanted"),
        (changed, "of another shape or type"),
    )
    return [f"{len(names)} entries are {what}: {_few(names)}" for names, what in groups if names]


def _form(value: object) -> str:
    """Return the type and shape of a tensor or of its description; other values are one kind."""
    match value:
        case Tensor():
            return f"{value.dtype} {list(value.shape)}"
        case TensorStorageMetadata():
            return f"{value.properties.dtype} {list(value.size)}"
        case _:
            return "a plain value"


def _few(names: list[str]) -> str:
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
