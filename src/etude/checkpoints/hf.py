"""The export that other programs read: config.json, model.safetensors, README.md."""
# pyright: reportUnknownVariableType=false

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from etude.core.errors import PolicyError
from etude.store.atomic import read_json, write_json, write_text

CONFIG = "config.json"
TENSORS = "model.safetensors"
CARD = "README.md"


def save_hf(
    folder: Path, *, config: Mapping[str, Any], tensors: Mapping[str, Tensor], card: str
) -> None:
    """Write an export of inference weights into `folder`, which must not exist.

    Raises:
        OSError: The disk is full or read-only.
    """
    folder.mkdir(parents=True)
    write_json(folder / CONFIG, dict(config))
    try:
        save_file(_apart(tensors), folder / TENSORS, metadata={"format": "pt"})
    except SafetensorError as error:
        if refusal := re.search(r"\(os error (\d+)\)", str(error)):
            raise OSError(int(refusal[1]), str(error)) from error
        raise
    write_text(folder / CARD, card)


def load_hf(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the config and tensors of an export.

    Raises:
        PolicyError: The folder is no export, or its tensors are torn.
        DataError: Its config is no JSON object.
    """
    for name in (CONFIG, TENSORS):
        if not (folder / name).is_file():
            raise PolicyError(
                f"{folder} holds no {name}",
                hint="Give --policy.path a checkpoint folder or its hf/ folder.",
            )
    try:
        return read_json(folder / CONFIG), load_file(folder / TENSORS)
    except SafetensorError as error:
        raise PolicyError(
            f"{folder / TENSORS} cannot be read: {error}",
            hint="Use another checkpoint; this file is torn.",
        ) from error


def _apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return contiguous tensors none of which shares memory with another, as the format wants."""
    taken: set[int] = set()
    apart: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().contiguous()
        place = plain.untyped_storage().data_ptr()
        apart[name] = plain.clone() if place in taken else plain
        taken.add(place)
    return apart
