from dataclasses import dataclass

import numpy as np
import pytest

from etude.core.errors import DataError, PolicyError
from etude.core.protocols import Dataset, Policy
from etude.core.types import Observation, TaskId, WindowSpec
from etude.events.recorder import Sink
from etude.events.schema import Warned
from etude.testing.conformance import check_dataset, check_policy
from etude.testing.fakes import (
    MemoryDataset,
    MemoryEpisode,
    MemorySink,
    ToyPolicy,
    toy_tasks,
    walk_dataset,
)

TASKS = toy_tasks(2)


def counting_dataset() -> MemoryDataset:
    """Two episodes, of 3 and 2 frames; state and action are the row, ten times the row."""
    return MemoryDataset(
        [
            MemoryEpisode(
                task=TASKS[1].id,
                states=np.array([[0], [1], [2]], np.float32),
                actions=np.array([[0], [10], [20]], np.float32),
            ),
            MemoryEpisode(
                task=TASKS[0].id,
                states=np.array([[3], [4]], np.float32),
                actions=np.array([[30], [40]], np.float32),
            ),
        ],
        tasks=TASKS,
    )


def seen(*state: float) -> Observation:
    return Observation(task=TaskId("toy/0"), state=np.array(state, np.float32))


def test_a_window_stops_at_its_own_episode():
    spec = WindowSpec(action_offsets=(0, 1, 2), observation_offsets=(-1, 0))

    batch = counting_dataset().windows(np.array([1, 3], np.int64), spec)

    assert batch.tasks.tolist() == [1, 0]
    assert batch.actions[..., 0].tolist() == [[10, 20, 20], [30, 40, 40]]
    assert batch.actions_valid.tolist() == [[True, True, False], [True, True, False]]
    assert batch.states[..., 0].tolist() == [[0, 1], [3, 3]]
    assert batch.states_valid.tolist() == [[True, True], [False, True]]


@pytest.mark.parametrize("row", [-1, 5])
def test_a_row_outside_all_episodes_is_refused(row: int):
    with pytest.raises(DataError, match=f"row {row} lies in none of the 5 frames"):
        counting_dataset().windows(np.array([row]), WindowSpec(action_offsets=(0,)))


def test_memory_datasets_keep_the_contract():
    walks = walk_dataset({TASKS[0].id: [4, 1], TASKS[1].id: [7]}, tasks=TASKS)

    assert isinstance(walks, Dataset)
    check_dataset(counting_dataset())
    check_dataset(walks)


def test_in_a_walk_the_action_follows_from_state_and_task():
    walks = walk_dataset({TASKS[0].id: [40], TASKS[1].id: [40]}, tasks=TASKS)

    for span in walks.episodes:
        columns = walks.columns(span)
        fit, *_ = np.linalg.lstsq(columns.states, columns.actions, rcond=None)
        np.testing.assert_allclose(columns.states @ fit, columns.actions, atol=1e-5)


def test_the_toy_policy_keeps_the_contract_and_counts_its_calls():
    policy = ToyPolicy(action_dim=2, horizon=4, execute=2, push=0.5)

    chunks = policy.act([seen(1, 3), seen(0, 0)], seed=0)

    assert isinstance(policy, Policy)
    assert [chunk.actions[0, 0] for chunk in chunks] == [2.5, 0.5]
    assert (policy.calls, policy.batch_sizes) == (1, [2])
    check_policy(policy, [seen(1, 2), seen(3, 4)])


def test_toy_policies_with_other_settings_have_other_keys():
    assert ToyPolicy(push=0.1).key == ToyPolicy(push=0.1).key
    assert ToyPolicy(push=0.1).key != ToyPolicy(push=0.2).key


def test_the_toy_policy_refuses_an_empty_state():
    with pytest.raises(PolicyError, match="toy/0 has a state of 0 numbers"):
        ToyPolicy().act([seen()], seed=0)


def test_the_memory_sink_remembers_records_by_kind():
    sink = MemorySink()

    sink.write({"kind": Warned.kind, "message": "low"})
    sink.write({"kind": "other"})

    assert isinstance(sink, Sink)
    assert sink.of("warned") == [{"kind": "warned", "message": "low"}]


@dataclass(frozen=True)
class Late:
    """A dataset that shifts every window by one row."""

    inner: MemoryDataset

    @property
    def spec(self):
        return self.inner.spec

    @property
    def episodes(self):
        return self.inner.episodes

    def columns(self, episode):
        return self.inner.columns(episode)

    def identity(self, episode, *, cameras=()):
        return self.inner.identity(episode)

    def windows(self, rows, spec):
        return self.inner.windows(np.minimum(rows + 1, 4), spec)


class Nameless(Late):
    """A dataset whose episodes all have one identity."""

    def identity(self, episode, *, cameras=()):
        return "same"

    def windows(self, rows, spec):
        return self.inner.windows(rows, spec)


def test_conformance_finds_a_dataset_that_gives_different_episodes_one_identity():
    with pytest.raises(AssertionError, match="episodes of one identity hold the same values"):
        check_dataset(Nameless(counting_dataset()))


def test_conformance_finds_a_dataset_that_returns_the_wrong_rows():
    with pytest.raises(AssertionError):
        check_dataset(Late(counting_dataset()))
