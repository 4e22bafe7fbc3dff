from collections.abc import Sequence

import numpy as np
import pytest

from etude.core.errors import DataError, PolicyError
from etude.core.types import ActionChunk, Observation, TaskId, WindowChoice
from etude.scan.open_loop import SEED, OpenLoop
from etude.testing.fakes import MemoryDataset, MemoryEpisode, toy_tasks
from toy_scan import CopyPolicy

TASKS = toy_tasks(2)
ONE, TWO = (task.id for task in TASKS)


def dataset(actions: np.ndarray | None = None) -> MemoryDataset:
    """Return an episode of each task: three frames, then two, with actions 0, 1, 2 and 0, 1."""
    episodes: list[MemoryEpisode] = []
    for task, frames in ((ONE, 3), (TWO, 2)):
        steps = np.arange(frames, dtype=np.float32)
        states = np.stack([steps, steps, 10 + steps], axis=1)
        taken = states[:, :2] if actions is None else actions[:frames]
        episodes.append(MemoryEpisode(task=task, states=states, actions=taken))
    return MemoryDataset(episodes, tasks=TASKS)


def choice(task: TaskId, frame: int) -> WindowChoice:
    episode = 0 if task == ONE else 1
    return WindowChoice(
        task=task, episode=episode, frame=frame, stratum="slow", weight=1.0, seed=99
    )


def open_loop(policy: object = None, *, horizon: int = 2, batch_size: int = 4) -> OpenLoop:
    return OpenLoop(policy or CopyPolicy({}), dataset(), horizon=horizon, batch_size=batch_size)


class Returning:
    """A policy that returns what it was made of, whatever it sees."""

    key = CopyPolicy.key
    horizon = 2
    execute = 1

    def __init__(self, chunks: Sequence[ActionChunk]) -> None:
        self._chunks = chunks

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        return self._chunks


def chunk(actions: list[list[float]], *, valid: list[bool] | None = None) -> ActionChunk:
    array = np.array(actions, np.float32)
    return ActionChunk(actions=array, valid=np.array(valid or [True] * len(array), np.bool_))


def test_errors_are_those_of_each_window_in_the_order_asked():
    # The policy says "as now" twice; of the last frame of an episode, only one step is recorded.
    found = open_loop().errors([choice(ONE, 0), choice(TWO, 1), choice(ONE, 2)])

    np.testing.assert_array_equal(found.squared, [[0.5, 0.5], [0, 0], [0, 0]])
    np.testing.assert_array_equal(found.absolute, [[0.5, 0.5], [0, 0], [0, 0]])


def test_the_policy_sees_state_task_and_instruction_of_the_window():
    policy = CopyPolicy()

    open_loop(policy, batch_size=1).errors([choice(TWO, 1)])

    ((seen,),) = policy.calls
    np.testing.assert_array_equal(seen.state, [1, 1, 11])
    assert (seen.task, seen.instruction) == (TWO, "do task 1")


def test_every_call_has_one_shape_and_one_seed():
    policy = CopyPolicy()
    loop = open_loop(policy, batch_size=5)

    loop.errors([choice(ONE, 0)])
    loop.errors([choice(ONE, 0), choice(ONE, 1)])

    assert [len(call) for call in policy.calls] == [5, 5]
    assert policy.seeds == [SEED, SEED]
    assert [float(seen.state[0]) for seen in policy.calls[1]] == [0, 1, 0, 1, 0]


def test_steps_that_the_policy_marks_as_padding_carry_no_error():
    padded = chunk([[1, 1], [50, 50]], valid=[True, False])

    found = open_loop(Returning([padded]), batch_size=1).errors([choice(ONE, 1)])

    np.testing.assert_array_equal(found.squared, [[0, 0]])


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([chunk([[1, 1, 1]] * 2)], "the policy returned actions of 3 numbers for toy/0"),
        ([chunk([[1, 1]])], "the policy returned 1 actions for toy/0, fewer than the 2"),
        ([chunk([[1, 1]] * 2)] * 2, "the policy returned 2 chunks for 1 observations"),
        (
            [chunk([[1, 1], [1, float("nan")]])],
            "toy/0 episode 0 frame 0: the policy returned nan for action 1 of step 1",
        ),
    ],
    ids=["size", "short", "many", "nan"],
)
def test_a_policy_that_cannot_be_judged_is_refused(chunks: list[ActionChunk], message: str):
    with pytest.raises(PolicyError) as caught:
        open_loop(Returning(chunks), batch_size=1).errors([choice(ONE, 0)])

    assert message in str(caught.value)


def test_a_recorded_number_that_is_not_finite_is_told_with_its_place():
    actions = np.array([[0, 0], [0, np.inf], [0, 0]], np.float32)
    loop = OpenLoop(CopyPolicy(), dataset(actions), horizon=2, batch_size=2)

    with pytest.raises(DataError, match="toy/0 episode 0 frame 1: action 1 is recorded as inf"):
        loop.errors([choice(ONE, 0)])


def test_a_recorded_state_that_is_no_number_is_told_before_the_policy_sees_it():
    rows = np.zeros((3, 2), np.float32)
    broken = rows.copy()
    broken[1, 1] = np.nan
    policy = CopyPolicy({})
    data = MemoryDataset([MemoryEpisode(task=ONE, states=broken, actions=rows)], tasks=toy_tasks(1))

    with pytest.raises(DataError, match=r"^toy/0 episode 0 frame 1: state 1 is recorded as nan$"):
        OpenLoop(policy, data, horizon=1, batch_size=2).errors([choice(ONE, 1)])

    assert policy.calls == []
