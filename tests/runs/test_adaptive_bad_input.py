"""Rules and looks that cannot be used, and tasks with next to no data: the run goes on."""

import math
from pathlib import Path

import numpy as np
import pytest

from adaptive_run import BROKEN, EASY, HARD, FixedRule, TableLooks, rates, told, train
from etude.core.protocols import Ranks
from etude.core.ranks import Solo
from etude.core.types import ActionChunk, TaskId
from etude.curriculum.states import TaskEvidence
from etude.datasets.split import hold_out
from etude.events.reader import read_events
from etude.runs.adaptive_config import ScoreConfig
from etude.runs.looks import Moment
from etude.runs.panel_looks import PanelLooks
from etude.scan.scan_config import ScanConfig
from etude.testing.ranks import run_ranks
from toy_scan import TASKS, CopyPolicy, copied

MOMENT = Moment(step=50, weights="run@50", turn=1)
ALIKE = [1 / 3, 1 / 3, 1 / 3]


def warnings(folder: Path) -> list[str]:
    return [row["message"] for row in read_events(folder / "events") if row["kind"] == "warned"]


@pytest.mark.parametrize(
    ("weights", "why"),
    [
        ((0.0, 0.0, 0.0), "no task has a weight over 0"),
        ((1.0, math.nan, 1.0), f"the weight of task {HARD} is nan"),
        ((1.0, 1.0, math.inf), f"the weight of task {BROKEN} is inf"),
        ((-1.0, 1.0, 1.0), f"the weight of task {EASY} is -1.0"),
    ],
)
def test_weights_that_cannot_be_drawn_by_are_said_and_tasks_drawn_alike(
    tmp_path: Path, weights: tuple[float, ...], why: str
):
    parts, _ = train(tmp_path, rule=FixedRule(weights), steps=20)

    said = f"{why}: all tasks are drawn alike until the next plan"
    assert warnings(tmp_path) == [f"step {step}: {said}" for step in (0, 10, 20)]
    plans = told(tmp_path, "plan_chosen")
    assert [row["weights"] for row in plans.values()] == [pytest.approx(ALIKE)] * 3
    assert list(parts.loader.sampler.draws().values()) == [80, 80, 80]


@pytest.mark.parametrize("rate", [1.0, 0.0])
def test_when_every_task_is_solved_or_none_ever_is_all_go_on_being_drawn(
    tmp_path: Path, rate: float
):
    parts, _ = train(tmp_path, looks=TableLooks(lambda task, step: rate), steps=40)

    assert warnings(tmp_path) == []
    for row in told(tmp_path, "plan_chosen").values():
        assert row["weights"] == pytest.approx(ALIKE)
    assert list(parts.loader.sampler.draws().values()) == [160, 160, 160]


def test_a_task_whose_looks_always_fail_stays_under_its_cap(tmp_path: Path):
    train(tmp_path, looks=TableLooks(rates), steps=40)

    for row in told(tmp_path, "plan_chosen").values():
        assert row["weights"][2] <= 1.6 / 3 + 1e-9
        assert min(row["weights"]) > 0


class NanOnOneRank(CopyPolicy):
    """On rank 1 it answers with what is no number."""

    rank = 0

    def act(self, observations, *, seed):
        chunks = super().act(observations, seed=seed)
        if not self.rank:
            return chunks
        return [ActionChunk(actions=c.actions * np.nan, valid=c.valid) for c in chunks]


def looked(ranks: Ranks) -> dict[TaskId, TaskEvidence | None]:
    data = copied()
    looks = PanelLooks(
        data,
        hold_out(data.episodes, per_task=3, seed=0),
        scan=ScanConfig(),
        score=ScoreConfig(windows=16),
        horizon=1,
        ranks=ranks,
    )
    policy = NanOnOneRank()
    policy.rank = ranks.rank
    return looks.look(policy, [task.id for task in TASKS], each=16, moment=MOMENT)


def test_scores_that_are_no_numbers_on_one_rank_are_no_scores_on_any():
    first, second = run_ranks(2, looked)

    assert first == second
    # Rank 1 looks at the second of the three tasks.
    assert [found is None for found in first.values()] == [False, True, False]


def test_a_task_with_one_episode_is_trained_on_and_scored_on_it():
    data = copied()
    lone = next(span for span in data.episodes if span.task == TASKS[1].id)
    rest = [span for span in data.episodes if span.task != TASKS[1].id]
    split = hold_out([*rest, lone], per_task=3, seed=0)

    looks = PanelLooks(
        data, split, scan=ScanConfig(), score=ScoreConfig(windows=16), horizon=1, ranks=Solo()
    )
    found = looks.look(CopyPolicy(), [TASKS[1].id], each=16, moment=MOMENT)[TASKS[1].id]

    assert lone in split.train
    assert looks.trained_on == {TASKS[1].id}
    assert found is not None
    assert found.episodes == 1
