"""Training state as a torch.distributed.checkpoint folder."""
# pyright: reportUnknownVariableType=false

import errno
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch.distributed.checkpoint as dcp
from torch import Tensor
from torch.distributed.checkpoint._nested_dict import (  # the writer's own names
    flatten_state_dict,
)
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.metadata import TensorStorageMetadata

from etude.core.errors import DataError, StateError


def save_dcp(folder: Path, state: Mapping[str, Any]) -> None:
    """Write nested tensors and plain values.

    Raises:
        OSError: The disk is full or read-only.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            dcp.save(dict(state), checkpoint_id=folder, no_dist=True)
    except CheckpointException as error:
        for failure, _ in error.failures.values():
            if isinstance(failure, OSError):
                raise failure from error
            if "No space left" in str(failure) or "unexpected pos" in str(failure):
                raise OSError(errno.ENOSPC, "no space left on the disk") from error
        raise


def load_dcp(folder: Path, state: dict[str, Any]) -> None:
    """Read into the tensors of `state`, in place.

    Raises:
        DataError: The folder holds no training state.
        StateError: The checkpoint lacks a name that `state` has, has one that it lacks, or has a
            tensor of another shape or type.
    """
    try:
        saved = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
    except FileNotFoundError as error:
        raise DataError(
            f"{folder} holds no training state: {error.strerror}",
            hint="Restore the checkpoint from a copy, or remove it to fall back to an older one.",
        ) from error
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
