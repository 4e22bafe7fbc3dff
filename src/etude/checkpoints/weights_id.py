"""The identity of a set of weights: a hash of the tensors, not of the files that hold them."""

from collections.abc import Mapping

import torch
from torch import Tensor

from etude.core.types import ContentKey
from etude.store.content import bytes_digest, content_key


def weights_id(tensors: Mapping[str, Tensor]) -> ContentKey:
    """Return the same key for the same names, types, shapes and values, however they are stored."""
    rows = [
        [name, str(tensor.dtype), list(tensor.shape), _digest(tensor)]
        for name, tensor in sorted(tensors.items())
    ]
    return content_key("weights/1", rows)


def _digest(tensor: Tensor) -> str:
    flat = tensor.detach().cpu().contiguous().reshape(-1)
    return bytes_digest(flat.view(torch.uint8).numpy().data)
