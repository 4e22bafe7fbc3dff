"""What is looked at fits into its share of the time, told by a clock that tests turn by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.runs.look_sizes import FIRST_TASKS, LookClock, Size


class HandClock:
    """A clock that stands still until somebody turns it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def measured(*, trained_s: float, look_s: float, units: int, max_share: float = 0.1) -> LookClock:
    """A clock after one stretch of training and one look."""
    hand = HandClock()
    clock = LookClock(max_share=max_share, clock=hand)
    hand.now += trained_s
    clock.begin()
    hand.now += look_s
    clock.end("open_loop", units)
    return clock


def test_the_first_look_is_a_small_one_by_which_the_cost_is_learned():
    clock = LookClock(max_share=0.1, clock=HandClock())

    size = clock.fit("open_loop", tasks=50, least=8, most=32)

    assert size == Size(tasks=FIRST_TASKS, each=8)


def test_a_share_of_1_sets_no_limit_and_needs_no_clock():
    clock = LookClock(max_share=1.0, clock=HandClock())

    assert clock.fit("rollout", tasks=50, least=8, most=8) == Size(tasks=50, each=8)


def test_tasks_get_less_before_they_are_left_out():
    # 0.1 x 100 s - 1 s = 9 s are left, at 0.01 s a window.
    clock = measured(trained_s=100.0, look_s=1.0, units=100)

    assert clock.fit("open_loop", tasks=10, least=8, most=32) == Size(tasks=10, each=32)
    assert clock.fit("open_loop", tasks=50, least=8, most=32) == Size(tasks=50, each=18)
    assert clock.fit("open_loop", tasks=200, least=8, most=32) == Size(tasks=112, each=8)
    assert clock.fit("open_loop", tasks=50, least=8, most=32, part=0.5) == Size(tasks=50, each=9)


def test_a_look_that_took_too_long_is_made_up_for():
    clock = measured(trained_s=100.0, look_s=11.0, units=100)

    assert clock.fit("open_loop", tasks=5, least=8, most=32).tasks == 0


def test_what_only_the_first_look_of_a_process_takes_is_not_expected_again():
    hand = HandClock()
    clock = LookClock(max_share=0.1, clock=hand)
    # Starting up, then 0.1 s and 0.3 s a window.
    for seconds in (9.0, 1.0, 3.0):
        clock.begin()
        hand.now += seconds
        assert clock.end("open_loop", 10) == seconds

    assert clock.unit_s["open_loop"] == pytest.approx(0.2)


def test_the_start_up_of_a_resumed_run_changes_nothing_that_is_known():
    hand = HandClock()
    clock = LookClock(max_share=0.1, clock=hand)
    clock.restore({"trained_s": 5.0, "scored_s": 0.5, "unit_s": {"rollout": 0.25}})
    for seconds, wanted in ((90.0, 0.25), (10.0, 0.625)):
        hand.now += seconds
        clock.end("rollout", 10)
        assert clock.unit_s["rollout"] == wanted


def test_time_that_was_skipped_is_neither_training_nor_a_look():
    hand = HandClock()
    clock = LookClock(max_share=0.1, clock=hand)
    hand.now += 50.0
    clock.skip()
    clock.begin()

    assert (clock.trained_s, clock.scored_s) == (0.0, 0.0)


def test_a_resumed_run_goes_on_with_the_times_it_has_measured():
    before = measured(trained_s=100.0, look_s=1.0, units=100)
    after = LookClock(max_share=0.1, clock=HandClock())

    after.restore(before.to_dict())

    assert after.to_dict() == before.to_dict()
    assert after.fit("open_loop", tasks=50, least=8, most=32) == Size(tasks=50, each=18)


@given(
    st.lists(st.tuples(st.floats(0.01, 10), st.floats(1e-4, 0.1)), min_size=2, max_size=30),
    st.integers(1, 60),
)
def test_scoring_stays_under_its_share_but_for_one_look(
    steps: list[tuple[float, float]], tasks: int
):
    hand = HandClock()
    clock = LookClock(max_share=0.1, clock=hand)
    largest = 0.0
    for trained_s, unit_s in steps:
        hand.now += trained_s
        clock.begin()
        size = clock.fit("rollout", tasks=tasks, least=8, most=8)
        assert size.tasks <= tasks
        hand.now += (spent := size.tasks * size.each * unit_s)
        clock.end("rollout", size.tasks * size.each)
        largest = max(largest, spent)

    assert clock.scored_s <= 0.1 * clock.trained_s + largest + 1e-9
