import pickle

import pytest

from etude.core.errors import EtudeError
from etude.testing.conformance import check_ranks
from etude.testing.ranks import ThreadRank, run_ranks


@pytest.mark.parametrize("size", [1, 2, 4])
def test_threads_keep_the_contract_of_ranks(size: int):
    assert run_ranks(size, check_ranks) == [None] * size


def test_a_rank_that_waits_for_one_that_has_ended_fails_at_once():
    def work(ranks: ThreadRank) -> list[int]:
        return ranks.gather(ranks.rank) if ranks.rank else []

    outcomes = run_ranks(3, work, timeout_s=1000)

    assert outcomes[0] == []
    for rank in (1, 2):
        assert isinstance(outcomes[rank], EtudeError)
        assert str(outcomes[rank]) == f"rank {rank} waited in vain for rank 0"


def test_a_rank_that_ends_after_its_last_gather_takes_nothing_from_the_others():
    for _ in range(50):
        assert run_ranks(4, lambda ranks: ranks.gather(ranks.rank)) == [[0, 1, 2, 3]] * 4


def test_what_could_not_travel_between_processes_cannot_travel_between_threads():
    outcomes = run_ranks(2, lambda ranks: ranks.gather(lambda: 0))

    for outcome in outcomes:
        assert isinstance(outcome, pickle.PicklingError | AttributeError | EtudeError)
