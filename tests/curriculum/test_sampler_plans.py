import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import ConfigError, DataError, StateError
from etude.core.types import SamplingPlan, TaskId
from etude.curriculum.sampler import CurriculumSampler
from etude.curriculum.window_weights import FrameStrata
from streams import batches, counts_by_task, plan, sampler, spans


def test_a_plan_holds_from_its_step_on():
    episodes = spans((30,), (30,))
    drawn = sampler(episodes, 1.0, 0.0)

    drawn.set_plan(plan(0.25, 0.75), from_step=3)

    counts = [counts_by_task([rows], episodes) for rows in batches(drawn, 6)]
    assert counts == [[4, 0]] * 3 + [[1, 3]] * 3


def test_when_a_plan_was_set_does_not_matter_only_from_where_it_holds():
    episodes = spans((30,), (11,))
    early, late = (sampler(episodes, 0.7, 0.3) for _ in range(2))
    early.set_plan(plan(0.2, 0.8), from_step=7)

    rows = batches(late, 7)
    late.set_plan(plan(0.2, 0.8), from_step=7)

    assert batches(early, 20) == rows + batches(late, 13)


def test_what_a_task_is_owed_is_carried_into_the_next_plan():
    episodes = spans((30,), (30,))
    drawn = sampler(episodes, 0.6, 0.4, batch_size=1)
    batches(drawn, 1)

    drawn.set_plan(plan(0.5, 0.5), from_step=1)

    assert counts_by_task(batches(drawn, 1), episodes) == [0, 1]


def test_a_paused_task_goes_on_where_it_stood():
    episodes = spans((8,), (8,))
    drawn = sampler(episodes, 0.5, 0.5)
    drawn.set_plan(plan(1.0, 0.0), from_step=2)
    drawn.set_plan(plan(0.5, 0.5), from_step=4)

    rows = batches(drawn, 6)

    paused = [row for batch in rows for row in batch if row >= 8]
    assert len(paused) == 8
    assert sorted(paused) == list(range(8, 16))


@given(
    changes=st.lists(
        st.lists(st.integers(0, 5), min_size=5, max_size=5).filter(any), min_size=1, max_size=6
    ),
    batch_size=st.integers(1, 16),
)
def test_no_task_is_owed_more_than_a_few_draws_however_plans_change(
    changes: list[list[int]], batch_size: int
):
    episodes = spans(*[(40,)] * 5)
    shares = [np.array(weights) / sum(weights) for weights in changes]
    drawn = sampler(episodes, *shares[0], batch_size=batch_size)
    for number, share in enumerate(shares[1:], start=1):
        drawn.set_plan(plan(*share), from_step=10 * number)

    rows = batches(drawn, 10 * len(shares))

    owed = 10 * batch_size * np.sum(shares, axis=0) - counts_by_task(rows, episodes)
    assert np.all(np.abs(owed) < 3)


@pytest.mark.parametrize("stop", [1, 4, 5, 6, 9, 10, 11, 14])
def test_a_stream_with_changing_plans_goes_on_after_a_stop(stop: int):
    def prepared(upto: int) -> list[tuple[int, SamplingPlan]]:
        plans = [(5, plan(0.2, 0.8)), (10, plan(0.9, 0.1))]
        return [each for each in plans if each[0] <= upto + 3]

    episodes = spans((13,), (7,))
    straight, first, second = (sampler(episodes, 0.6, 0.4, lag=3) for _ in range(3))
    for begins, each in prepared(99):
        straight.set_plan(each, from_step=begins)
    for begins, each in prepared(stop):
        first.set_plan(each, from_step=begins)
    rows = batches(first, stop)

    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for begins, each in prepared(99)[len(prepared(stop)) :]:
        second.set_plan(each, from_step=begins)

    assert rows + batches(second, 20 - stop) == batches(straight, 20)


def test_a_state_from_before_a_plan_holds_has_both_plans():
    drawn = sampler(spans((9,), (9,)), 0.5, 0.5, lag=5)
    drawn.set_plan(plan(0.25, 0.75), from_step=5)
    batches(drawn, 8)

    plans = drawn.state_dict(step=4)["plans"]

    assert plans == [[0, [0.5, 0.5]], [5, [0.25, 0.75]]]
    assert drawn.state_dict()["plans"] == [[5, [0.25, 0.75]]]


def test_a_plan_that_comes_too_late_is_refused_and_changes_nothing():
    drawn, same = (sampler(spans((9,), (9,)), 0.5, 0.5, lag=2) for _ in range(2))
    rows = batches(drawn, 4)

    with pytest.raises(StateError, match="a plan for step 5 comes too late: batches below 6"):
        drawn.set_plan(plan(1.0, 0.0), from_step=5)

    assert rows + batches(drawn, 6) == batches(same, 10)


def test_a_loader_that_drew_ahead_counts_from_what_was_trained_on():
    drawn = sampler(spans((9,), (9,)), 0.5, 0.5, lag=4)
    batches(drawn, 10)

    drawn.set_plan(plan(1.0, 0.0), from_step=11, trained=7)

    with pytest.raises(StateError, match="batches below 12"):
        drawn.set_plan(plan(1.0, 0.0), from_step=11, trained=8)


def test_a_loader_that_drew_too_far_ahead_is_noticed():
    drawn = sampler(spans((9,), (9,)), 0.5, 0.5, lag=2)
    batches(drawn, 10)

    with pytest.raises(StateError, match="batches below 10 may be drawn already"):
        drawn.set_plan(plan(1.0, 0.0), from_step=9, trained=5)


def test_the_plan_of_the_first_scan_holds_from_the_start():
    episodes = spans((9,), (9,))
    drawn = sampler(episodes, 0.5, 0.5, lag=20)

    drawn.set_plan(plan(0.0, 1.0), from_step=0)

    assert counts_by_task(batches(drawn, 2), episodes) == [0, 8]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((1.0,), "the plan leaves out 1 tasks: d/1"),
        ((0.25, 0.25, 0.5), "the plan names unknown 1 tasks: d/2"),
        ((0.0, 0.0), "weights of 2 tasks sum to 0"),
    ],
)
def test_a_plan_for_other_tasks_is_refused(weights: tuple[float, ...], message: str):
    with pytest.raises(ConfigError, match=message):
        sampler(spans((9,), (9,)), 0.5, 0.5).set_plan(plan(*weights), from_step=0)


def test_a_plan_that_draws_a_task_without_frames_is_refused():
    drawn = sampler(spans((9,)), 1.0, 0.0)

    with pytest.raises(DataError, match="1 tasks to train on have no frames: d/1"):
        drawn.set_plan(plan(0.5, 0.5), from_step=0)


def test_the_state_stays_small_however_often_plans_change():
    drawn = sampler(spans(*[(2000,)] * 50), *[0.02] * 50, batch_size=512, lag=8)
    noise = np.random.default_rng(0)
    for number in range(30):
        weights = noise.dirichlet(np.ones(50))
        drawn.set_plan(plan(*weights), from_step=100 * number + 108)
        batches(drawn, 100)

    assert len(json.dumps(drawn.state_dict(step=drawn.step - 8))) < 6_000


LABELS = FrameStrata(names=("grasp", "other"), labels=np.arange(60).astype(np.int8) % 2)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("draw"), st.integers(1, 9)),
        st.tuples(st.just("plan"), st.integers(1, 9)),
        st.tuples(st.just("windows"), st.integers(0, 9)),
    ),
    max_size=12,
)


@given(operations=OPERATIONS, stops=st.sets(st.integers(0, 11)), at_rewind=st.integers(0, 3))
def test_stops_and_steps_back_anywhere_change_nothing(
    operations: list[tuple[str, int]], stops: set[int], at_rewind: int
):
    def made() -> CurriculumSampler:
        return sampler(spans((40,), (20,)), 0.5, 0.5, batch_size=6, lag=3, strata=LABELS)

    straight, stopped = made(), made()
    for number, (what, size) in enumerate(operations):
        begins = straight.step + 3
        for each in (straight, stopped):
            if what == "plan":
                each.set_plan(plan(size / 10, 1 - size / 10), from_step=begins)
            elif what == "windows":
                each.set_window_weights({TaskId("d/0"): {"grasp": size / 2}}, from_step=begins)
        if what == "draw":
            assert batches(straight, size) == batches(stopped, size)
        if number in stops:
            state = json.loads(json.dumps(stopped.state_dict()))
            stopped = made()
            stopped.load_state_dict(state)
        else:
            back = min(at_rewind, size if what == "draw" else 0)
            stopped.rewind(stopped.step - back)
            batches(stopped, back)

    assert batches(straight, 12) == batches(stopped, 12)
    assert straight.state_dict() == stopped.state_dict()


def test_a_tiny_weight_is_drawn_in_time():
    episodes = spans((1000,), (1,))

    counts = counts_by_task(batches(sampler(episodes, 0.999, 0.001, batch_size=10), 1000), episodes)

    assert counts == [9990, 10]
