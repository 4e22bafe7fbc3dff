"""Windows of held-out episodes tell how a task goes, the same on any number of ranks."""

from collections.abc import Sequence

import numpy as np
import pytest

from etude.core.protocols import Ranks
from etude.core.ranks import Solo
from etude.core.types import ActionChunk, Observation
from etude.datasets.split import hold_out
from etude.runs.adaptive_config import ScoreConfig
from etude.runs.looks import Looker, Moment
from etude.runs.panel_looks import PanelLooks
from etude.scan.scan_config import ScanConfig
from etude.testing.ranks import run_ranks
from toy_scan import BAD, GOOD, TASKS, WORSE, CopyPolicy, copied

IDS = [task.id for task in TASKS]


class NanPolicy(CopyPolicy):
    """Answers one task with what is no number."""

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        chunks = super().act(observations, seed=seed)
        for seen, chunk in zip(observations, chunks, strict=True):
            chunk.actions[0, 0] = np.nan if seen.task == BAD else chunk.actions[0, 0]
        return chunks


def panel(*, windows: int = 16, held_out: int = 3, ranks: Ranks | None = None) -> PanelLooks:
    data = copied()
    return PanelLooks(
        data,
        hold_out(data.episodes, per_task=held_out, seed=0),
        scan=ScanConfig(),
        score=ScoreConfig(windows=windows),
        horizon=1,
        ranks=ranks or Solo(),
    )


def moment(turn: int = 1) -> Moment:
    return Moment(step=50 * turn, weights=f"run@{50 * turn}", turn=turn)


def test_it_is_a_looker_at_every_task():
    looks = panel()

    assert isinstance(looks, Looker)
    assert looks.tasks == (GOOD, BAD, WORSE)
    assert looks.sizes == (8, 16)


def test_exact_actions_pass_and_wrong_ones_do_not():
    found = panel().look(CopyPolicy(), IDS, each=16, moment=moment())

    good, bad, worse = (found[task] for task in IDS)
    assert good is not None
    assert bad is not None
    assert worse is not None
    assert (good.passed, good.score, good.episodes) == (good.trials, 0.0, 3)
    assert 10.0 < good.trials < 16.0
    assert (good.step, good.weights, good.kind) == (50, "run@50", "open_loop")
    assert (bad.passed, worse.passed) == (0.0, 0.0)
    assert (bad.score or 0.0) > 0.5


def test_every_task_is_one_call_of_the_size_of_the_look():
    policy = CopyPolicy()

    panel().look(policy, [GOOD, WORSE], each=12, moment=moment())

    assert [(len(call), {seen.task for seen in call}) for call in policy.calls] == [
        (12, {GOOD}),
        (12, {WORSE}),
    ]


def test_answers_that_are_no_numbers_are_no_score_of_that_task_alone():
    found = panel().look(NanPolicy(), IDS, each=16, moment=moment())

    assert found[BAD] is None
    assert found[GOOD] is not None
    assert found[WORSE] is not None


def test_the_next_look_leaves_a_fifth_of_the_windows_out_and_takes_others_in():
    policy, looks = CopyPolicy(), panel(windows=15)

    for turn in (1, 2):
        looks.look(policy, [GOOD], each=15, moment=moment(turn))

    first, second = ({tuple(seen.state.tolist()) for seen in call} for call in policy.calls)
    assert (len(first), len(second), len(first & second)) == (15, 15, 12)


def test_the_same_turn_looks_at_the_same_windows():
    policy = CopyPolicy()

    for looks in (panel(), panel()):
        looks.look(policy, [GOOD], each=8, moment=moment(7))

    first, second = ([seen.state.tolist() for seen in call] for call in policy.calls)
    assert first == second


@pytest.mark.parametrize("size", [2, 3, 4])
def test_any_number_of_ranks_finds_the_same_with_equally_many_calls(size: int):
    alone = panel().look(CopyPolicy(), IDS, each=8, moment=moment())

    def work(ranks: Ranks) -> tuple[object, int]:
        policy = CopyPolicy()
        return panel(ranks=ranks).look(policy, IDS, each=8, moment=moment()), len(policy.calls)

    told = run_ranks(size, work)

    assert told == [(alone, -(-3 // size))] * size


def test_tasks_without_held_out_episodes_are_known_as_flattered():
    assert panel(held_out=0).trained_on == {GOOD, BAD, WORSE}
    assert panel().trained_on == frozenset()
