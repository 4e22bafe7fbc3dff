import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import ConfigError, DataError, StateError
from etude.core.types import TaskId
from etude.curriculum.frame_layout import FrameLayout
from etude.curriculum.window_weights import PIECE, FrameStrata, StratumIndex
from streams import batches, counts_by_task, sampler, spans

A, B = TaskId("d/0"), TaskId("d/1")
NAMES = ("gripper", "transit")


def strata(*labels: int, names: tuple[str, ...] = NAMES) -> FrameStrata:
    return FrameStrata(names=names, labels=np.array(labels, np.int8))


@given(
    lengths=st.lists(st.integers(1, 3 * PIECE), min_size=1, max_size=5),
    seed=st.integers(0, 99),
)
def test_every_frame_of_a_stratum_is_found_by_its_number(lengths: list[int], seed: int):
    episodes = spans(tuple(lengths[::2]), tuple(lengths[1::2]))
    rows = sum(lengths)
    labels = np.random.default_rng(seed).integers(-1, 3, rows).astype(np.int8)
    index = StratumIndex(
        FrameLayout([B, A], episodes), FrameStrata(names=("x", "y", "z"), labels=labels)
    )

    for place, task in enumerate((B, A)):
        mine = [row for s in episodes if s.task == task for row in range(s.start, s.stop)]
        for stratum, label in enumerate((0, 1, 2, -1)):
            wanted = [row for row in mine if labels[row] == label]
            numbers = np.arange(len(wanted))
            found = index.rows(np.full(len(wanted), place), np.full(len(wanted), stratum), numbers)
            assert index.sizes[place, stratum] == len(wanted)
            assert found.tolist() == wanted


def test_strata_are_drawn_by_their_multipliers():
    labels = strata(*[0] * 20, *[1] * 80)
    drawn = sampler(spans((60, 40)), 1.0, batch_size=10, strata=labels)

    drawn.set_window_weights({A: {"gripper": 3.0, "transit": 0.5}}, from_step=0)

    rows = np.array(batches(drawn, 500)).ravel()
    assert abs(np.sum(rows < 20) - 3000) <= 3
    assert set(rows.tolist()) == set(range(100))


def test_frames_of_equal_weight_are_drawn_equally_often():
    labels = strata(*[0] * 7, *[1] * 23)
    drawn = sampler(spans((30,)), 1.0, batch_size=8, strata=labels)
    drawn.set_window_weights({A: {"gripper": 2.5, "transit": 0.55}}, from_step=0)

    counts = Counter(np.array(batches(drawn, 200)).ravel().tolist())

    for frames in (range(7), range(7, 30)):
        visits = [counts[frame] for frame in frames]
        assert max(visits) - min(visits) <= 1


def test_each_batch_has_its_part_of_every_stratum():
    labels = strata(*[0] * 50, *[1] * 150)
    drawn = sampler(spans((200,)), 1.0, batch_size=40, strata=labels)
    drawn.set_window_weights({A: {"gripper": 3.0, "transit": 1.0}}, from_step=0)

    parts = [sum(row < 50 for row in rows) for rows in batches(drawn, 50)]

    assert all(17 <= part <= 23 for part in parts)


def test_window_weights_leave_the_shares_of_tasks_alone():
    episodes = spans((30,), (30,))
    drawn = sampler(episodes, 0.25, 0.75, strata=strata(*[0] * 10, *[1] * 50))

    drawn.set_window_weights({A: {"gripper": 8.0}}, from_step=0)

    assert counts_by_task(batches(drawn, 25), episodes) == [25, 75]


def test_a_task_without_window_weights_draws_as_if_there_were_none():
    episodes = spans((30,), (30,))
    plain = sampler(episodes, 0.5, 0.5)
    drawn = sampler(episodes, 0.5, 0.5, strata=strata(*[0] * 10, *[1] * 50))

    drawn.set_window_weights({A: {"gripper": 8.0}}, from_step=0)

    assert [rows[2:] for rows in batches(drawn, 20)] == [rows[2:] for rows in batches(plain, 20)]


def test_a_stratum_of_weight_0_is_not_drawn_and_unknown_frames_count_1():
    labels = strata(*[0] * 10, *[-1] * 10, *[1] * 10)
    drawn = sampler(spans((30,)), 1.0, batch_size=10, strata=labels)

    drawn.set_window_weights({A: {"gripper": 0.0, "transit": 3.0}}, from_step=0)

    rows = np.array(batches(drawn, 40)).ravel()
    assert np.sum(rows < 10) == 0
    assert abs(np.sum((rows >= 10) & (rows < 20)) - 100) <= 2


def test_all_frames_alike_again_goes_on_with_their_common_order():
    drawn = sampler(spans((30,)), 1.0, batch_size=10, strata=strata(*[0] * 10, *[1] * 20))
    drawn.set_window_weights({A: {"gripper": 2.0}}, from_step=1)
    drawn.set_window_weights({}, from_step=5)

    rows = batches(drawn, 7)

    assert sorted(rows[0] + rows[5] + rows[6]) == list(range(30))


@pytest.mark.parametrize("stop", [1, 3, 4, 5, 8])
def test_a_stream_with_window_weights_goes_on_after_a_stop(stop: int):
    labels = strata(*[0] * 10, *[1] * 20)
    straight, first, second = (
        sampler(spans((18,), (12,)), 0.6, 0.4, strata=labels) for _ in range(3)
    )
    for each in (straight, first):
        each.set_window_weights({A: {"gripper": 2.0}, B: {"transit": 0.3}}, from_step=4)

    rows = batches(first, stop)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))

    assert rows + batches(second, 12 - stop) == batches(straight, 12)


def test_other_strata_of_the_same_frames_are_refused_on_resume():
    state = sampler(spans((3,)), 1.0, strata=strata(0, 1, 1)).state_dict()

    with pytest.raises(StateError, match="other strata than this run"):
        sampler(spans((3,)), 1.0, strata=strata(0, 0, 1)).load_state_dict(state)


def test_labels_may_lie_in_a_file(tmp_path: Path):
    labels = np.array([0] * 10 + [1] * 20, np.int8)
    np.save(tmp_path / "strata.npy", labels)
    mapped = np.load(tmp_path / "strata.npy", mmap_mode="r")
    streams: list[list[list[int]]] = []

    for each in (labels, mapped):
        drawn = sampler(spans((30,)), 1.0, strata=FrameStrata(names=NAMES, labels=each))
        drawn.set_window_weights({A: {"gripper": 2.0}}, from_step=0)
        streams.append(batches(drawn, 9))

    assert streams[0] == streams[1]


def test_the_state_of_fifty_tasks_with_six_strata_is_small():
    names = ("gripper", "waypoint", "change", "idle", "slow", "transit")
    labels = FrameStrata(names=names, labels=(np.arange(50 * 600) % 6).astype(np.int8))
    drawn = sampler(spans(*[(600,)] * 50), *[0.02] * 50, batch_size=512, strata=labels, lag=8)
    noise = np.random.default_rng(0)
    for step in (0, 90):
        drawn.set_window_weights(
            {task: dict(zip(names, noise.uniform(0.5, 8, 6), strict=True)) for task in drawn.tasks},
            from_step=step,
        )
        batches(drawn, 80)

    assert len(json.dumps(drawn.state_dict(step=drawn.step - 8))) < 10_000


def test_window_weights_without_strata_are_refused():
    with pytest.raises(StateError, match="window weights need to know the strata of frames"):
        sampler(spans((3,)), 1.0).set_window_weights({A: {"gripper": 1.0}}, from_step=0)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({TaskId("d/7"): {"gripper": 1.0}}, "window weights name 1 unknown tasks: d/7"),
        ({A: {"hover": 1.0}}, "window weights of task d/0 name the unknown stratum 'hover'"),
        ({A: {"gripper": float("nan")}}, "window weight of 'gripper' in task d/0 is nan"),
        ({A: {"gripper": -1.0}}, "window weight of 'gripper' in task d/0 is -1.0"),
        ({A: {"gripper": 0.0, "transit": 0.0}}, "window weights of task d/0 leave none of its"),
    ],
)
def test_impossible_window_weights_are_refused(
    weights: dict[TaskId, dict[str, float]], message: str
):
    drawn = sampler(spans((3,)), 1.0, strata=strata(0, 1, 1))

    with pytest.raises(ConfigError, match=message):
        drawn.set_window_weights(weights, from_step=0)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ((0, 1), "2 frames have strata, of 3 in the dataset"),
        ((0, 1, 2), "a frame has the stratum number 2, of 2 that have names"),
        ((0, -2, 1), "a frame has the stratum number -2, of 2 that have names"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels: tuple[int, ...], message: str):
    with pytest.raises(DataError, match=message):
        sampler(spans((3,)), 1.0, strata=strata(*labels))
