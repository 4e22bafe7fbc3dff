import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.types import TaskId, WindowChoice
from etude.scan.plan import TaskPlan

TASK = TaskId("toy/0")


def choice(frame: int, stratum: str = "slow") -> WindowChoice:
    return WindowChoice(task=TASK, episode=0, frame=frame, stratum=stratum, weight=1.0, seed=0)


def plan(*, mean: float) -> TaskPlan:
    """Return a plan of two of ten windows, the second of which was drawn three times as densely."""
    return TaskPlan(
        task=TASK,
        of=10,
        choices=(choice(1), choice(2)),
        cells={("slow", 0): 10},
        expected={(0, 1): 0.5, (0, 2): 1.5},
        means={("slow", 0): mean},
    )


def test_a_window_stands_for_the_fewer_the_more_error_was_expected_of_it():
    two = plan(mean=0.75)

    # 3/4 and 1/4 of all, of whom 3/4 * 0.5 + 1/4 * 1.5 = 0.75 is expected, as it should be.
    assert two.weights(two.choices) == pytest.approx([7.5, 2.5])


def test_windows_of_which_less_error_is_expected_than_of_all_are_weighed_anew():
    two = plan(mean=0.875)

    # 5/8 and 3/8 have the mean of all: 5/8 * 0.5 + 3/8 * 1.5 = 0.875.
    assert two.weights(two.choices) == pytest.approx([6.25, 3.75])


def test_no_window_comes_to_stand_for_more_than_twice_or_less_than_half_as_much():
    two = plan(mean=1.4)

    # 3/4 becomes half of it and 1/4 twice as much: 3 to 4.
    assert two.weights(two.choices) == pytest.approx([30 / 7, 40 / 7])


def test_windows_are_weighed_as_their_errors_count():
    # Around a gripper event errors count three times. Both strata were drawn equally densely, but
    # the first has 10 windows and the second 30.
    two = TaskPlan(
        task=TASK,
        of=40,
        choices=(choice(1, "gripper"), choice(2)),
        cells={("gripper", 0): 10, ("slow", 0): 30},
        expected={(0, 1): 1.0, (0, 2): 0.5},
        means={("gripper", 0): 1.0, ("slow", 0): 0.5},
    )

    assert two.weights(two.choices) == pytest.approx([10.0, 30.0])


def test_windows_of_which_the_same_is_expected_stay_as_they_are():
    two = plan(mean=0.875)

    assert two.weights([choice(1)]) == pytest.approx([10.0])
    assert two.weights([]) == []


@given(
    st.lists(st.floats(0.2, 1.2), min_size=1, max_size=20),
    st.floats(0.2, 1.2),
    st.sampled_from(["gripper", "slow", "transit"]),
)
def test_every_window_stands_for_something_and_all_for_the_task(
    errors: list[float], mean: float, stratum: str
):
    choices = tuple(choice(frame, stratum) for frame in range(len(errors)))
    many = TaskPlan(
        task=TASK,
        of=1000,
        choices=choices,
        cells={(stratum, 0): 1000},
        expected={(0, frame): error for frame, error in enumerate(errors)},
        means={(stratum, 0): mean},
    )

    weights = many.weights(choices)

    assert sum(weights) == pytest.approx(1000)
    assert min(weights) > 0
