import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import ConfigError
from streams import batches, counts_by_task, sampler, spans


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_slots_of_all_ranks_make_up_the_global_batch(size: int):
    drawn = sampler(spans((40,), (40,)), 0.5, 0.5, batch_size=7)
    rows = drawn.next_rows()

    shares = [drawn.slots(rows, rank=rank, size=size).tolist() for rank in range(size)]

    assert sorted(row for share in shares for row in share) == sorted(rows.tolist())


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_the_stream_is_the_same_for_any_number_of_ranks(ranks: int):
    episodes = spans((40,), (7, 9), (3,))
    wanted = batches(sampler(episodes, 0.5, 0.3, 0.2, batch_size=24), 10)

    shares = [
        list(
            sampler(
                episodes, 0.5, 0.3, 0.2, batch_size=24, rank=rank, ranks=ranks, epoch_batches=10
            )
        )
        for rank in range(ranks)
    ]

    for step, batch in enumerate(wanted):
        dealt = [share[step] for share in shares]
        assert [dealt[i % ranks][i // ranks] for i in range(24)] == batch
        assert len({len(share) for share in dealt}) == 1


@pytest.mark.parametrize(("before", "after"), [(4, 2), (4, 1), (2, 4), (1, 3)])
def test_a_stream_goes_on_with_another_number_of_ranks(before: int, after: int):
    episodes = spans((16,))
    wanted = batches(sampler(episodes, 1.0, batch_size=12), 4)
    first = [sampler(episodes, 1.0, batch_size=12, rank=r, ranks=before) for r in range(before)]
    states = [(batches(one, 2), one.state_dict())[1] for one in first]
    assert all(state == states[0] for state in states)

    second = [sampler(episodes, 1.0, batch_size=12, rank=r, ranks=after) for r in range(after)]
    for one in second:
        one.load_state_dict(states[-1])
    shares = [list(one) for one in second]

    assert [
        [shares[i % after][step][i // after] for i in range(12)] for step in range(len(shares[0]))
    ] == wanted[2 : 2 + len(shares[0])]


def test_two_ranks_share_the_weighted_stream_without_repeats():
    episodes = spans((50,), (50,))
    ranks = [
        sampler(episodes, 0.25, 0.75, batch_size=20, rank=r, ranks=2, epoch_batches=100)
        for r in range(2)
    ]

    first, second = (list(one) for one in ranks)

    assert sum(map(len, first)) == sum(map(len, second)) == 1000
    assert first != second
    assert counts_by_task(first, episodes)[0] + counts_by_task(second, episodes)[0] == 500
    assert all(not set(a) & set(b) for a, b in zip(first[:3], second[:3], strict=True))


def test_an_epoch_covers_every_sample_once_and_each_in_another_order():
    ranks = [sampler(spans((8,)), 1.0, batch_size=4, rank=r, ranks=2) for r in range(2)]

    epochs = [[list(one) for one in ranks] for _ in range(3)]

    for shares in epochs:
        assert sorted(row for share in shares for batch in share for row in batch) == list(range(8))
    assert len({str(shares) for shares in epochs}) == 3


@given(frames=st.integers(1, 12), batch_size=st.integers(1, 4), ranks=st.integers(1, 4))
def test_the_length_is_the_number_of_batches_on_every_rank(
    frames: int, batch_size: int, ranks: int
):
    batch_size *= ranks
    for rank in range(ranks):
        one = sampler(spans((frames,)), 1.0, batch_size=batch_size, rank=rank, ranks=ranks)
        promised = len(one)

        assert promised == -(-frames // batch_size)
        assert [len(batch) for batch in one] == [batch_size // ranks] * promised


def test_an_iteration_that_begins_inside_an_epoch_ends_with_it():
    drawn = sampler(spans((20,)), 1.0, batch_size=4)
    batches(drawn, 2)

    assert len(drawn) == 3
    assert len(list(drawn)) == 3
    assert len(drawn) == len(list(drawn)) == 5


def test_a_task_of_three_samples_is_seen_in_every_epoch():
    episodes = spans((64,), (3,))
    ranks = [sampler(episodes, 0.5, 0.5, batch_size=8, rank=r, ranks=2) for r in range(2)]

    for _ in range(3):
        rows = {row for one in ranks for batch in one for row in batch}
        assert {64, 65, 66} <= rows


def test_fewer_rows_than_ranks_are_refused():
    with pytest.raises(ConfigError, match="batch_size is 2, not at least 3"):
        sampler(spans((5,)), 1.0, batch_size=2, ranks=3)


def test_a_rank_that_does_not_exist_is_refused():
    with pytest.raises(ConfigError, match="rank is 2, not below ranks"):
        sampler(spans((5,)), 1.0, batch_size=2, rank=2, ranks=2)
