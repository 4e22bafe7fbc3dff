from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from etude.checkpoints.card import model_card
from etude.checkpoints.hf import load_hf, save_hf
from etude.core.errors import DataError, PolicyError
from etude.core.types import ContentKey

CONFIG = {
    "type": "chunk",
    "dataset": "me/toy",
    "tasks": [
        {"id": "toy/0", "name": "open", "text": "open | the\ndoor"},
        {"id": "toy/1", "name": "push", "text": "推 it"},
    ],
}


def test_config_tensors_and_card_come_back(tmp_path: Path):
    tensors = {
        "b": torch.arange(3),
        "a": torch.ones(2, dtype=torch.bfloat16),
        "s": torch.tensor(2.5),
    }

    save_hf(tmp_path / "hf", config=CONFIG, tensors=tensors, card="# A card\n")

    config, loaded = load_hf(tmp_path / "hf")
    assert config == CONFIG
    assert loaded.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert loaded[name].dtype == tensor.dtype
        assert torch.equal(loaded[name], tensor)
    assert (tmp_path / "hf" / "README.md").read_text() == "# A card\n"


def test_other_programs_are_told_whose_format_the_tensors_have(tmp_path: Path):
    save_hf(tmp_path / "hf", config={}, tensors={"a": torch.ones(1)}, card="")

    with safe_open(tmp_path / "hf" / "model.safetensors", framework="pt") as file:
        assert file.metadata() == {"format": "pt"}


def test_tensors_that_share_memory_or_lie_askew_are_saved_apart(tmp_path: Path):
    base = torch.arange(6.0).reshape(2, 3)
    tensors = {"tied": base, "twin": base, "turned": base.T, "row": base[1], "column": base[:, 1]}
    tensors["trained"] = base.clone().requires_grad_()

    save_hf(tmp_path / "hf", config={}, tensors=tensors, card="")

    _, loaded = load_hf(tmp_path / "hf")
    assert {name: t.tolist() for name, t in loaded.items()} == {
        "tied": [[0, 1, 2], [3, 4, 5]],
        "twin": [[0, 1, 2], [3, 4, 5]],
        "turned": [[0, 3], [1, 4], [2, 5]],
        "row": [3, 4, 5],
        "column": [1, 4],
        "trained": [[0, 1, 2], [3, 4, 5]],
    }


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_folder_that_is_no_export_says_which_file_it_lacks(tmp_path: Path, name: str):
    save_hf(tmp_path / "hf", config={}, tensors={"a": torch.ones(1)}, card="")
    (tmp_path / "hf" / name).unlink()

    with pytest.raises(PolicyError) as caught:
        load_hf(tmp_path / "hf")

    assert str(caught.value) == f"{tmp_path / 'hf'} holds no {name}"
    assert caught.value.hint == "Give --policy.path a checkpoint folder or its hf/ folder."


@pytest.mark.parametrize("kept", [0, 4, 40, 100])
def test_torn_tensors_are_named(tmp_path: Path, kept: int):
    save_hf(tmp_path / "hf", config={}, tensors={"a": torch.ones(100)}, card="")
    path = tmp_path / "hf" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])

    with pytest.raises(PolicyError, match=r"model\.safetensors cannot be read"):
        load_hf(tmp_path / "hf")


def test_a_torn_config_is_named(tmp_path: Path):
    save_hf(tmp_path / "hf", config={"a": 1}, tensors={"a": torch.ones(1)}, card="")
    (tmp_path / "hf" / "config.json").write_text('{"a": ')

    with pytest.raises(DataError, match=r"config\.json is not JSON"):
        load_hf(tmp_path / "hf")


def test_the_card_names_step_weights_and_tasks_and_claims_nothing():
    card = model_card(CONFIG, step=300, weights=ContentKey("abc123"))

    assert card == (
        "---\nlicense: apache-2.0\nlibrary_name: etude\npipeline_tag: robotics\ntags:\n- robotics\n"
        "- etude\ndatasets:\n- me/toy\n---\n\n"
        "# chunk policy, step 300\n\n"
        "A policy for 2 tasks, trained with Etude on `me/toy`.\n"
        "Weights id: `abc123`. Success rates are measured by `etude eval`, not stated here.\n\n"
        "Evaluate it: `etude eval --policy.path PATH_OF_THIS_FOLDER`\n\n"
        "| id | task | instruction |\n|---|---|---|\n"
        "| toy/0 | open | open \\| the door |\n"
        "| toy/1 | push | 推 it |\n"
    )
