import json
from pathlib import Path

import numpy as np
import pytest
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.stateful import Stateful

from etude.core.errors import ConfigError, ScanError, StateError
from etude.core.types import TaskId
from etude.curriculum.curriculum import Curriculum
from etude.curriculum.drop_in_config import DropInConfig
from etude.curriculum.rule_config import UniformConfig
from etude.curriculum.rules import UniformRule
from etude.curriculum.score import Score
from etude.curriculum.window_weights import FrameStrata
from streams import counts_by_task, spans

A, B, C, D = (TaskId(f"d/{number}") for number in range(4))
EPISODES = spans((30,), (20, 20), (10,), (25,))


def curriculum(lag: int = 4, plan_every: int = 10, **other: object) -> Curriculum:
    config = DropInConfig(lag=lag, plan_every=plan_every)
    return Curriculum(EPISODES, batch_size=20, config=config, **other)


def train(one: Curriculum, steps: int) -> list[list[int]]:
    """Train without a loader that draws ahead."""
    rows: list[list[int]] = []
    while len(rows) < steps:
        for batch in one.batches:
            rows.append(batch)
            one.trained()
            if len(rows) == steps:
                break
    return rows


def rate(passed: int) -> Score:
    return Score(passed=passed, trials=40, episodes=40)


def test_all_tasks_are_drawn_alike_until_scores_come():
    one = curriculum()

    assert counts_by_task(train(one, 10), EPISODES) == [50, 50, 50, 50]
    assert one.due == (A, B, C, D)
    assert (one.step, one.plan.weights[A]) == (10, 0.25)


def test_the_plan_of_the_first_scan_holds_from_the_first_batch():
    one = curriculum()

    one.observe({A: rate(40), B: rate(20), C: rate(0), D: rate(0)}, step=0)
    drawn = counts_by_task(train(one, 20), EPISODES)

    # What always fails most, what is half done less, and what has passed least.
    assert drawn[2] > 120 > drawn[1] > 60 > drawn[0]
    wanted = [400 * one.plan.weights[task] for task in (A, B, C, D)]
    assert drawn == pytest.approx(wanted, abs=1)


def test_a_later_plan_holds_when_no_loader_can_have_drawn_its_first_batch():
    one, same = curriculum(), curriculum()
    for each in (one, same):
        each.observe({}, step=0)
    rows = train(one, 10)

    one.observe({A: rate(40), B: rate(20), C: rate(0), D: rate(0)}, step=10)
    rows += train(one, 8)
    wanted = train(same, 18)

    assert rows[:14] == wanted[:14]
    assert rows[14] != wanted[14]


def test_scores_between_two_plans_move_states_and_no_shares():
    one = curriculum(plan_every=10)
    one.observe({A: rate(20)}, step=0)
    before = one.plan
    train(one, 5)

    transitions = one.observe({B: rate(20)}, step=5)

    assert [(each.task, each.after) for each in transitions] == [(B, "training")]
    assert one.plan == before


def test_a_task_passes_and_is_looked_at_less_often():
    one = curriculum()
    said: list[tuple[int, TaskId, str]] = []
    looked_at: list[bool] = []
    for step in (0, 50, 100, 150, 200):
        train(one, step - one.step)
        looked_at.append(A in one.due)
        scores = {task: rate(40 if task == A else 10) for task in one.due}
        said += [(step, each.task, each.after) for each in one.observe(scores, step=step)]

    assert (50, A, "passed") in said
    assert one.states[A].label == "passed"
    assert looked_at == [True, True, True, False, True]


def test_draws_are_charged_to_the_tasks_that_took_them():
    one = curriculum()
    train(one, 10)

    one.observe({A: rate(10)}, step=10)

    assert [one.states[task].spent for task in (A, B, C, D)] == [50, 50, 50, 50]


def test_a_task_that_cannot_be_scored_does_not_take_over():
    one = curriculum(plan_every=1)
    for step in range(30):
        one.observe({A: rate(10), B: rate(20), C: rate(15), D: None}, step=step)
        train(one, 1)
    drawn = counts_by_task(train(one, 50), EPISODES)

    assert drawn[3] <= 400
    assert min(drawn) > 50
    assert one.states[D].failures == 30


@pytest.mark.parametrize("passed", [0, 40])
def test_all_failing_or_all_passing_tasks_are_drawn_alike(passed: int):
    one = curriculum()
    for step in (0, 50, 100):
        train(one, step - one.step)
        one.observe({task: rate(passed) for task in (A, B, C, D)}, step=step)
    train(one, 10)

    assert counts_by_task(train(one, 10), EPISODES) == [50, 50, 50, 50]


def test_another_rule_can_be_used():
    one = curriculum(rule=UniformRule(UniformConfig()))

    one.observe({A: rate(40), B: rate(20), C: rate(0), D: rate(0)}, step=0)

    assert set(one.plan.weights.values()) == {0.25}


def scored(one: Curriculum, until: int) -> list[list[int]]:
    """Train and score every 5 steps."""
    rows: list[list[int]] = []
    while one.step < until:
        if one.step % 5 == 0:
            passed = {A: min(40, one.step), B: 20, C: 3, D: max(0, 30 - one.step)}
            one.observe({task: rate(passed[task]) for task in one.due}, step=one.step)
        rows += train(one, 1)
    return rows


@pytest.mark.parametrize("stop", [1, 9, 10, 12, 14, 15, 33])
def test_a_run_goes_on_as_if_it_had_not_been_stopped(stop: int):
    straight, first, second = (curriculum() for _ in range(3))
    wanted = scored(straight, 60)

    rows = scored(first, stop)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    rows += scored(second, 60)

    assert rows == wanted
    assert second.states == straight.states
    assert second.plan == straight.plan


def test_a_run_goes_on_with_another_number_of_ranks():
    whole, first = curriculum(), [curriculum(rank=rank, ranks=4) for rank in range(4)]
    wanted = scored(whole, 30)
    shares = [scored(one, 12) for one in first]

    second = [curriculum(rank=rank, ranks=2) for rank in range(2)]
    for one in second:
        one.load_state_dict(first[3].state_dict())
    later = [scored(one, 30) for one in second]

    dealt = [[shares[i % 4][step][i // 4] for i in range(20)] for step in range(12)]
    dealt += [[later[i % 2][step][i // 2] for i in range(20)] for step in range(18)]
    assert dealt == wanted


def test_it_is_part_of_a_distributed_checkpoint(tmp_path: Path):
    first, second = curriculum(), curriculum()
    scored(first, 12)
    assert isinstance(first, Stateful)

    dcp.save({"extra_state": first}, checkpoint_id=tmp_path, no_dist=True)
    dcp.load({"extra_state": second}, checkpoint_id=tmp_path, no_dist=True)

    assert second.states == first.states
    assert scored(second, 30) == scored(first, 30)


def test_its_document_can_be_read_by_a_person():
    one = curriculum(run_id="night")
    one.observe({A: rate(40)}, step=0)

    text = one.document(weights="1234").to_text()

    assert json.loads(text)["weights"] == "1234"
    assert json.loads(text)["tasks"][0]["scores"][0]["weights"] == "night@0"


def test_scores_of_another_step_are_refused():
    with pytest.raises(StateError, match="scores are of step 3, but 0 batches were trained on"):
        curriculum().observe({}, step=3)


def test_scores_of_an_unknown_task_are_refused():
    with pytest.raises(ScanError, match="d/9"):
        curriculum().observe({TaskId("d/9"): rate(1)}, step=0)


def test_a_state_of_another_version_is_refused():
    with pytest.raises(StateError, match="schema 'curriculum/9', not 'curriculum/1'"):
        curriculum().load_state_dict({"schema": "curriculum/9"})


def test_a_state_of_other_data_is_refused():
    other = Curriculum(spans((30,), (40,), (10,)), batch_size=20)

    with pytest.raises(StateError, match="other tasks, frames than this run"):
        other.load_state_dict(curriculum().state_dict())


def test_no_episodes_are_refused():
    with pytest.raises(ConfigError, match="there are no episodes to train on"):
        Curriculum([], batch_size=4)


def test_a_new_task_can_be_accepted_on_resume():
    first = curriculum()
    scored(first, 12)
    episodes = [*EPISODES, *spans((30,), (40,), (10,), (25,), (8,))[4:]]
    second = Curriculum(episodes, batch_size=20, config=DropInConfig(lag=4, plan_every=10))

    second.load_state_dict(first.state_dict(), accept_data_change=True)
    rows = train(second, 10)
    second.observe({TaskId("d/4"): rate(20)}, step=22)

    assert second.states[A].history == first.states[A].history
    assert counts_by_task(rows, episodes) == [40, 40, 40, 40, 40]
    assert second.states[TaskId("d/4")].status == "training"
    assert second.states[TaskId("d/4")].spent == 40


def test_window_weights_hold_when_no_loader_can_have_drawn_their_first_batch():
    labels = FrameStrata(names=("grasp", "other"), labels=np.array([0, 1, 1, 1, 1] * 21, np.int8))
    one, same = (curriculum(strata=labels) for _ in range(2))

    rows = train(one, 3)
    one.weigh_windows({task: {"grasp": 8.0} for task in (A, B, C, D)})
    rows += train(one, 104)

    assert rows[:7] == train(same, 7)
    assert sum(row % 5 == 0 for batch in rows[7:] for row in batch) == pytest.approx(1333, abs=9)
