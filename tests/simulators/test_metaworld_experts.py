import subprocess
import sys

import numpy as np
import pytest

from etude.core.types import Task
from etude.simulators.metaworld import build_metaworld
from etude.simulators.metaworld_config import MetaworldConfig

pytestmark = pytest.mark.filterwarnings(r"ignore:Constant\(s\)")

FIFTY = build_metaworld(MetaworldConfig())


def solved_within(task: Task, *, seed: int, steps: int) -> bool:
    simulator, expert = FIFTY.make(task), FIFTY.expert(task)
    state = simulator.reset(seed=seed)
    for _ in range(steps):
        told = simulator.step(expert.action(state))
        if told.success:
            return True
        state = told.state
    return False


@pytest.mark.parametrize("task", FIFTY.tasks, ids=lambda task: task.name)
def test_an_expert_leaves_the_state_alone_and_stays_in_range(task: Task) -> None:
    states = np.random.default_rng(0).normal(0, 1, (20, 39)).astype(np.float32)
    kept = states.copy()
    expert = FIFTY.expert(task)

    actions = np.stack([expert.action(state) for state in states])

    np.testing.assert_array_equal(states, kept)
    assert actions.dtype == np.float32
    assert actions.shape == (20, 4)
    assert np.abs(actions).max() <= 1


def test_an_expert_warns_nobody_of_actions_that_are_clipped() -> None:
    script = (
        "import numpy as np\n"
        "from etude.simulators.metaworld_experts import MetaworldExpert\n"
        "print(MetaworldExpert('reach-v3').action(np.arange(39, dtype=np.float32)).tolist())"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("[1.0, 1.0, 1.0, 0.0]\n", "")


@pytest.mark.parametrize("name", ["door-close-v3", "door-open-v3", "coffee-button-v3"])
def test_an_expert_solves_its_task(name: str) -> None:
    task = next(task for task in FIFTY.tasks if task.name == name)

    assert solved_within(task, seed=0, steps=300)


@pytest.mark.slow
def test_every_expert_solves_its_task_for_one_of_three_seeds() -> None:
    unsolved = [
        task.name
        for task in FIFTY.tasks
        if not any(solved_within(task, seed=seed, steps=500) for seed in range(3))
    ]

    assert unsolved == []
