"""Beginning a run with the weights of another one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etude.checkpoints.hf import load_hf
from etude.checkpoints.weights_id import weights_id
from etude.core.errors import PolicyError, StateError
from etude.core.types import ContentKey
from etude.curriculum.task_state import FILE_NAME
from etude.train.trainable import Trainable


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialWeights:
    """Whose weights training begins with."""

    key: ContentKey
    beside: Path | None
    """Folder that may hold their task states; None for new weights."""


def initial_weights(path: str, module: Trainable) -> InitialWeights:
    """Put the weights of a checkpoint or an export into `module`; without a path they stay new.

    Raises:
        StateError: There is no such folder.
        PolicyError: It holds no export, or one of another policy.
    """
    if not path:
        return InitialWeights(key=weights_id(module.state_dict()), beside=None)
    folder = Path(path)
    if not folder.is_dir():
        raise StateError(
            f"init is {folder}, where there is no folder",
            hint="Give it a checkpoint, e.g. runs/mt50/checkpoints/step-00001000, or its hf.",
        )
    export = folder / "hf" if (folder / "hf").is_dir() else folder
    _, tensors = load_hf(export)
    _require_same(module.state_dict(), tensors, export)
    module.load_state_dict(tensors)
    beside = folder if (folder / FILE_NAME).exists() else export
    return InitialWeights(key=weights_id(tensors), beside=beside)


def _require_same(wanted: Mapping[str, Any], found: Mapping[str, Any], folder: Path) -> None:
    shapes = {name: list(tensor.shape) for name, tensor in wanted.items()}
    held = {name: list(tensor.shape) for name, tensor in found.items()}
    other = [
        f"{name} {held.get(name, 'missing')}, not {shapes.get(name, 'wanted')}"
        for name in sorted({*shapes, *held})
        if shapes.get(name) != held.get(name)
    ]
    if other:
        raise PolicyError(
            f"{folder} has {len(other)} tensors that this policy has not or in another shape "
            f"({'; '.join(other[:4])})",
            hint="Train with the policy settings and the tasks of that run, or leave out init.",
        )
