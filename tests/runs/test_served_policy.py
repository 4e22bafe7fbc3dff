"""Who is behind a server, as all ranks of a scan agree on it."""

from collections.abc import Iterator
from typing import Any

import pytest
from websockets.sync.server import ServerConnection

from etude.compute.world_config import WorldConfig
from etude.core.errors import PolicyError
from etude.core.protocols import Ranks
from etude.core.ranks import Solo
from etude.core.types import ContentKey, TaskId, WorkItem
from etude.runs.config import load
from etude.runs.joining import WholeQueue, join_with_queue
from etude.runs.run_config import RunConfig
from etude.runs.served_policy import PassingResults, ServedPolicy, read_served_policy
from etude.testing.conformance import check_queue, check_scan_cache
from etude.testing.ranks import run_ranks
from loopback import behaving, say


def greeting(metadata: Iterator[dict[str, Any]]) -> Any:
    def behave(connection: ServerConnection) -> None:
        say(connection, next(metadata))
        for _ in connection:
            pass

    return behave


def config_of(address: str, *flags: str) -> RunConfig:
    return load(None, ["--policy.use", "remote", "--policy.address", address, *flags])


def read_by_two(metadata: list[dict[str, Any]]) -> Any:
    """Return what two ranks read, of which each meets the next of `metadata`."""

    def read(ranks: Ranks) -> ServedPolicy:
        found = read_served_policy(config, ranks)
        found.policy.close()
        return found

    with behaving(greeting(iter(metadata))) as address:
        config = config_of(address)
        return run_ranks(2, read)


def test_ranks_agree_on_the_identity_that_the_server_states():
    one, two = read_by_two([{"policy_id": "a", "step": 600, "horizon": 8, "execute": 4}] * 2)

    assert one.weights == two.weights
    assert (one.named, one.step, one.played_actions) == (True, 600, 4)


def test_ranks_agree_on_one_identity_where_the_server_states_none():
    one, two = read_by_two([{}] * 2)

    assert one.weights == two.weights
    assert (one.named, two.named, one.step) == (False, False, 0)


def test_ranks_that_meet_different_policies_are_told_so():
    outcomes = read_by_two([{"policy_id": "a"}, {"policy_id": "b"}])

    for outcome in outcomes:
        assert isinstance(outcome, PolicyError)
        assert "serves 2 policies to 2 ranks: server:" in str(outcome)


def test_a_given_name_needs_no_server():
    found = read_served_policy(config_of("ws://127.0.0.1:1", "--policy.name", "mine"), Solo())

    assert (found.named, found.step) == (True, 0)


def test_results_that_are_not_kept_keep_the_contract_of_a_cache():
    check_scan_cache(PassingResults())


def test_a_process_that_is_alone_gets_all_the_work(monkeypatch: pytest.MonkeyPatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    work = [
        WorkItem(key=ContentKey(name), task=TaskId("toy/0"), cost=cost)
        for name, cost in (("b", 1), ("c", 2), ("a", 1))
    ]

    with join_with_queue(WorldConfig()) as (ranks, queue):
        dealt = [item.key for item in queue.items(work)]

    assert (ranks.rank, ranks.size) == (0, 1)
    assert dealt == ["c", "a", "b"]
    check_queue(lambda _: WholeQueue(), work, size=1)
