import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.statistics import (
    beta_share,
    holm,
    mean,
    mean_of_groups,
    mean_of_lowest,
    stratified_interval,
    student_p,
    student_t95,
    weighted_mean,
    wilson,
    wilson_bounds,
)

counts = st.integers(0, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_the_interval_of_189_in_200_is_the_one_worked_out_by_hand():
    # z^2 = 3.841459; centre = (0.945 + 3.841459 / 400) / (1 + 3.841459 / 200) = 0.936614;
    # half = 1.959964 sqrt(0.945 * 0.055 / 200 + 3.841459 / 160000) / 1.019207 = 0.032401.
    rate = wilson(189, 200)

    assert (rate.successes, rate.trials, rate.rate) == (189, 200, 0.945)
    assert rate.low == pytest.approx(0.904213, abs=2e-6)
    assert rate.high == pytest.approx(0.969015, abs=2e-6)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_intervals_equal_the_published_ones(successes: int, trials: int, low: float, high: float):
    rate = wilson(successes, trials)

    assert rate.low == pytest.approx(low, abs=5.1e-5)
    assert rate.high == pytest.approx(high, abs=5.1e-5)


def test_nothing_tried_has_no_rate():
    rate = wilson(0, 0)

    assert rate.rate is None
    assert (rate.low, rate.high) == (0.0, 1.0)


def test_all_or_none_reach_exactly_one_or_zero():
    assert wilson(7, 7).high == 1.0
    assert wilson(0, 7).low == 0.0


@given(counts)
def test_a_rate_lies_in_its_interval_and_mirrors_its_complement(drawn: tuple[int, int]):
    k, n = drawn
    rate, mirror = wilson(k, n), wilson(n - k, n)

    assert 0.0 <= rate.low <= rate.high <= 1.0
    assert rate.rate is None or rate.low <= rate.rate <= rate.high
    assert rate.low == pytest.approx(1 - mirror.high, abs=1e-12)


def test_the_mean_of_nothing_is_none():
    assert mean([]) is None
    assert mean([0.25, 0.75]) == 0.5


def test_a_value_of_twice_the_weight_counts_twice():
    assert weighted_mean([1.0, 4.0], [2.0, 1.0]) == 2.0


def test_as_many_weights_as_values_are_needed():
    with pytest.raises(ValueError, match="zip"):
        weighted_mean([1.0, 4.0], [1.0])


def test_the_mean_of_the_lowest_takes_all_where_there_are_fewer():
    assert mean_of_lowest([0.9, 0.1, 0.5, 0.3], 2) == pytest.approx(0.2)
    assert mean_of_lowest([0.4], 5) == 0.4
    assert mean_of_lowest([], 5) is None


def test_a_group_is_the_mean_of_its_rated_members_and_an_unrated_one_is_left_out():
    rates = {"reach": 1.0, "push": 0.5, "pull": 0.0}
    groups = {"easy": ("reach", "push"), "hard": ("pull", "never-tried"), "new": ("never-tried",)}

    assert mean_of_groups(rates, groups) == {"easy": 0.75, "hard": 0.0}


def test_the_stratified_interval_of_one_task_is_worked_out_by_hand():
    # p = (5 + 1.920729) / (10 + 3.841459) = 0.5; half = 1.959964 sqrt(0.25 / 13.841459) = 0.263406.
    low, high = stratified_interval([(5, 10)]) or (0, 0)

    assert low == pytest.approx(0.236594, abs=1e-5)
    assert high == pytest.approx(0.763406, abs=1e-5)


def test_two_equal_tasks_halve_the_variance():
    # half = 0.263406 / sqrt(2) = 0.186256.
    low, high = stratified_interval([(5, 10), (5, 10), (0, 0)]) or (0, 0)

    assert low == pytest.approx(0.313744, abs=1e-5)
    assert high == pytest.approx(0.686256, abs=1e-5)


def test_tasks_count_alike_however_often_each_was_tried():
    low, high = stratified_interval([(10, 10), (0, 1000)]) or (0, 0)

    assert low < 0.5 < high


def test_nothing_tried_has_no_stratified_interval():
    assert stratified_interval([]) is None
    assert stratified_interval([(0, 0)]) is None


@given(st.lists(counts, min_size=1, max_size=8).filter(lambda cs: any(n for _, n in cs)))
def test_the_mean_of_rates_lies_in_the_stratified_interval(drawn: list[tuple[int, int]]):
    rates = [k / n for k, n in drawn if n]
    low, high = stratified_interval(drawn) or (1, 0)

    assert 0.0 <= low <= high <= 1.0
    assert low - 1e-12 <= sum(rates) / len(rates) <= high + 1e-12


def test_bounds_of_effective_counts_are_those_of_whole_ones_between_them():
    low, high = wilson_bounds(0.5, 10)

    assert (low, high) == (pytest.approx(0.2366, abs=1e-4), pytest.approx(0.7634, abs=1e-4))
    assert wilson_bounds(0.5, 10.5)[0] > low
    assert wilson_bounds(0.0, 3.5)[0] == pytest.approx(0.0, abs=1e-12)
    assert wilson_bounds(1.0, 3.5)[1] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    # Any printed table of Student's t, two-sided, 5 %.
    [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (5, 2.571),
        (10, 2.228),
        (30, 2.042),
        (120, 1.980),
        (1000, 1.962),
    ],
)
def test_quantiles_of_students_t_equal_the_printed_ones(degrees: int, quantile: float):
    assert student_t95(degrees) == pytest.approx(quantile, abs=5.1e-4)


@pytest.mark.parametrize(
    ("t", "degrees", "p"),
    [
        # One degree is Cauchy's distribution, 1 - 2 atan(t) / pi; with two, 1 - t / sqrt(2 + t^2).
        (1.0, 1, 0.5),
        (0.0, 1, 1.0),
        (-1.0, 2, 0.42264973),
        (2.0, 2, 0.18350342),
        (40.0, 1, 0.01591219),
        # Printed quantiles of 1 % and 0.1 %.
        (3.169, 10, 0.01),
        (3.646, 30, 0.001),
        (float("inf"), 5, 0.0),
    ],
)
def test_chances_of_students_t_are_those_of_closed_forms_and_tables(
    t: float, degrees: float, p: float
):
    assert student_p(t, degrees) == pytest.approx(p, rel=1e-3, abs=1e-8)


@given(st.floats(1, 1e6), st.floats(0, 50))
def test_students_t_comes_ever_closer_to_the_normal_distribution(degrees: float, t: float):
    assert 0.0 <= student_p(t, degrees) <= 1.0
    assert student_p(t, degrees) <= student_p(t, 1) + 1e-12
    assert 1.959963 <= student_t95(degrees) <= 12.7063
    assert student_p(student_t95(degrees), degrees) == pytest.approx(0.05, abs=1e-6)


def test_a_broken_number_of_degrees_lies_between_its_neighbours():
    assert student_t95(3) < student_t95(2.5) < student_t95(2)


def test_holm_raises_the_least_by_all_the_next_by_one_less_and_never_falls():
    # 0.01 * 3 = 0.03; 0.03 * 2 = 0.06; 0.04 * 1 = 0.04, which is not under the 0.06 before it.
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_keeps_the_order_and_lowers_nothing(chances: list[float]):
    raised = holm(chances)

    assert all(low <= high <= 1 for low, high in zip(chances, raised, strict=True))
    ranked = [high for _, high in sorted(zip(chances, raised, strict=True))]
    assert ranked == sorted(ranked)


@pytest.mark.parametrize(
    ("x", "a", "b", "share"),
    [
        # With whole parameters it is the chance of at least a heads in a + b - 1 throws.
        (0.5, 1, 1, 0.5),
        (0.8, 21, 1, 0.8**21),
        (0.3, 1, 4, 1 - 0.7**4),
        (0.5, 2, 3, 11 / 16),
        (0.85, 19, 2, 0.85**20 + 20 * 0.15 * 0.85**19),
        # Half and half is the arcsine distribution: 2 asin(sqrt(x)) / pi.
        (0.25, 0.5, 0.5, 1 / 3),
        (0.0, 3, 4, 0.0),
        (1.0, 3, 4, 1.0),
    ],
)
def test_shares_of_the_beta_distribution_equal_closed_forms(
    x: float, a: float, b: float, share: float
):
    assert beta_share(x, a, b) == pytest.approx(share, rel=1e-12, abs=1e-15)


@given(
    x=st.floats(0.001, 0.999), more=st.floats(0, 1), a=st.floats(0.1, 500), b=st.floats(0.1, 500)
)
def test_shares_of_the_beta_distribution_rise_and_mirror(x: float, more: float, a: float, b: float):
    share = beta_share(x, a, b)

    assert -1e-12 <= share <= 1 + 1e-12
    assert share <= beta_share(x + more * (1 - x), a, b) + 1e-9
    assert share == pytest.approx(1 - beta_share(1 - x, b, a), abs=1e-9)
