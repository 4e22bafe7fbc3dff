import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from etude.curriculum.permutation import combine, permute


def whole(size: int, key: int) -> list[int]:
    positions = np.arange(size)
    keys = np.full(size, key, dtype=np.uint64)
    return permute(positions, np.full(size, size), keys).tolist()


@given(size=st.integers(1, 3000), key=st.integers(0, 2**64 - 1))
def test_every_frame_is_visited_exactly_once(size: int, key: int):
    assert sorted(whole(size, key)) == list(range(size))


def test_permutations_of_different_sizes_are_computed_in_one_call():
    positions = np.array([0, 1, 2, 0, 1, 0])
    sizes = np.array([3, 3, 3, 2, 2, 1])
    keys = np.array([7, 7, 7, 9, 9, 5], dtype=np.uint64)

    mixed = permute(positions, sizes, keys).tolist()

    assert mixed == [*whole(3, 7), *whole(2, 9), 0]


def test_every_place_is_reached_about_equally_often_over_many_keys():
    size, keys = 10, combine(np.arange(20_000, dtype=np.uint64))
    for position in (0, 3, 9):
        reached = permute(np.full(20_000, position), np.full(20_000, size), keys)

        shares = np.bincount(reached, minlength=size) / 20_000

        assert np.all(np.abs(shares - 0.1) < 0.01)


def test_neighbours_do_not_stay_neighbours():
    order = np.array(whole(10_000, 3))

    assert np.mean(np.abs(np.diff(order)) < 100) < 0.04
    assert abs(np.corrcoef(order, np.arange(10_000))[0, 1]) < 0.05


def test_large_domains_need_no_list():
    size = 100_000_000
    positions = np.array([0, 1, size - 1])

    reached = permute(positions, np.full(3, size), np.full(3, 1, dtype=np.uint64))

    assert len(set(reached.tolist())) == 3
    assert reached.min() >= 0
    assert reached.max() < size
