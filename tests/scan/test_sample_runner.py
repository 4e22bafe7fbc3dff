import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from etude.core.errors import PolicyUnavailable
from etude.core.types import ActionChunk, Observation
from etude.datasets.split import hold_out
from etude.scan.logic import SAMPLE_SCAN
from etude.scan.panel import EPISODES
from etude.scan.sample_runner import SampleReport, scan_samples
from etude.scan.scan_config import ScanConfig
from etude.scan.suspects import PastScan
from etude.store.segments import Subject
from etude.testing.fakes import MemoryDataset, MemoryEpisode
from etude.testing.ranks import run_ranks
from toy_scan import BAD, GOOD, TASKS, WEIGHTS, WORSE, CopyPolicy, copied, late, scanning

SUBJECT = Subject(logic=SAMPLE_SCAN.name, weights=WEIGHTS, inference={"horizon": 1})
CONFIG = ScanConfig(batch_size=8, samples_per_task=16)
REST = 20
"""Frames at the end of every made episode in which nothing moves."""


class HalfPolicy(CopyPolicy):
    """Is right while nothing moves and off by 1 elsewhere."""

    def _chunk(self, seen: Observation) -> ActionChunk:
        action = seen.state[:2] + np.float32(seen.state[2])
        return ActionChunk(actions=np.stack([action, action]), valid=np.ones(2, np.bool_))


def half_still(*, episodes: int = 5, frames: int = 40) -> MemoryDataset:
    """Return demonstrations that move at random, then rest; the third number says which."""
    random = np.random.default_rng(0)
    made: list[MemoryEpisode] = []
    for _ in range(episodes):
        states = random.normal(size=(frames, 3)).astype(np.float32)
        states[:, 2] = 1.0
        states[frames - REST :] = (0.5, 0.5, 0.0)
        made.append(MemoryEpisode(task=GOOD, states=states, actions=states[:, :2].copy()))
    return MemoryDataset(made, tasks=TASKS[:1])


def mislabelled(*, episode: int, frame: int) -> MemoryDataset:
    """Return the demonstrations of `copied` with one action that is none of the state."""
    right = copied()
    columns = [right.columns(span) for span in right.episodes]
    columns[episode].actions[frame] += 3.0
    return MemoryDataset(
        [
            MemoryEpisode(task=span.task, states=each.states, actions=each.actions)
            for span, each in zip(right.episodes, columns, strict=True)
        ],
        tasks=TASKS,
    )


def scan(
    root: Path,
    *,
    config: ScanConfig = CONFIG,
    earlier: Sequence[PastScan] = (),
    step: int = 100,
    **parts: Any,
) -> SampleReport:
    """Scan as `etude scan samples` does, with the parts that `toy_scan.scanning` takes."""
    with scanning(root, config, cached=SUBJECT, held_out=1, **parts) as (subject, scorer):
        return scan_samples(subject, config, scorer, earlier, step=step)


def as_past(report: SampleReport, *, step: int, turn: int = 0) -> PastScan:
    return PastScan(step=step, round=turn, windows=report.windows)


def uncounted(report: SampleReport) -> SampleReport:
    return dataclasses.replace(report, inferences=0, recalled=0)


def test_every_task_gets_as_many_windows_of_its_training_episodes(tmp_path: Path):
    report = scan(tmp_path)

    assert [(each.windows, each.of) for each in report.tasks.values()] == [(16, 4 * 40)] * 3
    assert (report.inferences, report.recalled, report.complete) == (3 * 16, 0, True)
    trained_on = hold_out(copied().episodes, per_task=1, seed=0).train
    assert {score.choice.episode for score in report.windows} == {
        episode.index for episode in trained_on
    }


def test_a_task_that_is_off_is_difficult_and_one_that_is_right_is_not(tmp_path: Path):
    report = scan(tmp_path)

    good, bad, worse = (report.tasks[task] for task in (GOOD, BAD, WORSE))
    assert good.difficulty == good.irreducible == 0.0
    assert [row.multiplier for row in good.strata] == pytest.approx([1.0] * len(good.strata))
    # Errors of 2 and 3, over about the same motion.
    assert worse.difficulty / bad.difficulty == pytest.approx(3 / 2, rel=0.2)


def test_the_strata_of_a_task_are_all_of_it_and_their_multipliers_average_1(tmp_path: Path):
    for task in scan(tmp_path).tasks.values():
        assert sum(row.of for row in task.strata) == task.of
        assert sum(row.windows for row in task.strata) == task.windows
        assert math.fsum(row.of * row.multiplier for row in task.strata) / task.of == pytest.approx(
            1.0
        )


def test_moments_that_are_difficult_are_to_be_drawn_more_often(tmp_path: Path):
    report = scan(tmp_path, dataset=half_still(), load=HalfPolicy)

    rows = {row.stratum: row for row in report.tasks[GOOD].strata}
    still, moving = rows["idle"], rows["waypoint"]
    assert still.difficulty == 0.0 < moving.difficulty
    assert still.multiplier < 0.95 < 1.05 < moving.multiplier


def test_sizes_of_strata_are_called_estimates_where_not_all_episodes_were_read(tmp_path: Path):
    some = scan(tmp_path / "some", dataset=half_still(episodes=5)).tasks[GOOD]
    many = scan(tmp_path / "many", dataset=half_still(episodes=EPISODES + 4)).tasks[GOOD]

    assert (some.estimated, some.of) == (False, 4 * 40)
    assert (many.estimated, many.of) == (True, (EPISODES + 3) * 40)
    assert sum(row.of for row in many.strata) == many.of


@pytest.mark.parametrize("size", [2, 3])
def test_any_number_of_ranks_returns_the_report_of_one(tmp_path: Path, size: int):
    alone = scan(tmp_path / "alone")

    reports = run_ranks(size, lambda ranks: scan(tmp_path / "shared", ranks=ranks))

    assert reports == [alone] * size


def test_a_second_scan_asks_and_loads_nothing_and_says_the_same(tmp_path: Path):
    first = scan(tmp_path)
    loaded: list[CopyPolicy] = []

    def load() -> CopyPolicy:
        loaded.append(CopyPolicy())
        return loaded[-1]

    second = scan(tmp_path, load=load)

    assert loaded == []
    assert (second.inferences, second.recalled) == (0, first.inferences)
    assert uncounted(second) == uncounted(first)


def test_the_next_round_looks_at_other_windows_for_a_part(tmp_path: Path):
    first = scan(tmp_path)

    turned = scan(tmp_path, config=dataclasses.replace(CONFIG, round=1))

    # One in five windows is drawn anew, of some cells none and of others one.
    assert 0 < turned.inferences < first.inferences / 2
    assert turned.inferences + turned.recalled == first.inferences


def test_time_that_is_up_leaves_every_task_one_window_that_stands_for_all(tmp_path: Path):
    config = dataclasses.replace(CONFIG, time_limit_s=10)

    report = scan(tmp_path, config=config, clock=late())

    assert [each.windows for each in report.tasks.values()] == [1, 1, 1]
    assert [score.choice.weight for score in report.windows] == [160.0] * 3
    assert not report.complete
    # What was left out is not kept as if it had been scored.
    rest = scan(tmp_path)
    assert (rest.recalled, rest.complete) == (3, True)


class Silent(CopyPolicy):
    """Answers a number of calls and then no more."""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self._answers = answers

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        if len(self.calls) == self._answers:
            raise PolicyUnavailable("nobody there")
        return super().act(observations, seed=seed)


def test_a_policy_that_stops_answering_ends_the_scan_with_what_there_is(tmp_path: Path):
    config = dataclasses.replace(CONFIG, retries=0)

    # The first windows of three tasks are 24, which takes three calls.
    report = scan(tmp_path, config=config, load=lambda: Silent(4))

    assert (report.inferences, report.complete) == (4 * 8, False)
    assert all(each.windows >= 8 for each in report.tasks.values())


def test_a_policy_that_does_not_answer_before_every_task_has_a_window_fails(tmp_path: Path):
    config = dataclasses.replace(CONFIG, retries=0)

    with pytest.raises(PolicyUnavailable, match="nobody there"):
        scan(tmp_path, config=config, load=lambda: Silent(1))


def test_every_window_of_a_strategy_is_scanned_where_no_number_is_given(tmp_path: Path):
    config = ScanConfig(batch_size=8, strategy="sliding", step=10, samples_per_task=0)

    report = scan(tmp_path, config=config)

    assert [(each.windows, each.of) for each in report.tasks.values()] == [(16, 16)] * 3
    assert [row.stratum for row in report.tasks[GOOD].strata] == ["waypoint"]


def test_a_window_that_stays_wrong_while_the_task_improves_is_suspect_and_uniform(tmp_path: Path):
    config = dataclasses.replace(CONFIG, samples_per_task=64)
    # The windows are chosen by states, so a wrong action changes none of them.
    wrong = scan(tmp_path / "right", config=config).windows[0].choice
    dataset = mislabelled(episode=wrong.episode, frame=wrong.frame)
    past: list[PastScan] = []
    for step, push in ((100, 0.09), (200, 0.06), (300, 0.03)):
        report = scan(
            tmp_path / str(step),
            config=config,
            dataset=dataset,
            load=lambda push=push: CopyPolicy({GOOD: push}),
            earlier=past,
            step=step,
        )
        past.append(as_past(report, step=step))
        assert report.tasks[GOOD].suspects == () or step == 300

    # Others that are among the worst 5 % every time are suspect, too, but none is as wrong.
    suspect = max(report.tasks[GOOD].suspects, key=lambda each: each.gmse)
    assert (suspect.episode, suspect.frame, suspect.visits) == (wrong.episode, wrong.frame, 3)
    assert len(report.tasks[GOOD].suspects) <= 0.05 * 64
    alone = scan(tmp_path / "300", config=config, dataset=dataset, step=300)
    assert alone.tasks[GOOD].suspects == ()
    before, after = (
        next(row for row in each.tasks[GOOD].strata if row.stratum == suspect.stratum)
        for each in (alone, report)
    )
    assert after.difficulty < before.difficulty
    assert after.multiplier < before.multiplier


def test_a_scan_of_an_earlier_checkpoint_knows_nothing_of_later_ones(tmp_path: Path):
    later = [as_past(scan(tmp_path), step=step) for step in (200, 300, 400)]

    assert scan(tmp_path, step=100, earlier=later) == scan(tmp_path, step=100)


def test_progress_counts_windows_up_to_the_number_that_was_planned(tmp_path: Path):
    told: list[tuple[int, int]] = []

    report = scan(tmp_path, told=told)

    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (report.inferences, 3 * 16)
