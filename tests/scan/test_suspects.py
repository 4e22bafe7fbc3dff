import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.types import TaskId, WindowChoice, WindowScore
from etude.scan.suspects import PastScan, Suspect, before, find_suspects, strata_by_task

TASK = TaskId("toy/0")
BAD = 30
"""Frame of the window that stays wrong."""


def scored(gmse: float, frame: int, *, task: TaskId = TASK, stratum: str = "slow") -> WindowScore:
    choice = WindowChoice(task=task, episode=5, frame=frame, stratum=stratum, weight=1.0, seed=0)
    return WindowScore(choice=choice, groups={"arm": gmse}, mse=0.0, mae=0.0)


def past(
    step: int, *, usual: float, bad: float | None, turn: int = 0, task: TaskId = TASK
) -> PastScan:
    """A scan of 29 windows that are alike and, unless it is None, one that is bad."""
    windows = [scored(usual, frame, task=task) for frame in range(29)]
    bads = [] if bad is None else [scored(bad, BAD, task=task)]
    return PastScan(step=step, round=turn, windows=(*windows, *bads))


IMPROVING = [
    past(100, usual=0.9, bad=5.0),
    past(200, usual=0.6, bad=5.5),
    past(300, usual=0.3, bad=5.25),
]


def test_a_window_that_stays_wrong_on_three_visits_while_its_task_improves_is_suspect():
    assert find_suspects(IMPROVING) == {
        TASK: (Suspect(task=TASK, episode=5, frame=BAD, stratum="slow", visits=3, gmse=5.25),)
    }


def test_a_hard_window_that_gets_better_with_the_rest_is_not_suspect():
    # The task's mean falls by 62 %, from 31.1 / 30 to 11.7 / 30; the window by 40 %, and by 2 %.
    keeping_up = [*IMPROVING[:2], past(300, usual=0.3, bad=3.0)]
    staying = [*IMPROVING[:2], past(300, usual=0.3, bad=4.9)]

    assert find_suspects(keeping_up) == {}
    assert TASK in find_suspects(staying)


def test_two_visits_are_too_few():
    assert find_suspects(IMPROVING[:2]) == {}


def test_all_visits_in_a_row_are_counted():
    (suspect,) = find_suspects([past(50, usual=1.0, bad=4.0), *IMPROVING])[TASK]

    assert suspect.visits == 4


def test_a_window_that_got_better_since_is_not_suspect():
    assert find_suspects([*IMPROVING, past(400, usual=0.3, bad=0.2)]) == {}


def test_a_window_whose_task_does_not_improve_is_not_suspect():
    stuck = [past(step, usual=0.9, bad=5.0) for step in (100, 200, 300)]

    assert find_suspects(stuck) == {}


def test_only_the_latest_three_visits_have_to_show_improvement():
    # The task got worse and then better again.
    worse = past(50, usual=0.1, bad=4.0)

    assert list(find_suspects([worse, *IMPROVING])) == [TASK]
    assert find_suspects([*IMPROVING[:2], past(300, usual=0.95, bad=5.0)]) == {}


def test_a_scan_that_did_not_look_at_a_window_is_no_visit():
    between = past(250, usual=0.5, bad=None)

    (suspect,) = find_suspects([*IMPROVING[:2], between, IMPROVING[2]])[TASK]

    assert suspect.visits == 3


def test_scans_of_one_training_step_are_one_visit():
    again = [past(200, usual=0.5, bad=5.5, turn=turn) for turn in (1, 2)]

    assert find_suspects([*IMPROVING[:2], *again]) == {}


def test_a_window_that_is_as_wrong_as_many_others_is_not_suspect():
    # Three of thirty are wrong, which is more than one in twenty.
    scans = [
        PastScan(
            step=step,
            round=0,
            windows=tuple(scored(5.0 if frame < 3 else usual, frame) for frame in range(30)),
        )
        for step, usual in ((100, 0.9), (200, 0.6), (300, 0.3))
    ]

    assert find_suspects(scans) == {}


def test_tasks_are_judged_apart():
    other = TaskId("toy/1")
    mixed = [
        PastScan(
            step=one.step,
            round=0,
            windows=(*one.windows, *past(one.step, usual=50.0, bad=None, task=other).windows),
        )
        for one in IMPROVING
    ]

    assert find_suspects(mixed) == find_suspects(IMPROVING)


@pytest.mark.parametrize(
    ("step", "turn", "found"),
    [(300, 0, [100, 200]), (300, 1, [100, 200, 300]), (100, 0, [])],
)
def test_only_scans_of_an_earlier_step_or_round_came_before(
    step: int, turn: int, found: Sequence[int]
):
    present = PastScan(step=step, round=turn, windows=())

    assert [scan.step for scan in before(IMPROVING[::-1], present)] == found


def test_strata_are_told_by_task():
    windows = (
        scored(1.0, 0),
        scored(1.0, 1, stratum="idle"),
        scored(1.0, 0, task=TaskId("toy/1")),
    )

    assert strata_by_task(PastScan(step=1, round=0, windows=windows)) == {
        TASK: {"slow", "idle"},
        TaskId("toy/1"): {"slow"},
    }


histories = st.lists(
    st.dictionaries(st.integers(0, 4), st.floats(0, 10), min_size=1), min_size=1, max_size=8
)


@given(histories, st.randoms(use_true_random=False))
def test_every_suspect_was_seen_three_times_and_the_order_of_scans_is_nothing(
    history: list[Mapping[int, float]], order: random.Random
):
    scans = [
        PastScan(
            step=place // 2,
            round=place % 2,
            windows=tuple(scored(error, frame) for frame, error in errors.items()),
        )
        for place, errors in enumerate(history)
    ]
    shuffled = list(scans)
    order.shuffle(shuffled)

    found = find_suspects(scans)

    assert find_suspects(shuffled) == found
    for suspect in found.get(TASK, ()):
        seen = {place // 2 for place, errors in enumerate(history) if suspect.frame in errors}
        assert 3 <= suspect.visits <= len(seen)
