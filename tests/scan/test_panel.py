from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.core.errors import DataError
from etude.core.protocols import Dataset
from etude.core.types import EpisodeSpan, TaskId
from etude.scan.episodes import episodes_to_scan
from etude.scan.panel import Chooser, noise_seeds
from etude.scan.plan import TaskPlan
from etude.scan.scan_config import ScanConfig
from etude.scan.strata import STRATA
from etude.scan.units import Units
from etude.testing.fakes import MemoryDataset, MemoryEpisode, toy_tasks

TASK = TaskId("toy/0")


def walk(frames: int, seed: int) -> np.ndarray:
    """Return a path that goes fast, slowly, and rests, with a gripper that closes half-way."""
    random = np.random.default_rng(seed)
    speed = np.repeat([1.0, 0.2, 0.0, 1.0, 0.3], -(-frames // 5))[:frames]
    turns = np.cumsum(random.normal(size=frames) * 0.3)
    path = np.cumsum(speed[:, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1), axis=0)
    return np.hstack([path, (np.arange(frames) >= frames // 2)[:, None]]).astype(np.float32)


def walks(*lengths: int) -> MemoryDataset:
    paths = [walk(frames, seed) for seed, frames in enumerate(lengths)]
    return MemoryDataset(
        [MemoryEpisode(task=TASK, states=path, actions=path) for path in paths], tasks=toy_tasks(1)
    )


def chooser(dataset: Dataset, *, audit: bool = False, **settings: object) -> Chooser:
    return Chooser(
        dataset=dataset,
        config=replace(ScanConfig(), **settings),
        horizon=4,
        grippers=(2,),
        units=Units(ranges=np.ones(3), moves=np.zeros(3, np.bool_)),
        audit=audit,
    )


def planned(
    dataset: Dataset, *, most: int = 32, audit: bool = False, **settings: object
) -> TaskPlan:
    made = chooser(dataset, audit=audit, **settings)
    return made.plan(TASK, dataset.episodes, most=most)


def places(plan: TaskPlan) -> list[tuple[int, int]]:
    return [(choice.episode, choice.frame) for choice in plan.choices]


def test_stride_is_every_50th_of_the_first_500_frames():
    plan = planned(walks(1200, 70), strategy="stride", most=0)

    assert sorted(places(plan)) == [(0, frame) for frame in range(0, 500, 50)] + [(1, 0), (1, 50)]
    assert plan.of == 12
    assert {choice.stratum for choice in plan.choices} <= set(STRATA)
    assert plan.weights(plan.choices) == pytest.approx([1.0] * 12)


def test_sliding_goes_from_end_to_end_in_steps_of_the_horizon():
    plan = planned(walks(10, 4), strategy="sliding", most=0)

    assert sorted(places(plan)) == [(0, 0), (0, 4), (0, 8), (1, 0)]
    assert plan.of == 4


def test_sliding_by_single_frames_is_the_dense_scan():
    plan = planned(walks(5, 3), strategy="sliding", step=1, most=0)

    assert sorted(places(plan)) == [(0, i) for i in range(5)] + [(1, i) for i in range(3)]


@pytest.mark.parametrize("strategy", ["stride", "sliding", "uniform", "panel"])
def test_a_capped_scan_comes_from_all_episodes_and_reaches_their_ends(strategy: str):
    plan = planned(walks(500, 500, 500), strategy=strategy, most=24)

    assert len(plan.choices) == 24
    assert len(set(places(plan))) == 24
    assert min(Counter(episode for episode, _ in places(plan)).values()) >= 4
    assert max(frame for _, frame in places(plan)) >= 200


@pytest.mark.parametrize("strategy", ["stride", "sliding", "uniform", "panel"])
@pytest.mark.parametrize("frames", [1, 2, 3])
def test_a_task_of_one_very_short_episode_gets_a_window(strategy: str, frames: int):
    plan = planned(walks(frames), strategy=strategy)

    assert 1 <= len(plan.choices) <= plan.of <= frames
    assert sum(plan.weights(plan.choices)) == pytest.approx(plan.of)


def test_a_rare_stratum_gets_more_than_its_share_and_no_more_than_three_times_as_much():
    plan = planned(walks(1500, 1500, 1500), most=480)
    counts = Counter(choice.stratum for choice in plan.choices)

    for stratum in {name for name, _ in plan.cells}:
        share = sum(size for (name, _), size in plan.cells.items() if name == stratum) / 4500
        assert counts[stratum] / 480 >= min(1 / 16, 2 * share) - 0.015
    # What counts three times, around the gripper event, may be drawn more densely still.
    assert max(dense for (name, _), dense in plan.densities.items() if name != "gripper") <= 3.0


def test_strata_whose_errors_vary_more_get_more_windows():
    made = chooser(walks(300, 300, 300))
    plain = replace(made, spreads={}).plan(TASK, made.dataset.episodes, most=40)
    varied = replace(made, spreads={"transit": 20.0}).plan(TASK, made.dataset.episodes, most=40)

    def transits(plan: TaskPlan) -> int:
        return sum(choice.stratum == "transit" for choice in plan.choices)

    assert transits(varied) > transits(plain) >= 2


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.integers(1, 120), min_size=1, max_size=4),
    st.integers(1, 40),
    st.sampled_from(["uniform", "panel", "sliding"]),
)
def test_weights_sum_to_the_windows_of_the_task_after_any_number_of_them(
    lengths: list[int], most: int, strategy: str
):
    plan = planned(walks(*lengths), strategy=strategy, most=most)

    for count in range(1, len(plan.choices) + 1):
        assert sum(plan.weights(plan.choices[:count])) == pytest.approx(plan.of)
    assert len(set(places(plan))) == len(plan.choices) == min(most, len(plan.choices))


@pytest.mark.parametrize("strategy", ["uniform", "panel"])
def test_the_weighted_mean_over_many_panels_is_the_mean_over_all_frames(strategy: str):
    dataset = walks(60, 40)

    def mean_frame(number: int) -> float:
        plan = planned(dataset, strategy=strategy, most=15, round=number, rotation=1.0)
        weights = plan.weights(plan.choices)
        frames = [choice.frame for choice in plan.choices]
        return sum(frame * weight for frame, weight in zip(frames, weights, strict=True)) / plan.of

    # (60 * 29.5 + 40 * 19.5) / 100 = 25.5
    assert np.mean([mean_frame(number) for number in range(100)]) == pytest.approx(25.5, abs=1.0)


def test_the_same_panel_is_drawn_again():
    assert planned(walks(300, 200)) == planned(walks(300, 200))


def test_a_fifth_of_the_panel_is_drawn_anew_each_round_and_all_of_it_after_five():
    dataset = walks(400, 400, 400)
    rounds = [set(places(planned(dataset, most=60, round=number))) for number in range(6)]

    kept = [len(one & after) for one, after in pairwise(rounds)]

    assert sum(kept) / len(kept) == pytest.approx(48, abs=4)
    assert all(40 <= count <= 56 for count in kept)
    assert len(rounds[0] & rounds[5]) < 30


def test_without_rotation_the_panel_never_changes():
    dataset = walks(300, 200)

    assert planned(dataset, rotation=0.0, round=9) == planned(dataset, rotation=0.0)


def test_the_audit_panel_shares_no_window_with_any_panel_that_steers():
    dataset = walks(400, 300, 70)
    audit = set(places(planned(dataset, most=500, audit=True)))

    steering = {
        place for number in range(5) for place in places(planned(dataset, most=500, round=number))
    }

    assert audit
    assert steering
    assert not audit & steering


def test_one_more_episode_leaves_most_of_the_windows_as_they_were():
    before = set(places(planned(walks(*[200] * 10))))
    after = set(places(planned(walks(*[200] * 11))))

    assert len(before & after) >= 24


def test_the_noise_of_a_window_is_pinned():
    (choice, *_) = planned(walks(300)).choices

    frames = np.arange(20)
    assert [choice.seed] == noise_seeds(TASK, 0, np.array([choice.frame])).tolist()
    seeds = [noise_seeds(TASK, episode, frames) for episode in range(20)]
    assert len(np.unique(seeds)) == 400
    assert 0 <= np.min(seeds) <= np.max(seeds) < 2**31
    assert not np.array_equal(noise_seeds(TaskId("toy/1"), 0, frames), seeds[0])


def test_windows_around_the_gripper_closing_are_more_than_their_share():
    plan = planned(walks(1500, 1500, 1500), most=480)

    closing = [choice for choice in plan.choices if choice.stratum == "gripper"]
    weights = plan.weights(plan.choices)

    # 17 of 1,500 frames; an even choice would be 5.4 of 480.
    assert len(closing) >= 12
    assert all(742 <= choice.frame <= 758 for choice in closing)
    assert all(
        weight < 4500 / 480 / 2
        for choice, weight in zip(plan.choices, weights, strict=True)
        if choice in closing
    )


def shaken(frames: int) -> MemoryDataset:
    """Return a straight path, each second step of whose second half goes back a little."""
    steps = np.where((np.arange(frames) >= frames // 2) & (np.arange(frames) % 2 == 1), -0.5, 1.0)
    path = np.cumsum(np.stack([steps, steps, 0 * steps], axis=1), axis=0).astype(np.float32)
    episode = MemoryEpisode(task=TASK, states=path, actions=path)
    return MemoryDataset([episode], tasks=toy_tasks(1))


def test_frames_of_which_more_error_is_expected_are_looked_at_more_often():
    halves = {
        strategy: sum(frame >= 300 for _, frame in places(planned(shaken(600), strategy=strategy)))
        for strategy in ("uniform", "panel")
    }

    assert halves["uniform"] in (15, 16, 17)
    assert halves["panel"] >= 20


def test_a_panel_weighs_its_windows_so_that_they_are_expected_to_err_as_all_do():
    plan = planned(walks(500, 400, 300))
    counts = {"gripper": 3.0, "transit": 0.3}

    windows = [
        (weight * counts.get(choice.stratum, 1.0), plan.expected[choice.episode, choice.frame])
        for choice, weight in zip(plan.choices, plan.weights(plan.choices), strict=True)
    ]
    everything = [
        (n * counts.get(cell[0], 1.0), plan.means[cell]) for cell, n in plan.cells.items()
    ]

    found, known = (
        sum(count * error for count, error in rows) / sum(count for count, _ in rows)
        for rows in (windows, everything)
    )
    assert found == pytest.approx(known, rel=1e-6)


@pytest.mark.parametrize("strategy", ["stride", "uniform", "sliding"])
def test_only_a_panel_expects_anything(strategy: str):
    plan = planned(walks(200), strategy=strategy)

    assert (plan.expected, plan.means) == ({}, {})


def test_the_first_windows_come_from_all_of_a_few_episodes():
    plan = planned(walks(300, 300, 300))

    assert {choice.episode for choice in plan.choices[:8]} == {0, 1, 2}


def test_a_task_without_episodes_has_nothing_to_scan():
    plan = chooser(walks(10)).plan(TaskId("toy/9"), [], most=8)

    assert (plan.of, plan.choices) == (0, ())


def test_a_number_that_is_none_is_told_with_its_place():
    path, broken = walk(50, 0), walk(50, 0)
    broken[17, 1] = np.nan
    episode = MemoryEpisode(task=TASK, states=path, actions=broken)
    dataset = MemoryDataset([episode], tasks=toy_tasks(1))

    with pytest.raises(DataError, match=r"^toy/0 episode 0 frame 17: action 1 is recorded as nan$"):
        planned(dataset)


def test_a_task_without_held_out_episodes_is_scanned_on_its_training_episodes():
    spans = [
        EpisodeSpan(index=i, task=TaskId(f"toy/{i % 2}"), start=i, stop=i + 1) for i in range(3)
    ]

    found, flattered = episodes_to_scan(train=spans[:2], held_out=spans[2:])

    assert found == {"toy/0": [spans[2]], "toy/1": [spans[1]]}
    assert flattered == {"toy/1"}
