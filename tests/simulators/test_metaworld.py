import subprocess
import sys

import numpy as np
import pytest
from jaxtyping import Float32

from etude.core.errors import ConfigError, SimulatorError
from etude.core.types import Task, TaskId
from etude.simulators.metaworld import Metaworld, MetaworldSimulator, build_metaworld
from etude.simulators.metaworld_config import MetaworldConfig
from etude.testing.conformance import check_benchmark

pytestmark = pytest.mark.filterwarnings(r"ignore:Constant\(s\)")

FIFTY = build_metaworld(MetaworldConfig())
QUICK = ("door-open-v3", "hand-insert-v3", "lever-pull-v3", "stick-pull-v3")
DIGEST_SCRIPT = """
import hashlib, sys
import numpy as np
from etude.simulators.metaworld import build_metaworld
from etude.simulators.metaworld_config import MetaworldConfig

np.random.seed(int(sys.argv[1]))
digest = hashlib.sha256()
for task in (benchmark := build_metaworld(MetaworldConfig(tasks=("reach-v3", "sweep-v3")))).tasks:
    simulator = benchmark.make(task)
    digest.update(simulator.reset(seed=7).tobytes())
    for _ in range(20):
        digest.update(simulator.step(np.full(4, 0.5, np.float32)).state.tobytes())
print(digest.hexdigest())
"""


def simulator(name: str) -> MetaworldSimulator:
    benchmark = build_metaworld(MetaworldConfig(tasks=(name,)))
    return benchmark.make(benchmark.tasks[0])


def rollout(env: MetaworldSimulator, *, seed: int, steps: int) -> list[np.ndarray]:
    actions = np.random.default_rng(seed).uniform(-1, 1, (steps, 4)).astype(np.float32)
    told = [env.step(action) for action in actions]
    return [np.append(step.state, [step.reward, step.success]) for step in told]


def assert_use_leaves_no_trace(name: str) -> None:
    fresh, used = simulator(name), simulator(name)
    used.reset(seed=3)
    rollout(used, seed=2, steps=200)
    np.testing.assert_array_equal(used.reset(seed=7), fresh.reset(seed=7), err_msg=name)
    np.testing.assert_array_equal(
        rollout(used, seed=1, steps=50), rollout(fresh, seed=1, steps=50), err_msg=name
    )


def test_the_fifty_tasks_stand_in_alphabetical_order_with_fixed_ids() -> None:
    names = [task.name for task in FIFTY.tasks]

    assert len(names) == 50
    assert names == sorted(names)
    assert [task.index for task in FIFTY.tasks] == list(range(50))
    assert FIFTY.tasks[15] == Task(
        id=TaskId("metaworld-mt50/15"),
        index=15,
        name="door-open-v3",
        text="Pull the door open by its handle.",
    )


def test_every_task_has_an_instruction_of_its_own() -> None:
    assert len({task.text for task in FIFTY.tasks}) == 50


def test_the_four_difficulty_groups_hold_every_task_once() -> None:
    groups = FIFTY.groups

    sizes = {group: len(names) for group, names in groups.items()}
    assert sizes == {"easy": 28, "medium": 11, "hard": 6, "very_hard": 5}
    grouped = sorted(name for names in groups.values() for name in names)
    assert grouped == [task.name for task in FIFTY.tasks]


def test_chosen_tasks_keep_their_ids_and_their_groups() -> None:
    benchmark = build_metaworld(MetaworldConfig(tasks=("stick-pull-v3", "door-open-v3")))

    assert [(task.id, task.name) for task in benchmark.tasks] == [
        ("metaworld-mt50/15", "door-open-v3"),
        ("metaworld-mt50/44", "stick-pull-v3"),
    ]
    assert benchmark.groups == {"easy": ("door-open-v3",), "very_hard": ("stick-pull-v3",)}


def test_all_unknown_and_repeated_names_are_told_at_once() -> None:
    tasks = ("door-opn-v3", "reach-v3", "juggle", "reach-v3")

    with pytest.raises(ConfigError) as caught:
        build_metaworld(MetaworldConfig(tasks=tasks))

    assert str(caught.value) == (
        "simulator.tasks: 'door-opn-v3' is no task (did you mean 'door-open-v3'?); "
        "'juggle' is no task; 'reach-v3' stands twice"
    )


def test_the_benchmark_keeps_its_contract() -> None:
    chosen = [task for task in FIFTY.tasks if task.name in QUICK]

    check_benchmark(FIFTY, tasks=chosen, steps=30)


def test_the_frame_rate_is_that_of_the_physics() -> None:
    env = simulator("reach-v3")

    assert env._env.frame_skip * env._env.model.opt.timestep == pytest.approx(1 / FIFTY.fps)


@pytest.mark.parametrize("name", QUICK)
def test_a_used_environment_plays_like_a_fresh_one(name: str) -> None:
    assert_use_leaves_no_trace(name)


@pytest.mark.slow
def test_in_all_fifty_tasks_a_used_environment_plays_like_a_fresh_one() -> None:
    for task in FIFTY.tasks:
        assert_use_leaves_no_trace(task.name)


def test_a_used_environment_starts_as_meta_world_itself_would() -> None:
    from metaworld.env_dict import ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE

    theirs = ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE["push-v3-goal-observable"]()
    theirs._freeze_rand_vec = False
    theirs.seeded_rand_vec = True
    theirs.seed(11)
    expected, _ = theirs.reset()
    ours = simulator("push-v3")
    ours.reset(seed=1)
    rollout(ours, seed=0, steps=10)

    np.testing.assert_array_equal(ours.reset(seed=11), expected.astype(np.float32))


def test_an_episode_is_the_same_in_any_process_whatever_the_global_random_state() -> None:
    def digest(global_seed: int) -> str:
        command = [sys.executable, "-c", DIGEST_SCRIPT, str(global_seed)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert digest(0) == digest(1)


def test_the_global_random_state_is_left_alone() -> None:
    np.random.seed(5)
    expected = np.random.random(3)

    np.random.seed(5)
    env = simulator("push-v3")
    env.reset(seed=9)
    rollout(env, seed=0, steps=5)

    np.testing.assert_array_equal(np.random.random(3), expected)


def test_an_episode_may_be_longer_than_meta_world_would_let_it() -> None:
    env = simulator("reach-v3")
    env.reset(seed=0)

    last = [env.step(np.zeros(4, np.float32)) for _ in range(505)][-1]

    assert not last.terminated


def test_an_action_outside_the_range_acts_as_the_nearest_one_inside() -> None:
    far, near = simulator("push-v3"), simulator("push-v3")
    far.reset(seed=0)
    near.reset(seed=0)

    for _ in range(10):
        beyond = far.step(np.array([3, -2, 0.5, 9], np.float32))
        inside = near.step(np.array([1, -1, 0.5, 1], np.float32))

    np.testing.assert_array_equal(beyond.state, inside.state)


@pytest.mark.parametrize(
    "action, shown",
    [
        (np.zeros(3, np.float32), "[0.0, 0.0, 0.0]"),
        (np.array([0, np.nan, 0, 0], np.float32), "[0.0, nan, 0.0, 0.0]"),
    ],
)
def test_an_action_of_a_wrong_shape_or_not_finite_is_refused(
    action: Float32[np.ndarray, " action"], shown: str
) -> None:
    env = simulator("reach-v3")
    env.reset(seed=0)

    with pytest.raises(SimulatorError) as caught:
        env.step(action)

    assert str(caught.value) == f"reach-v3 was given the action {shown}, not 4 finite numbers"


def test_physics_that_blow_up_are_an_error_and_not_an_episode() -> None:
    env = simulator("reach-v3")
    env.reset(seed=0)
    env._env.data.qvel[:] = 1e12

    with pytest.raises(SimulatorError, match=r"^reach-v3 became unstable at 0\.\d\d s$"):
        env.step(np.zeros(4, np.float32))

    assert np.isfinite(env.reset(seed=0)).all()


def test_a_step_before_the_first_reset_is_an_error_with_the_name() -> None:
    with pytest.raises(SimulatorError, match=r"^push-v3 broke: "):
        simulator("push-v3").step(np.zeros(4, np.float32))


def test_a_task_that_meta_world_does_not_have_cannot_be_made() -> None:
    task = Task(id=TaskId("mine/0"), index=0, name="door-opn-v3", text="")

    for call in (Metaworld([task]).make, Metaworld([task]).expert):
        with pytest.raises(SimulatorError, match=r"did you mean 'door-open-v3'"):
            call(task)


@pytest.mark.parametrize("name", ["pick-place-v3", "push-v3"])
def test_the_quick_answer_about_grasps_is_that_of_meta_world(name: str) -> None:
    benchmark = build_metaworld(MetaworldConfig(tasks=(name,)))
    env, expert = benchmark.make(benchmark.tasks[0]), benchmark.expert(benchmark.tasks[0])
    state = env.reset(seed=0)
    answers: list[bool] = []

    for _ in range(100):
        state = env.step(expert.action(state)).state
        thing = env._env._get_id_main_object()
        answers.append(env._env.touching_object(thing))
        assert answers[-1] == type(env._env).touching_object(env._env, thing)

    assert set(answers) == {True, False}


def test_tables_and_settings_are_read_without_the_simulator() -> None:
    script = (
        "import sys\n"
        "import etude.simulators.expert_config, etude.simulators.groups\n"
        "import etude.simulators.instructions, etude.simulators.metaworld_config\n"
        "import etude.simulators.versions\n"
        "print({'metaworld', 'mujoco', 'gymnasium', 'numpy'} & set(sys.modules))"
    )

    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert found.stdout == "set()\n"
