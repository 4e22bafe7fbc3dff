import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)

from etude.checkpoints.dcp import load_dcp, save_dcp
from etude.core.errors import DataError, StateError, StorageError


def trained(seed: int, *, steps: int = 2) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a small network with one frozen layer and the optimiser that has moved it."""
    torch.manual_seed(seed)
    module = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    module[0].requires_grad_(requires_grad=False)
    module.register_buffer("seen", torch.tensor(seed, dtype=torch.int64))
    moving = [p for p in module.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(moving, lr=0.1 * (seed + 1))
    for _ in range(steps):
        optimizer.zero_grad()
        module(torch.ones(5, 3)).square().sum().backward()
        optimizer.step()
    return module, optimizer


def state_of(module: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    return {"model": module.state_dict(), "optimizer": get_optimizer_state_dict(module, optimizer)}


def assert_same(one: Any, two: Any) -> None:
    """Assert that two nested states are equal to the last bit."""
    if isinstance(one, dict):
        assert one.keys() == two.keys()
        for key in one:
            assert_same(one[key], two[key])
    elif isinstance(one, torch.Tensor):
        assert one.dtype == two.dtype
        assert torch.equal(one, two)
    elif isinstance(one, list):
        assert len(one) == len(two)
        for left, right in zip(one, two, strict=True):
            assert_same(left, right)
    else:
        assert one == two


def test_everything_comes_back_also_of_frozen_layers_and_the_optimiser(tmp_path: Path):
    saved = state_of(*trained(0))
    save_dcp(tmp_path / "dcp", saved)
    module, optimizer = trained(1, steps=1)
    state = state_of(module, optimizer)

    load_dcp(tmp_path / "dcp", state)
    module.load_state_dict(state["model"])
    set_optimizer_state_dict(module, optimizer, state["optimizer"])

    assert_same(state_of(module, optimizer), saved)
    assert optimizer.param_groups[0]["lr"] == 0.1


def test_a_run_that_was_put_back_takes_the_same_next_step(tmp_path: Path):
    module, optimizer = trained(0)
    save_dcp(tmp_path / "dcp", state_of(module, optimizer))
    other, other_optimizer = trained(1)
    state = state_of(other, other_optimizer)
    load_dcp(tmp_path / "dcp", state)
    other.load_state_dict(state["model"])
    set_optimizer_state_dict(other, other_optimizer, state["optimizer"])

    for network, optimiser in ((module, optimizer), (other, other_optimizer)):
        optimiser.zero_grad()
        network(torch.ones(5, 3)).square().sum().backward()
        optimiser.step()

    assert_same(state_of(other, other_optimizer), state_of(module, optimizer))


def test_every_kind_of_value_comes_back(tmp_path: Path):
    def state(full: int) -> dict[str, Any]:
        return {
            "half": torch.full((3,), 1.5 * full, dtype=torch.bfloat16),
            "counts": torch.full((2, 2), 7 * full),
            "flags": torch.full((2,), bool(full)),
            "scalar": torch.tensor(0.1 * full, dtype=torch.float64),
            "empty": torch.zeros(0),
            "strided": torch.arange(6.0).reshape(2, 3).T * full,
            "step": 12 * full,
            "words": ["a" * full],
            "nested": {"deep": {"x": torch.ones(1) * full}, "nothing": {}},
            "list": [{"lr": 0.1 * full, "betas": (0.9 * full, 0.99)}],
        }

    save_dcp(tmp_path / "dcp", state(1))
    loaded = state(0)

    load_dcp(tmp_path / "dcp", loaded)

    assert_same(loaded, state(1))


def test_names_that_are_missing_or_not_wanted_are_both_listed_with_their_counts(tmp_path: Path):
    saved = state_of(*trained(0))
    del saved["model"]["1.weight"]
    del saved["optimizer"]["state"]["1.bias"]["exp_avg"]
    saved["model"]["2.weight"] = torch.ones(1)
    save_dcp(tmp_path / "dcp", saved)
    wanted = state_of(*trained(1))
    before = wanted["model"]["1.bias"].clone()

    with pytest.raises(StateError) as caught:
        load_dcp(tmp_path / "dcp", wanted)

    assert str(caught.value) == (
        f"{tmp_path / 'dcp'} does not fit this run: "
        "2 entries are missing: model.1.weight, optimizer.state.1.bias.exp_avg; "
        "1 entries are not wanted: model.2.weight"
    )
    assert torch.equal(wanted["model"]["1.bias"], before)


def test_tensors_of_another_shape_or_type_are_listed(tmp_path: Path):
    save_dcp(tmp_path / "dcp", {"a": torch.ones(2, 3), "b": torch.ones(2), "c": 1, "d": 1})

    with pytest.raises(StateError) as caught:
        load_dcp(
            tmp_path / "dcp",
            {
                "a": torch.ones(3, 2),
                "b": torch.ones(2, dtype=torch.bfloat16),
                "c": torch.ones(()),
                "d": 2,
            },
        )

    assert str(caught.value).split(": ", 1)[1] == (
        "3 entries are of another shape or type: "
        "a (torch.float32 [2, 3], not torch.float32 [3, 2]), "
        "b (torch.float32 [2], not torch.bfloat16 [2]), "
        "c (a plain value, not torch.float32 [])"
    )


def test_a_folder_without_training_state_is_named(tmp_path: Path):
    with pytest.raises(DataError, match="dcp holds no training state: No such file"):
        load_dcp(tmp_path / "dcp", {"a": torch.ones(1)})


def test_a_state_that_is_moved_still_loads(tmp_path: Path):
    save_dcp(tmp_path / "here", {"a": torch.ones(2)})
    shutil.move(tmp_path / "here", tmp_path / "there")
    state = {"a": torch.zeros(2)}

    load_dcp(tmp_path / "there", state)

    assert state["a"].tolist() == [1.0, 1.0]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("x")

    with pytest.raises(StorageError, match="dcp cannot be written: Not a directory"):
        save_dcp(tmp_path / "file" / "dcp", {"a": torch.ones(2)})
