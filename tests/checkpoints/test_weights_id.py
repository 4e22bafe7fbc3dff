import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from etude.checkpoints.dcp import load_dcp, save_dcp
from etude.checkpoints.hf import load_hf, save_hf
from etude.checkpoints.weights_id import weights_id
from etude.store.content import bytes_digest

DTYPES = (torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.float64)

shapes = st.lists(st.integers(0, 4), max_size=3)


@st.composite
def drawn_tensors(draw: st.DrawFn) -> dict[str, Tensor]:
    """Draw some named tensors of mixed types and shapes, empty and scalar ones among them."""
    tensors: dict[str, Tensor] = {}
    for name in draw(st.lists(st.sampled_from("abcdefg"), unique=True, min_size=1, max_size=4)):
        shape, dtype = draw(shapes), draw(st.sampled_from(DTYPES))
        random = torch.Generator().manual_seed(draw(st.integers(0, 99)))
        tensors[name] = torch.randint(0, 100, shape, generator=random).to(dtype)
    return tensors


def example() -> dict[str, Tensor]:
    return {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([1, 2])}


def test_the_id_of_known_weights_never_changes():
    a = bytes_digest(struct.pack("<6f", 0, 1, 2, 3, 4, 5))
    b = bytes_digest(struct.pack("<2q", 1, 2))
    rows = f'[["a", "torch.float32", [2, 3], "{a}"], ["b", "torch.int64", [2], "{b}"]]'

    key = weights_id(example())

    assert key == "f7b74cc547b72cc9321f910164aaa2b9a258775f518c5057f8f2294ddc439f48"
    assert key == bytes_digest(f'["weights/1", {rows}]'.encode())


@given(drawn_tensors(), st.randoms())
def test_the_order_of_names_does_not_matter(tensors: dict[str, Tensor], random: object):
    shuffled = list(tensors.items())
    random.shuffle(shuffled)

    assert weights_id(dict(shuffled)) == weights_id(tensors)


@given(drawn_tensors())
def test_both_forms_on_disk_give_the_id_back(tensors: dict[str, Tensor]):
    with TemporaryDirectory() as folder:
        save_hf(Path(folder) / "hf", config={}, tensors=tensors, card="")
        save_dcp(Path(folder) / "dcp", tensors)
        state = {name: torch.zeros_like(tensor) for name, tensor in tensors.items()}
        load_dcp(Path(folder) / "dcp", state)

        assert weights_id(load_hf(Path(folder) / "hf")[1]) == weights_id(tensors)
        assert weights_id(state) == weights_id(tensors)


@given(drawn_tensors(), st.data())
def test_any_one_change_is_another_id(tensors: dict[str, Tensor], data: st.DataObject):
    name = data.draw(st.sampled_from(sorted(tensors)))
    tensor = tensors[name]
    change = data.draw(st.sampled_from(("value", "type", "shape", "name", "absence", "presence")))
    changed = {key: value.clone() for key, value in tensors.items()}
    if change == "value":
        if tensor.numel() == 0:
            return
        place = data.draw(st.integers(0, tensor.numel() - 1))
        changed[name].view(-1)[place] += 1
    elif change == "type":
        other = data.draw(st.sampled_from([dtype for dtype in DTYPES if dtype != tensor.dtype]))
        changed[name] = tensor.to(other)
    elif change == "shape":
        changed[name] = tensor.unsqueeze(0)
    elif change == "name":
        changed["renamed"] = changed.pop(name)
    elif change == "absence":
        del changed[name]
    else:
        changed["more"] = torch.zeros(0)

    assert weights_id(changed) != weights_id(tensors)


def test_how_a_tensor_lies_in_memory_does_not_matter():
    plain = torch.arange(6.0).reshape(2, 3)
    turned = plain.T.contiguous().T
    inside = torch.zeros(4, 5)
    inside[1:3, 1:4] = plain

    ids = {weights_id({"a": tensor}) for tensor in (plain, turned, inside[1:3, 1:4])}

    assert not turned.is_contiguous()
    assert len(ids) == 1


def test_swapped_tensors_are_another_id():
    one, two = torch.zeros(2), torch.ones(2)

    assert weights_id({"a": one, "b": two}) != weights_id({"a": two, "b": one})


def test_a_parameter_and_its_values_are_alike():
    values = torch.ones(2, 2)

    assert weights_id({"a": torch.nn.Parameter(values)}) == weights_id({"a": values})
