from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from etude.core.types import Task, TaskId
from etude.runs.demos_config import DemosConfig
from etude.runs.recording import TaskRecording, record_task
from etude.testing.toy_benchmark import ToyBenchmarkConfig, ToyEpisode, build_toy_benchmark

TASK = Task(id=TaskId("toys/3"), index=3, name="toy-3", text="Play.")
UNSOLVED = ToyEpisode()
CONFIG = DemosConfig(episodes=2, tries=3, max_steps=20, steps_after_success=2, noise=0.3)


def record(config: DemosConfig = CONFIG, **seeds: ToyEpisode) -> TaskRecording:
    """Record the toy task; `s4=...` says how the episode of seed 4 goes, `others` the rest."""
    default = seeds.pop("others", ToyEpisode(success_steps=(5,)))
    table = {(TASK.id, int(name[1:])): episode for name, episode in seeds.items()}
    toys = ToyBenchmarkConfig(tasks=(TASK,), episodes=table, default=default)
    return record_task(build_toy_benchmark(toys), TASK, config)


def seeds_of(recording: TaskRecording) -> list[int]:
    return [each.seed for each in recording.demonstrations]


def test_attempts_use_one_seed_after_the_other_until_the_quota_is_met() -> None:
    recording = record(replace(CONFIG, seed=40), s40=UNSOLVED, s42=UNSOLVED)

    assert seeds_of(recording) == [41, 43]
    assert recording.attempts == 4


def test_a_task_gives_up_after_its_tries() -> None:
    recording = record(s2=ToyEpisode(success_steps=(4,)), others=UNSOLVED)

    assert seeds_of(recording) == [2]
    assert recording.attempts == 6


def test_an_episode_goes_on_for_some_steps_after_its_first_success() -> None:
    first, _ = record(s0=ToyEpisode(success_steps=(4, 6))).demonstrations

    assert first.success.tolist() == [False, False, False, True, False, True]
    assert first.states.shape == (6, 4)
    assert first.actions.shape == (6, 2)


@given(success=st.integers(2, 20), after=st.integers(0, 9), limit=st.integers(2, 20))
def test_no_episode_is_longer_than_the_limit(success: int, after: int, limit: int) -> None:
    config = replace(CONFIG, steps_after_success=after, max_steps=limit)

    recording = record(config, others=ToyEpisode(success_steps=(success,)))

    lengths = [len(each.states) for each in recording.demonstrations]
    assert lengths == ([] if success > limit else [min(success + after, limit)] * 2)


def test_an_attempt_that_the_environment_ends_keeps_what_it_has() -> None:
    recording = record(
        s0=ToyEpisode(success_steps=(4,), ends_at=5),
        s1=ToyEpisode(success_steps=(4,), ends_at=3),
    )

    assert seeds_of(recording) == [0, 2]
    assert len(recording.demonstrations[0].states) == 5


def test_an_attempt_that_was_solved_at_reset_is_passed_over() -> None:
    recording = record(s0=ToyEpisode(success_steps=(1, 2, 3)))

    assert seeds_of(recording) == [1, 2]


def test_an_attempt_in_which_the_simulator_broke_has_failed_and_says_why() -> None:
    recording = record(s0=ToyEpisode(crash_at=2), s1=ToyEpisode(crash_at=0))

    assert seeds_of(recording) == [2, 3]
    assert recording.error == "the toy broke at step 0"


def test_the_expert_is_recorded_clean_while_noise_is_executed() -> None:
    demonstration = record().demonstrations[0]
    states, actions = demonstration.states, demonstration.actions

    # The toy expert acts by the mean of the state, and the toy sums up what was executed.
    executed = np.diff(states[:, 3])
    np.testing.assert_allclose(actions[:, 0], np.clip(states.mean(axis=1), -1, 1), rtol=1e-6)
    assert (executed != actions[:-1, 0]).any()
    assert np.abs(executed).max() <= 1 + 1e-6


def test_without_noise_the_recorded_action_is_the_executed_one() -> None:
    demonstration = record(replace(CONFIG, noise=0)).demonstrations[0]

    assert demonstration.noise == 0
    executed = np.diff(demonstration.states[:, 3])
    np.testing.assert_allclose(executed, demonstration.actions[:-1, 0], rtol=1e-5)


def test_each_attempt_draws_its_own_noise_from_its_seed_and_task() -> None:
    early = record(s0=UNSOLVED).demonstrations
    late = record(replace(CONFIG, seed=1)).demonstrations

    assert 0 <= early[0].noise <= 0.3
    assert early[0].noise != early[1].noise
    assert [each.noise for each in early] == [each.noise for each in late]
    np.testing.assert_array_equal(early[1].states, late[1].states)
