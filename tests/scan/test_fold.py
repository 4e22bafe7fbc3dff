import random
import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import ScanError
from etude.core.types import ContentKey, TaskId, WindowChoice, WindowScore
from etude.scan.fold import fold_task, merge, task_evidence, weighted_quantile
from etude.scan.plan import TaskPlan

TASK = TaskId("toy/0")


def score(
    episode: int, frame: int, arm: float, *, gripper: float = 0.0, stratum: str = "slow"
) -> WindowScore:
    choice = WindowChoice(
        task=TASK, episode=episode, frame=frame, stratum=stratum, weight=1.0, seed=0
    )
    groups = {"arm": arm, "gripper": gripper}
    return WindowScore(choice=choice, groups=groups, mse=arm, mae=2 * arm)


def plan_of(scores: Sequence[WindowScore], *, of: int | None = None, size: int = 10) -> TaskPlan:
    choices = tuple(each.choice for each in scores)
    cells = {(each.stratum, each.episode): size for each in choices}
    return TaskPlan(task=TASK, of=of or len(choices), choices=choices, cells=cells)


def keys(*names: str) -> list[ContentKey]:
    return [ContentKey(name) for name in names]


def shares(*ranks: str) -> list[list[tuple[ContentKey, str]]]:
    """Return one share for each rank, whose keys are the letters of a text."""
    return [[(ContentKey(letter), letter.upper()) for letter in rank] for rank in ranks]


def test_a_task_is_the_fold_of_its_windows():
    scores = [score(i, 5, arm) for i, arm in enumerate([0.1, 0.2, 0.3, 0.4, 1.0])]

    scan = fold_task(plan_of(scores, of=50), scores, tau=0.25)

    # Two groups: a window's GMSE is half of its arm's ratio. Two of five windows pass.
    assert (scan.windows, scan.of) == (5, 50)
    assert scan.gmse == pytest.approx(0.2)
    assert scan.gmse_p90 == pytest.approx(0.5)
    assert scan.groups == {"arm": pytest.approx(0.4), "gripper": 0.0}
    assert (scan.mse, scan.mae) == (pytest.approx(0.4), pytest.approx(0.8))
    assert scan.passed == pytest.approx(2.0)
    assert (scan.pass_rate.successes, scan.pass_rate.trials) == (2, 5)
    assert scan.pass_rate.rate == pytest.approx(0.4)
    assert scan.verdict == "fail"


def test_a_window_whose_gripper_errs_does_not_pass():
    scores = [score(i, 0, 0.0, gripper=0.9) for i in range(4)]

    assert fold_task(plan_of(scores), scores, tau=0.25).pass_rate.rate == 0.0


def test_windows_count_by_what_they_stand_for():
    # Slow frames were drawn three times as densely as changes; both count alike.
    scores = [
        score(0, 1, 0.0, stratum="change"),
        score(0, 2, 0.5, stratum="slow"),
        score(0, 3, 0.5, stratum="slow"),
    ]
    plan = TaskPlan(
        task=TASK,
        of=100,
        choices=tuple(each.choice for each in scores),
        cells={("change", 0): 70, ("slow", 0): 30},
        densities={("change", 0): 1.0, ("slow", 0): 3.0},
    )

    scan = fold_task(plan, scores, tau=0.25)

    # Shares of 1, 1/3 and 1/3 of 100 windows.
    assert plan.weights(plan.choices) == pytest.approx([60.0, 20.0, 20.0])
    assert scan.pass_rate.rate == pytest.approx(0.6)
    # 0.6 of 0 and 0.4 of half of 0.5.
    assert scan.gmse == pytest.approx(0.1)
    assert scan.mse == pytest.approx(0.2)


def test_moments_around_a_gripper_event_count_most_and_transit_least():
    # Ten windows of each; importances 3, 1 and 0.3 of 4.3.
    scores = [
        score(0, 1, 1.0, stratum="gripper"),
        score(0, 2, 0.0, stratum="slow"),
        score(0, 3, 0.0, stratum="transit"),
    ]

    scan = fold_task(plan_of(scores), scores, tau=0.25)

    assert scan.groups["arm"] == pytest.approx(3 / 4.3)
    assert scan.gmse == pytest.approx(1.5 / 4.3)
    assert scan.pass_rate.rate == pytest.approx(1.3 / 4.3)


def test_a_window_that_is_far_off_counts_as_one_that_holds_still():
    scores = [score(0, 1, 50.0), score(0, 2, 0.2)]

    scan = fold_task(plan_of(scores), scores, tau=0.25)

    # GMSE of 25, which counts as 1, and of 0.1.
    assert scan.gmse == pytest.approx(0.55)
    assert scan.gmse_p90 == pytest.approx(25.0)


def test_an_episode_without_a_window_is_stood_for_by_the_others():
    # Nothing of the 50 frames of episode 1 was looked at.
    scores = [score(0, 1, 0.0), score(0, 2, 0.0, stratum="idle"), score(2, 0, 0.0)]
    cells = {("slow", 0): 10, ("idle", 0): 30, ("slow", 1): 50, ("slow", 2): 10}
    plan = TaskPlan(task=TASK, of=100, choices=tuple(each.choice for each in scores), cells=cells)

    assert plan.weights(plan.choices) == pytest.approx([40.0, 40.0, 20.0])


@given(st.lists(st.floats(0, 2), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_the_order_in_which_ranks_finish_changes_no_bit(ratios: list[float], order: random.Random):
    scores = [score(i % 3, i, ratio) for i, ratio in enumerate(ratios)]
    plan = plan_of(scores)
    shuffled = order.sample(scores, len(scores))

    assert fold_task(plan, shuffled, tau=0.25) == fold_task(plan, scores, tau=0.25)


def test_too_few_windows_leave_a_task_undecided():
    scores = [score(i, 0, 0.0) for i in range(8)]

    assert fold_task(plan_of(scores), scores, tau=0.25).verdict == "undecided"
    assert task_evidence(plan_of(scores), scores, tau=0.25).trials == pytest.approx(8.0)


def test_eighteen_passes_of_as_many_episodes_pass_a_task():
    scores = [score(i, 0, 0.0) for i in range(18)]

    assert fold_task(plan_of(scores), scores, tau=0.25).verdict == "pass"


def test_a_task_without_a_scored_window_is_told():
    plan = plan_of([score(0, 0, 0.0)])

    with pytest.raises(ScanError, match=r"^toy/0 has no scored window$"):
        fold_task(plan, [], tau=0.25)
    assert task_evidence(plan, [], tau=0.25).rate is None


def test_a_window_that_was_not_planned_or_comes_twice_is_refused():
    one, other = score(0, 0, 0.0), score(0, 9, 0.0)

    for wrong in ([one, one], [one, other]):
        with pytest.raises(ScanError, match=r"^toy/0 episode 0 frame \d was scored, but"):
            fold_task(plan_of([one]), wrong, tau=0.25)


@pytest.mark.parametrize(
    ("values", "weights", "share", "right"),
    [
        ([3, 1, 2], [1, 1, 1], 0.5, 2),
        ([4, 1, 3, 2], [1, 1, 1, 1], 0.5, 2.5),
        ([1, 2, 3], [1, 1, 8], 0.5, 3),
        ([1, 2], [1, 1], 1.0, 2),
        ([5], [0.1], 0.9, 5),
    ],
)
def test_a_weighted_quantile_is_the_one_counted_by_hand(
    values: list[float], weights: list[float], share: float, right: float
):
    assert weighted_quantile(values, weights, share) == right


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40), st.floats(0.1, 9))
def test_equal_weights_give_the_usual_median(values: list[float], weight: float):
    found = weighted_quantile(values, [weight] * len(values), 0.5)

    assert found == pytest.approx(float(np.median(values)))


def test_shares_come_together_in_the_order_that_was_asked_for():
    assert merge(shares("ca", "", "b"), keys("a", "b", "c")) == {"a": "A", "b": "B", "c": "C"}
    assert list(merge(shares("ca", "b"), keys("a", "b", "c"))) == ["a", "b", "c"]
    assert merge(shares("", ""), []) == {}


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        (("ab", "bc"), "of 3 items of work 1 came twice: b (ranks 0 and 1)"),
        (("ab", "bc", "b"), "of 3 items of work 1 came twice: b (ranks 0, 1 and 2)"),
        (("aab", "c"), "of 3 items of work 1 came twice: a (rank 0)"),
        (("a", "c"), "of 3 items of work 1 is missing: b"),
        (("abc", "d"), "of 3 items of work 1 never asked for: d (rank 1)"),
        (("ab", "a"), "of 3 items of work 1 came twice: a (ranks 0 and 1); 1 is missing: c"),
    ],
)  # fmt: skip
def test_work_that_was_done_twice_or_not_at_all_is_told_by_name(ranks: tuple[str, ...], said: str):
    with pytest.raises(ScanError, match=f"^{re.escape(said)}$"):
        merge(shares(*ranks), keys("a", "b", "c"))


def test_work_that_was_asked_for_twice_is_told():
    with pytest.raises(ScanError, match=r"^of 1 items of work 1 asked for twice: a \(rank 0\)$"):
        merge(shares("a"), keys("a", "a"))


def test_keys_are_told_by_the_names_they_are_known_by_and_not_all_of_them():
    wanted = keys(*"abcdefgh")

    with pytest.raises(
        ScanError,
        match=r"^of 8 items of work 8 are missing: push-v3 episode 4, b, c, d, e, and 3 more$",
    ):
        merge([], wanted, names={wanted[0]: "push-v3 episode 4"})


@given(st.lists(st.integers(0, 3), max_size=30), st.randoms(use_true_random=False))
def test_however_the_work_is_dealt_the_whole_is_the_same(owners: list[int], order: random.Random):
    wanted = [ContentKey(f"key-{i}") for i in range(len(owners))]
    dealt = [
        [(key, key) for key, owner in zip(wanted, owners, strict=True) if owner == rank]
        for rank in range(4)
    ]
    for share in dealt:
        order.shuffle(share)

    assert list(merge(dealt, wanted).items()) == [(key, key) for key in wanted]
