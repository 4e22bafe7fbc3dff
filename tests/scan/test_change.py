"""How a geometric mean of paired errors has changed, and how sure that is."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.scan.change import FLOOR, Change, geometric_mean, mean_change, paired_change

errors = st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), min_size=3, max_size=30)


def change(before: list[float], after: list[float]) -> Change:
    """Compare windows of equal weight, each of another episode."""
    found = paired_change(
        before, after, weights=[1.0] * len(before), episodes=list(range(len(before)))
    )
    assert found is not None
    return found


def test_a_change_is_the_one_worked_out_by_hand():
    # d = log(0.5), log(0.5), log(0.125) = -0.693147, -0.693147, -2.079442; mean -1.155245;
    # variance (0.462098^2 * 2 + 0.924196^2) / 2 = 0.640604; error sqrt(0.640604 / 3) = 0.462098.
    # t with 2 degrees = -2.5, p = 1 - 2.5 / sqrt(2 + 6.25) = 0.129612; half = 4.302653 * 0.462098.
    found = change([1 - FLOOR] * 3, [0.5 - FLOOR, 0.5 - FLOOR, 0.125 - FLOOR])

    assert found.mean == pytest.approx(-1.155245, abs=1e-6)
    assert found.error == pytest.approx(0.462098, abs=1e-6)
    assert found.degrees == 2
    assert found.p == pytest.approx(0.129612, abs=1e-6)
    assert found.interval == pytest.approx((0.043131, 2.300315), rel=1e-4)


def test_windows_of_one_episode_count_for_less_than_those_of_several():
    before, after = [0.5, 0.4, 0.3, 0.6], [0.2, 0.3, 0.1, 0.5]

    apart = change(before, after)
    alike = paired_change(before, after, weights=[1.0] * 4, episodes=[7] * 4)

    # 4 / (1 + 3 * 0.05) = 3.478261 windows.
    assert alike is not None
    assert alike.mean == apart.mean
    assert alike.degrees == pytest.approx(2.478261, abs=1e-6)
    assert alike.error == pytest.approx(apart.error * math.sqrt(1.15))


def test_weights_decide_how_much_a_window_counts():
    found = paired_change(
        [1.0, 1.0, 1.0], [2.0, 1.0, 1.0], weights=[2.0, 1.0, 1.0], episodes=[0, 1, 2]
    )

    # 0.693097, the logarithm of 2.0001 / 1.0001, times 2 / 4.
    assert found is not None
    assert found.mean == pytest.approx(0.346549, abs=1e-6)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_windows_say_nothing(count: int):
    # Two windows of one episode are 2 / 1.05 effective ones.
    assert paired_change(
        [1.0] * count, [0.5] * count, weights=[1.0] * count, episodes=[0] * count
    ) is (None)


def test_windows_without_any_error_are_no_infinities():
    found = change([0.0, 0.0, 1.0], [0.0, 1.0, 0.0])

    assert found.mean == pytest.approx(0.0, abs=1e-12)
    assert all(math.isfinite(end) for end in found.interval)
    assert geometric_mean([0.0, 0.0], [1.0, 1.0]) == pytest.approx(FLOOR)


def test_last_bits_are_no_change():
    found = change([0.5, 0.25, 0.125], [0.500001, 0.2500005, 0.12500025])

    assert (found.mean, found.p, found.interval) == (0.0, 1.0, (1.0, 1.0))


def test_a_change_that_is_the_same_everywhere_is_sure():
    found = change([1 - FLOOR] * 3, [0.5 - FLOOR] * 3)

    assert found.p < 1e-9
    assert found.interval == pytest.approx((0.5, 0.5))


def test_wild_changes_have_intervals_that_are_finite_numbers():
    there, back = change([0.0, 0.0], [1e308, 1e308]), change([1e308, 0.0], [0.0, 1e308])

    for found in (there, back):
        assert all(math.isfinite(end) for end in (found.ratio, *found.interval))


@given(errors)
def test_turned_round_a_change_is_its_own_inverse(pairs: list[tuple[float, float]]):
    before, after = [one for one, _ in pairs], [other for _, other in pairs]

    there, back = change(before, after), change(after, before)

    assert there.mean == pytest.approx(-back.mean, abs=1e-9)
    assert there.error == pytest.approx(back.error, abs=1e-9)
    assert there.p == pytest.approx(back.p, abs=1e-6)


def test_the_mean_of_changes_counts_each_alike_and_is_surer_than_one():
    # error sqrt(0.1^2 + 0.1^2) / 2; degrees (2 * 0.01)^2 / (2 * 0.0001 / 4) = 8.
    one = Change(mean=0.5, error=0.1, degrees=4.0)
    other = Change(mean=-0.1, error=0.1, degrees=4.0)

    found = mean_change([one, other])

    assert found is not None
    assert (found.mean, found.error) == (pytest.approx(0.2), pytest.approx(0.0707107, abs=1e-6))
    assert found.degrees == pytest.approx(8.0)


def test_the_mean_of_sure_changes_is_sure_and_that_of_none_is_none():
    sure = Change(mean=0.5, error=0.0, degrees=3.0)

    found = mean_change([sure, sure])

    assert found is not None
    assert found.interval == pytest.approx((math.exp(0.5), math.exp(0.5)))
    assert mean_change([]) is None


def test_in_about_95_of_100_draws_the_interval_holds_the_true_change():
    random = np.random.default_rng(0)
    episodes = np.repeat(np.arange(3), 10)
    held = 0
    for _ in range(1000):
        # Windows of one episode share 5 % of the variance, as `sequential.CORRELATION` says.
        shared = random.normal(size=3)[episodes] * math.sqrt(0.05)
        steps = -0.2 + 0.5 * (shared + random.normal(size=30) * math.sqrt(0.95))
        before = random.lognormal(size=30) + 0.01
        after = (before + FLOOR) * np.exp(steps) - FLOOR
        found = paired_change(
            before.tolist(), after.tolist(), weights=[1.0] * 30, episodes=episodes.tolist()
        )
        assert found is not None
        held += found.interval[0] <= math.exp(-0.2) <= found.interval[1]

    assert 930 <= held <= 970
