from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import DataError
from etude.core.types import TaskId
from etude.curriculum.plan import uniform_plan
from etude.curriculum.sampler import CurriculumSampler
from streams import batches, sampler, spans


def test_shares_follow_the_weights_and_not_the_numbers_of_frames():
    episodes = spans((1,), (1000,), (10, 10))
    drawn = sampler(episodes, 0.25, 0.25, 0.5, batch_size=10)

    rows = np.concatenate([drawn.next_rows() for _ in range(1000)])

    assert np.sum(rows == 0) == 2500
    assert np.sum((rows >= 1) & (rows < 1001)) == 2500
    assert np.sum(rows >= 1001) == 5000


def test_a_task_of_weight_0_is_never_drawn():
    rows = np.concatenate([r.next_rows() for r in [sampler(spans((3,), (5,)), 0.0, 1.0)]])

    assert set(rows.tolist()) <= set(range(3, 8))


@given(
    weights=st.lists(st.floats(0.001, 1), min_size=1, max_size=20),
    batch_size=st.integers(1, 64),
    steps=st.integers(1, 40),
)
def test_no_task_is_ever_owed_more_than_two_draws(
    weights: list[float], batch_size: int, steps: int
):
    total = sum(weights)
    shares = [weight / total for weight in weights]
    shares[-1] = 1.0 - sum(shares[:-1])
    drawn = sampler(spans(*[(50,)] * len(shares)), *shares, batch_size=batch_size)

    rows = np.concatenate([drawn.next_rows() for _ in range(steps)])

    counts = Counter((rows // 50).tolist())
    assert len(rows) == steps * batch_size
    for task, share in enumerate(shares):
        assert abs(counts[task] - share * batch_size * steps) < 2


@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_each_pass_visits_every_frame_of_a_task_once(lengths: list[int], seed: int):
    frames = sum(lengths)
    drawn = sampler(spans(tuple(lengths)), 1.0, batch_size=frames, seed=seed)

    first, second = drawn.next_rows().tolist(), drawn.next_rows().tolist()

    assert sorted(first) == sorted(second) == list(range(frames))


def test_passes_and_seeds_have_different_orders():
    episodes = spans((100,))
    drawn = sampler(episodes, 1.0, batch_size=100)
    orders = [tuple(drawn.next_rows()) for _ in range(3)]
    other = tuple(sampler(episodes, 1.0, batch_size=100, seed=1).next_rows())

    assert len({*orders, other}) == 4
    assert orders[0] == tuple(sampler(episodes, 1.0, batch_size=100).next_rows())


def test_a_drawn_task_without_frames_is_an_error():
    with pytest.raises(DataError, match="1 tasks to train on have no frames: d/1"):
        CurriculumSampler(
            spans((5,)), uniform_plan([TaskId("d/0"), TaskId("d/1")]), batch_size=2, seed=0
        )


def test_draws_are_counted_by_task():
    drawn = sampler(spans((9,), (5,)), 0.75, 0.25, lag=1)
    batches(drawn, 5)

    assert drawn.draws() == {TaskId("d/0"): 15, TaskId("d/1"): 5}
    assert drawn.draws(step=4) == {TaskId("d/0"): 12, TaskId("d/1"): 4}
    assert drawn.frames == {TaskId("d/0"): 9, TaskId("d/1"): 5}
