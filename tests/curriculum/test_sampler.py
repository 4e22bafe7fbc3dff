import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import DataError, StateError
from etude.core.types import EpisodeSpan, SamplingPlan, TaskId
from etude.curriculum.plan import uniform_plan
from etude.curriculum.sampler import CurriculumSampler


def spans(*lengths_by_task: tuple[int, ...]) -> list[EpisodeSpan]:
    """Episodes of the given lengths, task by task, one behind the other."""
    made: list[EpisodeSpan] = []
    start = 0
    for task, lengths in enumerate(lengths_by_task):
        for length in lengths:
            made.append(
                EpisodeSpan(
                    index=len(made), task=TaskId(f"d/{task}"), start=start, stop=start + length
                )
            )
            start += length
    return made


def sampler(
    episodes: list[EpisodeSpan], *weights: float, batch_size: int = 4, seed: int = 0
) -> CurriculumSampler:
    plan = SamplingPlan(weights={TaskId(f"d/{i}"): weight for i, weight in enumerate(weights)})
    return CurriculumSampler(episodes, plan, batch_size=batch_size, seed=seed)


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


@pytest.mark.parametrize("stop", [1, 2, 3, 4, 5])
def test_a_resumed_stream_equals_the_uninterrupted_one(stop: int):
    episodes = spans((5, 3), (4,))
    straight = sampler(episodes, 0.7, 0.3, batch_size=4)
    wanted = [straight.next_rows().tolist() for _ in range(12)]
    first = sampler(episodes, 0.7, 0.3, batch_size=4)
    before = [first.next_rows().tolist() for _ in range(stop)]

    second = sampler(episodes, 0.7, 0.3, batch_size=4)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))

    assert second.step == stop
    assert before + [second.next_rows().tolist() for _ in range(12 - stop)] == wanted


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_slots_of_all_ranks_make_up_the_global_batch(size: int):
    drawn = sampler(spans((40,), (40,)), 0.5, 0.5, batch_size=7)
    rows = drawn.next_rows()

    shares = [drawn.slots(rows, rank=rank, size=size).tolist() for rank in range(size)]

    assert sorted(row for share in shares for row in share) == sorted(rows.tolist())


def test_a_saved_state_of_other_data_is_refused():
    state = sampler(spans((5,), (4,)), 0.5, 0.5).state_dict()

    with pytest.raises(StateError, match="other seed, frames than this run"):
        sampler(spans((5,), (6,)), 0.5, 0.5, seed=1).load_state_dict(state)


def test_a_drawn_task_without_frames_is_an_error():
    with pytest.raises(DataError, match="1 tasks to train on have no frames: d/1"):
        CurriculumSampler(
            spans((5,)), uniform_plan([TaskId("d/0"), TaskId("d/1")]), batch_size=2, seed=0
        )


def test_the_state_of_fifty_tasks_is_small():
    state = sampler(spans(*[(30,)] * 50), *[0.02] * 50, batch_size=512).state_dict()

    assert len(json.dumps(state)) < 10_000
