from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from etude.compute.queues import StaticQueue
from etude.core.errors import ScanError
from etude.core.types import WorkItem
from etude.scan.scan_config import ScanConfig
from etude.scan.scoring import Errors, errors_from_json
from etude.store.cache import SegmentCache
from etude.testing.ranks import run_ranks
from toy_scan import BAD, GOOD, SUBJECT, WORSE, CopyPolicy, copied, scan


class Greedy:
    """A queue that is broken on purpose: every rank gets everything."""

    def items(self, work: Sequence[WorkItem]) -> Iterator[WorkItem]:
        return iter(work)


class Recording:
    """A queue that deals everything and remembers it."""

    def __init__(self) -> None:
        self.rounds: list[list[WorkItem]] = []

    def items(self, work: Sequence[WorkItem]) -> Iterator[WorkItem]:
        self.rounds.append(list(work))
        return iter(work)


def test_work_that_is_done_twice_is_caught_with_the_names_of_the_windows(tmp_path: Path):
    outcomes = run_ranks(2, lambda ranks: scan(tmp_path, ranks=ranks, queue=Greedy()))

    for outcome in outcomes:
        assert isinstance(outcome, ScanError)
        assert str(outcome).startswith("of 24 items of work 24 came twice: toy/0 episode ")
        assert "(ranks 0 and 1)" in str(outcome)


def test_an_item_is_one_call_of_the_policy(tmp_path: Path):
    queue, policies = Recording(), [CopyPolicy()]

    scan(tmp_path, queue=queue, load=policies.pop, config=ScanConfig(batch_size=10))

    # Eight windows of each of three tasks.
    assert [item.cost for item in queue.rounds[0]] == [10, 10, 4]
    assert len({item.key for item in queue.rounds[0]}) == 3
    assert policies == []


def test_windows_of_one_episode_stand_together_in_calls_of_one_shape(tmp_path: Path):
    policy = CopyPolicy()
    config = ScanConfig(batch_size=10, windows_per_task=8)

    report = scan(tmp_path, load=lambda: policy, config=config)

    calls = sorted([seen.task for seen in call] for call in policy.calls)
    asked = [task for call in calls for task in call]
    assert (report.inferences, [len(call) for call in policy.calls]) == (24, [10, 10, 10])
    # The last call repeats its four windows.
    assert asked == [GOOD] * 8 + [BAD] * 8 + [WORSE] * 14


def test_a_rank_that_is_dealt_nothing_loads_nothing(tmp_path: Path):
    loaded: list[int] = []

    def live(rank: int, size: int, ranks) -> object:
        def load() -> CopyPolicy:
            loaded.append(rank)
            return CopyPolicy()

        queue = StaticQueue(rank=rank, size=size)
        return scan(
            tmp_path,
            ranks=ranks,
            queue=queue,
            load=load,
            dataset=copied(episodes=1),
            config=ScanConfig(batch_size=8, windows_per_task=8),
        )

    reports = run_ranks(5, lambda ranks: live(ranks.rank, ranks.size, ranks))

    # Eight windows of each of three tasks are three calls.
    assert sorted(loaded) == [0, 1, 2]
    assert reports == [reports[0]] * 5


@pytest.mark.parametrize(
    "kept",
    [
        None,
        {},
        {"squared": [1.0, 2.0]},
        {"squared": [1.0], "absolute": [1.0]},
        {"squared": [1.0, "x"], "absolute": [1.0, 2.0]},
        {"squared": 1.0, "absolute": 2.0},
    ],
)
def test_a_result_of_another_form_is_as_good_as_none(kept: dict[str, object] | None):
    assert errors_from_json(kept, size=2) is None


def test_what_is_kept_comes_back_as_it_was(tmp_path: Path):
    errors = Errors(squared=(0.1, 1e-300), absolute=(1 / 3, 0.0))
    with SegmentCache(tmp_path, SUBJECT) as cache:
        key = cache.key(episode=SUBJECT.weights, draw={"frame": 0})
        cache.put(key, errors.to_json())

    assert errors_from_json(SegmentCache(tmp_path, SUBJECT).get(key), size=2) == errors
