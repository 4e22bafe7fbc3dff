import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from etude.checkpoints.hf import save_hf
from etude.core.errors import DataError, PolicyError
from etude.core.types import Observation, TaskId
from etude.policies.chunk_config import ChunkConfig
from etude.policies.chunk_module import ChunkModule, build_chunk_module
from etude.policies.chunk_policy import ChunkPolicy, load_chunk_policy
from etude.testing.conformance import check_policy
from etude.testing.fakes import toy_tasks, walk_dataset

TASKS = toy_tasks(3)


def module_of(**settings: Any) -> ChunkModule:
    """Return a small fresh module, the same one for the same settings."""
    torch.manual_seed(0)
    config = ChunkConfig(**({"width": 16, "blocks": 2, "task_dim": 4} | settings))
    dataset = walk_dataset({task.id: (5,) for task in TASKS}, tasks=TASKS)
    return build_chunk_module(config, dataset=dataset, episodes=dataset.episodes)[0]


def export(folder: Path, module: ChunkModule) -> Path:
    save_hf(folder, config=module.describe(), tensors=module.state_dict(), card="")
    return folder


def observations(count: int, *, seed: int = 0) -> list[Observation]:
    random = np.random.default_rng(seed)
    return [
        Observation(task=TASKS[i % 3].id, state=random.normal(size=3).astype(np.float32))
        for i in range(count)
    ]


def actions_of(policy: ChunkPolicy, seen: list[Observation]) -> list[np.ndarray]:
    return [chunk.actions for chunk in policy.act(seen, seed=0)]


def test_it_keeps_the_contract_of_policies():
    check_policy(ChunkPolicy(module_of()), observations(5))
    check_policy(ChunkPolicy(module_of(horizon=3, execute=3)), observations(1))


def test_it_acts_as_its_module_predicts_in_the_units_of_the_data():
    module = module_of()
    seen = observations(4)

    acted = actions_of(ChunkPolicy(module), seen)

    states = torch.from_numpy(np.stack([one.state for one in seen]))
    predicted = module.predict(states, torch.tensor([0, 1, 2, 0]))
    np.testing.assert_array_equal(np.stack(acted), predicted.numpy())


def test_at_one_batch_shape_a_row_never_depends_on_the_others():
    policy = ChunkPolicy(module_of(width=64))
    one, other = observations(16, seed=1), observations(16, seed=2)
    together = actions_of(policy, one)

    for place in range(16):
        padded = [*other[:place], one[place], *other[place + 1 :]]
        alone = [one[place]] * 16
        np.testing.assert_array_equal(actions_of(policy, padded)[place], together[place])
        np.testing.assert_array_equal(actions_of(policy, alone)[place], together[place])


def test_at_another_batch_shape_actions_agree_closely():
    policy = ChunkPolicy(module_of(width=64))
    seen = observations(16)

    together = actions_of(policy, seen)

    for place in range(16):
        np.testing.assert_allclose(
            actions_of(policy, [seen[place]])[0], together[place], rtol=1e-4, atol=1e-5
        )


def test_the_seed_has_no_effect():
    policy = ChunkPolicy(module_of())
    seen = observations(3)

    one, two = policy.act(seen, seed=1), policy.act(seen, seed=2)

    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first.actions, second.actions)


def test_nothing_seen_is_nothing_done():
    assert ChunkPolicy(module_of()).act([], seed=0) == []


def test_the_task_is_heeded():
    policy = ChunkPolicy(module_of())
    state = np.ones(3, np.float32)

    first, second = actions_of(policy, [Observation(task=t.id, state=state) for t in TASKS[:2]])

    assert not np.array_equal(first, second)


def test_an_unknown_task_is_named():
    stranger = Observation(task=TaskId("toy/99"), state=np.zeros(3, np.float32))

    with pytest.raises(PolicyError, match="task toy/99 is none of the 3 tasks"):
        ChunkPolicy(module_of()).act([stranger], seed=0)


@pytest.mark.parametrize("size", [0, 2, 4])
def test_a_state_of_another_size_is_named(size: int):
    seen = Observation(task=TASKS[0].id, state=np.zeros(size, np.float32))

    with pytest.raises(PolicyError) as caught:
        ChunkPolicy(module_of()).act([*observations(2), seen], seed=0)

    assert str(caught.value) == f"a state of toy/0 has shape ({size},), not (3,)"


def test_double_precision_states_act_as_their_single_precision_values():
    policy = ChunkPolicy(module_of())
    seen = observations(3)
    doubled = observations(3)
    for one in doubled:
        # Around the type check: outside tests nothing stops a simulator that returns float64.
        object.__setattr__(one, "state", one.state.astype(np.float64))

    for single, double in zip(actions_of(policy, seen), actions_of(policy, doubled), strict=True):
        assert double.dtype == np.float32
        np.testing.assert_array_equal(double, single)


def test_a_policy_that_was_saved_acts_as_before_bit_for_bit(tmp_path: Path):
    module = module_of(differences=((0, 1, 2),), scales=(0.5, 0.25), horizon=5, execute=2)
    policy = ChunkPolicy(module)
    export(tmp_path / "step-00000010" / "hf", module)

    for path in (tmp_path / "step-00000010", tmp_path / "step-00000010" / "hf"):
        loaded = load_chunk_policy(path)

        assert loaded.key == policy.key
        assert (loaded.horizon, loaded.execute) == (5, 2)
        assert loaded.config == module.config
        assert loaded.tasks == TASKS
        for one, two in zip(
            actions_of(loaded, observations(4)), actions_of(policy, observations(4)), strict=True
        ):
            np.testing.assert_array_equal(one, two)


def test_whatever_changes_the_actions_changes_the_key():
    nudged = module_of()
    nudged.network.leave.bias.data[0] += 1e-3
    one_way, other_way = (module_of(differences=(d,)) for d in ((0, 1, 1), (1, 0, 1)))
    other_way.load_state_dict(one_way.state_dict())
    modules = [
        module_of(),
        nudged,
        module_of(execute=1),
        one_way,
        other_way,
    ]
    keys = {ChunkPolicy(module).key for module in modules}

    assert len(keys) == 5
    assert ChunkPolicy(module_of()).key == ChunkPolicy(module_of()).key


def rename_a_scale(tensors: dict[str, torch.Tensor]) -> None:
    tensors["setA.action_mean"] = tensors.pop("normaliser.action_mean")


def lose_the_scales(tensors: dict[str, torch.Tensor]) -> None:
    for name in ("action_mean", "action_std", "input_mean", "input_std"):
        del tensors[f"normaliser.{name}"]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            rename_a_scale,
            (
                "lacks 1 tensors (normaliser.action_mean) and has 1 that are not wanted "
                "(setA.action_mean)"
            ),
        ),
        (
            lose_the_scales,
            (
                "lacks 4 tensors (normaliser.action_mean, normaliser.action_std, "
                "normaliser.input_mean, normaliser.input_std) and has 0 that are not wanted (none)"
            ),
        ),
    ],
)
def test_scales_that_are_missing_or_renamed_are_an_error_with_both_names(
    tmp_path: Path, damage: Callable[[dict[str, torch.Tensor]], None], said: str
):
    folder = export(tmp_path / "hf", module_of())
    tensors = load_file(folder / "model.safetensors")
    damage(tensors)
    save_file(tensors, folder / "model.safetensors")

    with pytest.raises(PolicyError) as caught:
        load_chunk_policy(folder)

    assert str(caught.value) == f"{folder} {said}"


def test_actions_leave_in_the_units_of_the_data(tmp_path: Path):
    module = module_of()
    module.normaliser.action_mean.fill_(10.0)
    module.normaliser.action_std.fill_(2.0)
    module.network.leave.weight.data.zero_()
    module.network.leave.bias.data.copy_(torch.tensor([0.0, 1.0]).repeat(8))
    folder = export(tmp_path / "hf", module)

    acted = actions_of(load_chunk_policy(folder), observations(1))[0]

    assert acted.tolist() == [[10.0, 12.0]] * 8


def test_tensors_of_another_shape_are_named(tmp_path: Path):
    folder = export(tmp_path / "hf", module_of())
    tensors = load_file(folder / "model.safetensors")
    tensors["normaliser.action_mean"] = torch.zeros(7)
    save_file(tensors, folder / "model.safetensors")

    with pytest.raises(PolicyError) as caught:
        load_chunk_policy(folder)

    assert str(caught.value) == (
        f"{folder} has 1 tensors of another shape (normaliser.action_mean [7], not [2])"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "chunk/99"}, "holds a policy of schema 'chunk/99', not 'chunk/1'"),
        ({"schema": None}, "holds a policy of schema None, not 'chunk/1'"),
        ({"state_dim": None}, "does not say 'state_dim'"),
        ({"tasks": [{"id": "toy/0"}]}, "does not say 'index'"),
        ({"config": {"differences": [], "scales": []}}, ""),
        ({"config": {"differences": [], "scales": [], "magic": 1}}, "magic"),
        ({"config": {"differences": [], "scales": [], "width": 0}}, "width is 0"),
    ],
)
def test_a_config_that_does_not_fit_is_a_policy_error(
    tmp_path: Path, change: dict[str, Any], said: str
):
    folder = export(tmp_path / "hf", module_of())
    described = json.loads((folder / "config.json").read_text()) | change
    described = {name: value for name, value in described.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(described))

    with pytest.raises(PolicyError) as caught:
        load_chunk_policy(folder)

    assert said in str(caught.value)
    assert str(folder) in str(caught.value)


def test_a_folder_that_holds_no_policy_is_named(tmp_path: Path):
    with pytest.raises(PolicyError, match=r"holds no config\.json"):
        load_chunk_policy(tmp_path)
    export(tmp_path / "hf", module_of())
    (tmp_path / "hf" / "config.json").write_text("{")
    with pytest.raises(DataError, match="is not JSON"):
        load_chunk_policy(tmp_path)
