from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.distributed import HashStore, TCPStore

from etude.compute.queues import StaticQueue, StoreQueue, open_queue
from etude.core.errors import EtudeError, ScanError
from etude.core.protocols import Ranks
from etude.core.ranks import Solo, together
from etude.core.types import ContentKey, TaskId, WorkItem
from etude.scan.fold import merge
from etude.testing.conformance import check_queue
from etude.testing.ranks import run_ranks


def work_of(costs: Sequence[int]) -> list[WorkItem]:
    return [
        WorkItem(key=ContentKey(f"{i:04}"), task=TaskId(f"toy/{i}"), cost=cost)
        for i, cost in enumerate(costs)
    ]


def static(ranks: Ranks) -> StaticQueue:
    return StaticQueue(rank=ranks.rank, size=ranks.size)


def shared(*, most: int = 64) -> Callable[[Ranks], StoreQueue]:
    """Return what makes the queue of each rank over one store."""
    store = HashStore()
    return lambda ranks: StoreQueue(store, name="scan", size=ranks.size, most=most)


class Greedy:
    """A queue that is broken on purpose: every rank gets everything."""

    def items(self, work: Sequence[WorkItem]) -> Iterator[WorkItem]:
        return iter(work)


class Forgetful:
    """A queue that is broken on purpose: nobody gets the last item."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks

    def items(self, work: Sequence[WorkItem]) -> Iterator[WorkItem]:
        return static(self._ranks).items(work[:-1])


class OneForAll:
    """A queue that is broken on purpose: the last item is dealt to every rank as well."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks

    def items(self, work: Sequence[WorkItem]) -> Iterator[WorkItem]:
        yield from static(self._ranks).items(work[:-1])
        yield work[-1]


COSTS = st.lists(st.integers(0, 100), max_size=30)


@given(costs=COSTS, size=st.integers(1, 8))
def test_a_static_queue_deals_every_item_to_exactly_one_rank(costs: list[int], size: int):
    check_queue(static, work_of(costs), size=size)


@given(costs=COSTS, size=st.integers(1, 5), most=st.integers(1, 9))
def test_ranks_that_race_for_work_do_each_item_once(costs: list[int], size: int, most: int):
    check_queue(shared(most=most), work_of(costs), size=size)


@pytest.mark.parametrize("broken", [lambda _: Greedy(), Forgetful], ids=["greedy", "forgetful"])
def test_conformance_finds_a_queue_that_deals_twice_or_not_at_all(broken):
    with pytest.raises(AssertionError, match="round 0: each item once"):
        check_queue(broken, work_of([1, 2, 3]), size=2)


def scanned(make, work: Sequence[WorkItem]) -> Callable[[Ranks], list[tuple[ContentKey, str]]]:
    """Return what a rank does: all items it is dealt, and then the merge with the others."""

    def live(ranks: Ranks) -> list[tuple[ContentKey, str]]:
        queue = make(ranks)
        shares = together(
            ranks, lambda: [(item.key, f"score of {item.task}") for item in queue.items(work)]
        )
        return list(merge(shares, [item.key for item in work]).items())

    return live


@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_the_merged_results_are_the_same_on_any_number_of_ranks(size: int):
    work = work_of([3, 1, 4, 1, 5, 9, 2])

    outcomes = run_ranks(size, scanned(shared(most=2), work))

    assert outcomes == [[(item.key, f"score of {item.task}") for item in work]] * size


def test_work_that_is_done_twice_is_caught_by_the_merge_with_the_names_of_the_items():
    work = work_of([1, 1, 1])

    all_twice = run_ranks(2, scanned(lambda _: Greedy(), work))
    one_twice = run_ranks(2, scanned(OneForAll, work))
    one_missing = run_ranks(2, scanned(Forgetful, work))

    for outcome in (*all_twice, *one_twice, *one_missing):
        assert isinstance(outcome, ScanError)
    assert "3 came twice: " in str(all_twice[0])
    assert all(item.key in str(all_twice[0]) for item in work)
    for outcomes, fault in ((one_twice, "came twice"), (one_missing, "is missing")):
        said = str(outcomes[0])
        assert said == str(outcomes[1])
        assert f"1 {fault}: " in said
        assert "0002" in said
        assert "0000" not in said


@given(costs=st.lists(st.integers(1, 100), min_size=1, max_size=30), size=st.integers(1, 8))
def test_no_rank_is_loaded_over_the_mean_plus_the_largest_item(costs: list[int], size: int):
    work = work_of(costs)

    loads = [
        sum(item.cost for item in StaticQueue(rank=rank, size=size).items(work))
        for rank in range(size)
    ]

    assert max(loads) <= sum(costs) / size + max(costs)


def test_the_costliest_items_are_dealt_first_to_the_least_loaded_rank():
    work = work_of([1, 8, 3, 2, 4])

    costs = [[i.cost for i in StaticQueue(rank=rank, size=2).items(work)] for rank in range(2)]

    assert costs == [[8, 1], [4, 3, 2]]


@given(order=st.permutations(range(9)), size=st.integers(1, 4))
def test_the_deal_does_not_depend_on_the_order_in_which_the_work_is_listed(
    order: list[int], size: int
):
    work = work_of([5, 5, 5, 1, 2, 3, 0, 0, 0])

    def shares(listed: Sequence[WorkItem]) -> list[tuple[WorkItem, ...]]:
        return [StaticQueue(rank=rank, size=size).share(listed) for rank in range(size)]

    assert shares([work[place] for place in order]) == shares(work)


@pytest.mark.parametrize("cost", [0, 1, 7])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("count", range(13))
def test_the_length_of_a_share_is_the_number_of_items_dealt(count: int, size: int, cost: int):
    work = work_of([cost] * count)
    queues = [StaticQueue(rank=rank, size=size) for rank in range(size)]

    lengths = [len(queue.share(work)) for queue in queues]

    assert lengths == [len(list(queue.items(work))) for queue in queues]
    assert lengths == [count // size + (rank < count % size) for rank in range(size)]


@pytest.mark.parametrize(("items", "size"), [(3, 4), (1, 4), (0, 3)])
def test_more_ranks_than_items_end_with_idle_ranks(items: int, size: int):
    make = shared()

    shares = run_ranks(size, lambda ranks: len(list(make(ranks).items(work_of([1] * items)))))

    assert sum(shares) == items
    assert [
        len(StaticQueue(rank=rank, size=size).share(work_of([1] * items))) for rank in range(size)
    ] == [1] * items + [0] * (size - items)


def test_a_rank_that_is_slow_is_asked_for_less():
    make = shared(most=1)
    work = work_of([1] * 20)

    def live(ranks: Ranks) -> int:
        items = make(ranks).items(work)
        first = next(items)
        ranks.gather(first)  # both hold one item; rank 1 takes no other until the work is done
        done = 1 + (len(list(items)) if ranks.rank == 0 else 0)
        ranks.gather(done)
        return done + (len(list(items)) if ranks.rank == 1 else 0)

    assert run_ranks(2, live) == [19, 1]


def test_small_items_are_handed_out_together_and_large_ones_alone():
    requests: list[str] = []

    class Counting(HashStore):
        def add(self, key: str, value: int) -> int:
            requests.append(key)
            return super().add(key, value)

    items = StoreQueue(Counting(), name="scan", size=1).items(work_of([1] * 50 + [100] + [1] * 50))

    assert next(items).cost == 100
    assert len(requests) == 1
    assert next(items).cost == 1
    assert len(requests) == 2
    assert len(list(items)) == 99
    assert len(requests) < 30


def test_a_rank_with_other_work_is_told_so_instead_of_doing_it():
    make = shared()

    def live(ranks: Ranks) -> list[WorkItem]:
        queue = make(ranks)
        if ranks.rank == 1:
            ranks.gather(None)
            return list(queue.items(work_of([1, 2])))
        items = queue.items(work_of([1, 2, 3]))
        ranks.gather(None)
        return list(items)

    outcomes = run_ranks(2, live)

    assert len(outcomes[0]) == 3
    assert type(outcomes[1]) is EtudeError
    assert str(outcomes[1]) == "the 2 work items of this rank are not those of the others"


@pytest.mark.parametrize("make", [static, shared()], ids=["static", "store"])
def test_work_that_names_an_item_twice_is_refused(make: Callable[[Ranks], StaticQueue]):
    work = [*work_of([1, 2, 3]), *work_of([1])]

    with pytest.raises(ValueError, match="the work holds more than once: 0000"):
        make(Solo()).items(work)


def test_work_that_a_dead_rank_had_taken_is_dealt_anew_in_the_next_call_of_the_command():
    work, done = work_of([1] * 10), set[ContentKey]()
    first_store, next_store = HashStore(), HashStore()

    dying = StoreQueue(first_store, name="scan", size=2, most=4).items(work)
    next(dying)  # taken and never done: the process is killed here
    done |= {item.key for item in StoreQueue(first_store, name="scan", size=2).items(work)}
    missing = [item for item in work if item.key not in done]
    again = list(StoreQueue(next_store, name="scan", size=2).items(missing))

    assert 1 <= len(missing) <= 4
    assert again == missing


def test_the_death_of_the_store_ends_the_work_with_a_hint():
    server = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    client = TCPStore("127.0.0.1", server.port, is_master=False)
    items = StoreQueue(client, name="scan", size=1, most=1).items(work_of([1, 2]))
    next(items)

    del server  # the server lives in this object

    with pytest.raises(EtudeError, match="that deals the work is gone") as caught:
        next(items)
    assert "Run the same command again" in caught.value.hint


def test_a_single_process_needs_no_store():
    queue = open_queue(Solo())

    assert isinstance(queue, StaticQueue)
    assert list(queue.items(work_of([2, 1]))) == work_of([2, 1])
