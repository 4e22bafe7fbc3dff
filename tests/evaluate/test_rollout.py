import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.types import EpisodeEnd, EpisodeResult
from etude.evaluate.rollout import Job, Lane, PlayedEpisode, Rules, lost_episode
from etude.testing.fakes import toy_tasks
from etude.testing.toy_benchmark import ToyBenchmark, ToyBenchmarkConfig, ToyEpisode, calls_of

TASKS = toy_tasks(2)


def play_all(
    *episodes: ToyEpisode,
    max_steps: int = 5,
    to_the_end: bool = False,
    chunk: int = 2,
    log: str = "",
    also: dict[int, ToyEpisode] | None = None,
) -> list[PlayedEpisode]:
    """Play one episode for each of `episodes`, from seeds 0, 1, ...; the action is always 0.5."""
    table = {(TASKS[0].id, seed): episode for seed, episode in enumerate(episodes)}
    table |= {(TASKS[0].id, seed): episode for seed, episode in (also or {}).items()}
    benchmark = ToyBenchmark(ToyBenchmarkConfig(tasks=TASKS, episodes=table, log=log))
    jobs = [Job(task=TASKS[0], episode=i, seed=i) for i in range(len(episodes))]
    lane = Lane(benchmark, jobs, Rules(max_steps=max_steps, to_the_end=to_the_end))
    played = lane.begin()
    while not lane.done:
        played += lane.play(np.full((chunk, 2), 0.5, np.float32))
    lane.close()
    return played


def results(played: list[PlayedEpisode]) -> list[EpisodeResult]:
    return [episode.result for episode in played]


def test_only_the_flag_of_success_makes_a_success():
    played = results(play_all(ToyEpisode(), ToyEpisode(ends_at=3), ToyEpisode(success_steps=(4,))))

    assert [(r.end, r.success, r.steps) for r in played] == [
        (EpisodeEnd.TIMEOUT, False, 5),
        (EpisodeEnd.FAILURE, False, 3),
        (EpisodeEnd.SUCCESS, True, 4),
    ]


def test_success_at_the_step_that_ends_the_episode_counts():
    ended, last = results(
        play_all(ToyEpisode(success_steps=(3,), ends_at=3), ToyEpisode(success_steps=(5,)))
    )

    assert ended.end is last.end is EpisodeEnd.SUCCESS


def test_played_to_the_end_success_once_and_success_at_the_end_differ():
    played = play_all(
        ToyEpisode(success_steps=(2, 3)),
        ToyEpisode(success_steps=(4,)),
        max_steps=4,
        to_the_end=True,
    )

    assert [e.result.success for e in played] == [True, True]
    assert [e.result.success_at_end for e in played] == [False, True]
    assert [e.first_success for e in played] == [2, 4]
    assert [e.result.steps for e in played] == [4, 4]


def test_by_default_an_episode_ends_at_its_first_success():
    (played,) = play_all(ToyEpisode(success_steps=(2, 3)), max_steps=4)

    assert (played.result.steps, played.result.success_at_end, played.first_success) == (2, True, 2)


def test_rewards_are_summed_over_the_steps_played():
    (result,) = results(play_all(ToyEpisode(success_steps=(3,))))

    assert (result.sum_reward, result.max_reward) == (1.5, 0.5)


@given(chunk=st.integers(1, 7), solved=st.integers(2, 9), limit=st.integers(2, 9))
def test_the_length_of_chunks_changes_no_result_of_equal_actions(
    chunk: int, solved: int, limit: int
):
    table = [ToyEpisode(success_steps=(solved,)), ToyEpisode(ends_at=solved), ToyEpisode()]

    alone = results(play_all(*table, max_steps=limit, chunk=1))

    assert results(play_all(*table, max_steps=limit, chunk=chunk)) == alone


def test_an_episode_already_solved_at_reset_is_played_from_another_seed():
    solved = ToyEpisode(success_steps=(1, 2, 3))
    (result,) = results(
        play_all(solved, also={1_000_000: solved, 2_000_000: ToyEpisode(success_steps=(3,))})
    )

    assert (result.seed, result.reseeded, result.steps) == (2_000_000, 2, 3)
    assert result.sum_reward == 1.5


def test_a_task_that_is_solved_at_every_reset_is_an_error():
    solved = ToyEpisode(success_steps=(1,))
    (result,) = results(play_all(solved, also={1_000_000 * k: solved for k in range(1, 20)}))

    assert result.end is EpisodeEnd.ERROR
    assert result.error == "already solved at reset with seed 0 and 10 more"


@pytest.mark.parametrize(
    ("broken", "error", "steps"),
    [
        (ToyEpisode(crash_at=0), "the toy broke at step 0", 0),
        (ToyEpisode(crash_at=3), "the toy broke at step 3", 2),
        (ToyEpisode(bug_at=3), "ZeroDivisionError: the toy has a bug at step 3", 2),
        (ToyEpisode(nan_at=3), "state[3] is not finite", 2),
    ],
)
def test_an_episode_that_breaks_is_neither_success_nor_failure_and_the_lane_goes_on(
    broken: ToyEpisode, error: str, steps: int, tmp_path
):
    log = tmp_path / "calls"

    first, second = results(play_all(broken, ToyEpisode(success_steps=(2,)), log=str(log)))

    assert (first.end, first.success, first.error) == (EpisodeEnd.ERROR, False, error)
    assert first.steps == steps
    assert second.end is EpisodeEnd.SUCCESS
    assert calls_of(log, "make") == calls_of(log, "close") == 2


def test_a_crash_after_a_success_is_an_error_all_the_same():
    (played,) = play_all(ToyEpisode(success_steps=(2,), crash_at=4), to_the_end=True)

    assert (played.result.end, played.result.success) == (EpisodeEnd.ERROR, False)
    assert played.first_success is None


def test_an_environment_serves_all_episodes_of_its_task_and_is_then_closed(tmp_path):
    log = tmp_path / "calls"
    config = ToyBenchmarkConfig(tasks=TASKS, default=ToyEpisode(success_steps=(2,)), log=str(log))
    jobs = [Job(task=task, episode=i, seed=i) for task in TASKS for i in range(2)]
    lane = Lane(ToyBenchmark(config), jobs, Rules(max_steps=3, to_the_end=False))

    lane.begin()
    while not lane.done:
        lane.play(np.zeros((3, 2), np.float32))

    assert [line for line in log.read_text().splitlines() if "step" not in line] == [
        "toy/0 make", "toy/0 reset 0", "toy/0 reset 1", "toy/0 close",
        "toy/1 make", "toy/1 reset 0", "toy/1 reset 1", "toy/1 close",
    ]  # fmt: skip


def test_a_task_that_cannot_be_made_breaks_its_own_episodes_only():
    config = ToyBenchmarkConfig(
        tasks=TASKS, default=ToyEpisode(success_steps=(2,)), broken=(TASKS[0].id,)
    )
    jobs = [Job(task=task, episode=i, seed=i) for task in TASKS for i in range(2)]
    lane = Lane(ToyBenchmark(config), jobs, Rules(max_steps=3, to_the_end=False))

    failed = results(lane.begin())

    assert [(r.task, r.error) for r in failed] == [("toy/0", "toy/0 cannot be made")] * 2
    assert lane.cursor == 2


def test_an_episode_lost_with_its_process_has_no_steps():
    lost = lost_episode(Job(task=TASKS[0], episode=3, seed=9), "its process died")

    assert lost.episode == 3
    assert lost.result == EpisodeResult(
        task=TASKS[0].id, name="task-0", seed=9, end=EpisodeEnd.ERROR, success=False,
        success_at_end=False, steps=0, sum_reward=0.0, max_reward=0.0,
        instruction="do task 0", error="its process died",
    )  # fmt: skip
