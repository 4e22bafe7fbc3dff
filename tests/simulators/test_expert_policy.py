import numpy as np
import pytest

from etude.core.errors import PolicyError
from etude.core.types import Observation, Task, TaskId
from etude.simulators.expert_config import ExpertConfig
from etude.simulators.expert_policy import ExpertPolicy, build_expert_policy
from etude.testing.conformance import check_policy
from etude.testing.toy_benchmark import ToyBenchmarkConfig, build_toy_benchmark

TASKS = tuple(
    Task(id=TaskId(f"toys/{index}"), index=index, name=f"toy-{index}", text="Play.")
    for index in range(2)
)


def policy() -> ExpertPolicy:
    benchmark = build_toy_benchmark(ToyBenchmarkConfig(tasks=TASKS))
    return build_expert_policy(ExpertConfig(), benchmark=benchmark)


def observation(task: str, *state: float) -> Observation:
    return Observation(task=TaskId(task), state=np.array(state, np.float32))


def test_the_expert_policy_keeps_its_contract() -> None:
    check_policy(policy(), [observation("toys/0", 0, 1, 0, 1), observation("toys/1", 1, 1, 1, 1)])


def test_each_observation_gets_one_action_of_its_own_expert() -> None:
    chunks = policy().act(
        [observation("toys/0", 0.5, 0, 0, 0.5), observation("toys/1", -8, 0, 0, 0)], seed=0
    )

    assert [chunk.actions.tolist() for chunk in chunks] == [[[0.25, 0.25]], [[-1.0, -1.0]]]
    assert all(chunk.valid.tolist() == [True] for chunk in chunks)


def test_two_builds_of_the_same_experts_have_one_key() -> None:
    assert policy().key == policy().key


def test_a_task_without_an_expert_is_named() -> None:
    with pytest.raises(PolicyError, match=r"^toys/7 has no scripted expert$"):
        policy().act([observation("toys/7", 0, 0, 0, 0)], seed=0)


def test_a_state_of_another_shape_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"^toys/0 has a state of shape \(3,\), not \(4,\)$"):
        policy().act([observation("toys/0", 0, 0, 0)], seed=0)
