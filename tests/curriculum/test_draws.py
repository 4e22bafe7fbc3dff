import numpy as np
import pytest

from etude.curriculum.draws import apportion, steps_at_once


def test_what_cannot_be_given_now_is_owed():
    counts, owed = apportion(np.array([0.3, 0.7]), np.zeros(2), 4)

    assert counts.tolist() == [1, 3]
    assert owed.tolist() == pytest.approx([0.2, -0.2])


def test_a_task_of_weight_0_gets_nothing_and_keeps_what_it_is_owed():
    counts, owed = apportion(np.array([0.0, 1.0]), np.array([0.6, -0.6]), 4)

    assert counts.tolist() == [0, 4]
    assert owed.tolist() == pytest.approx([0.6, -0.6])


@pytest.mark.parametrize(
    ("batch_size", "changes", "steps"),
    [(512, (None, None), 16), (4, (None,), 64), (100_000, (), 1), (512, (9, None, 12), 4)],
)
def test_batches_are_computed_together_up_to_the_next_change(
    batch_size: int, changes: tuple[int | None, ...], steps: int
):
    assert steps_at_once(batch_size, 5, changes) == steps
