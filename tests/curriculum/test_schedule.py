import pytest

from etude.core.errors import StateError
from etude.curriculum.schedule import Schedule


def put(schedule: Schedule[str], value: str, *, from_step: int, earliest: int = 0) -> None:
    schedule.put(value, from_step=from_step, earliest=earliest, what="a plan")


def test_each_step_has_what_was_set_last_before_it():
    schedule = Schedule("a")
    put(schedule, "b", from_step=3)
    put(schedule, "c", from_step=5)

    assert [schedule.at(step) for step in range(7)] == ["a", "a", "a", "b", "b", "c", "c"]
    assert [schedule.change_after(step) for step in (0, 2, 3, 5)] == [3, 3, 5, None]


def test_the_later_of_two_for_one_step_counts():
    schedule = Schedule("a")
    put(schedule, "b", from_step=3)
    put(schedule, "c", from_step=3)

    assert schedule.at(3) == "c"
    assert schedule.live(0) == [(0, "a"), (3, "c")]


def test_a_step_that_may_be_drawn_is_refused():
    with pytest.raises(StateError, match="a plan for step 4 comes too late: batches below 6"):
        put(Schedule("a"), "b", from_step=4, earliest=6)


def test_steps_out_of_order_are_refused():
    schedule = Schedule("a")
    put(schedule, "b", from_step=9)

    with pytest.raises(StateError, match="a plan for step 8 comes behind one for step 9"):
        put(schedule, "c", from_step=8)


def test_only_what_is_still_needed_is_kept():
    schedule = Schedule("a")
    for step in (3, 5, 8):
        put(schedule, f"from {step}", from_step=step)

    schedule.forget_before(6)

    assert schedule.live(6) == [(5, "from 5"), (8, "from 8")]
    assert schedule.live(8) == [(8, "from 8")]


def test_what_was_kept_can_be_put_back():
    schedule = Schedule("a")
    put(schedule, "b", from_step=3)
    other = Schedule("z")

    other.restore(schedule.live(1))

    assert [other.at(step) for step in (1, 3)] == ["a", "b"]


def test_nothing_is_lost_by_asking_for_steps_before_the_first():
    schedule = Schedule("a")
    schedule.restore([(5, "b"), (9, "c")])

    schedule.forget_before(-3)

    assert schedule.live(2) == [(5, "b"), (9, "c")]
