"""States move at looks, plans follow them, and the sampler draws what the plans say."""

from itertools import pairwise
from pathlib import Path

import pytest

from adaptive_run import (
    BATCH,
    BROKEN,
    EASY,
    HARD,
    LAG,
    LOOK_EVERY,
    PLAN_EVERY,
    TASKS,
    TableLooks,
    make_run,
    rates,
    told,
    train,
)
from etude.core.types import TaskId
from etude.curriculum.task_state_reading import document_from_text
from etude.runs.adaptive import Adaptive
from etude.store.ledger import read_ledger
from etude.train.loop import TrainingParts
from etude.train.steering import Steering


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TrainingParts, Adaptive]:
    """A run that nothing has stopped; tests only read it."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, *train(folder)


def test_it_is_a_steering_of_the_training_loop(tmp_path: Path):
    _, _, adaptive = make_run(tmp_path)

    assert isinstance(adaptive, Steering)


def test_states_change_at_looks_only_and_say_why(whole: tuple[Path, TrainingParts, Adaptive]):
    folder, _, adaptive = whole

    changes = told(folder, "task_transition")

    assert [(step, row["task"], row["after"]) for (step, _), row in changes.items()] == [
        (5, EASY, "training"),
        (5, HARD, "training"),
        (20, EASY, "passed"),
    ]
    assert all(step % LOOK_EVERY == 0 for step, _ in changes)
    assert changes[20, EASY]["proxy"]
    assert "a rate of at least 0.85" in changes[20, EASY]["reason"]
    assert adaptive.states[EASY].label == "passed (proxy)"


def test_a_task_without_a_score_counts_failures_and_stays_under_its_cap(
    whole: tuple[Path, TrainingParts, Adaptive],
):
    folder, _, adaptive = whole

    rows = [row for row in told(folder, "task_scores").values() if row["trials"][2] is not None]
    shares = [row["weights"][2] for row in told(folder, "plan_chosen").values()]

    assert adaptive.states[BROKEN].status == "untried"
    assert adaptive.states[BROKEN].failures == len(rows) == 8
    assert all((row["scores"][2], row["trials"][2]) == (None, 0.0) for row in rows)
    assert max(shares) <= 1.6 / 3 + 1e-9


def test_the_sampler_draws_what_the_plans_in_the_events_say(
    whole: tuple[Path, TrainingParts, Adaptive],
):
    folder, _, _ = whole
    plans = list(told(folder, "plan_chosen").values())
    rows = {step: row["samples"] for (step, _), row in told(folder, "task_losses").items()}

    begins = [plan["from_step"] for plan in plans]
    assert begins == [0, *(step + LAG for step in range(PLAN_EVERY, 41, PLAN_EVERY))]
    for plan, (first, last) in zip(plans, pairwise([*begins[:-1], 40]), strict=False):
        drawn = [sum(rows[s][task] for s in rows if first < s <= last) for task in range(3)]
        wanted = [BATCH * (last - first) * share for share in plan["weights"]]
        # Residuals of less than one draw come in at the beginning and go out at the end.
        assert all(abs(d - w) < 2 for d, w in zip(drawn, wanted, strict=True)), (plan, drawn)
    assert plans[-1]["weights"][0] < plans[0]["weights"][0]


def test_the_plan_of_every_other_rule_is_told_in_one_row(
    whole: tuple[Path, TrainingParts, Adaptive],
):
    folder, _, _ = whole

    rows = told(folder, "counterfactual_plans")

    assert [step for step, _ in rows] == [0, 10, 20, 30, 40]
    for row in rows.values():
        assert row["rules"] == [
            *("learnability", "uniform", "proportional", "temperature", "error"),
            *("excess_loss", "progress"),
        ]
        assert all(sum(shares) == pytest.approx(1.0) for shares in row["weights"])


def test_what_was_decided_stands_in_the_ledger_with_its_evidence(
    whole: tuple[Path, TrainingParts, Adaptive],
):
    folder, parts, _ = whole

    history = read_ledger(folder / "ledger.jsonl")

    kinds = [(entry.kind, entry.step) for entry in history.entries]
    assert kinds[:2] == [("began", 0), ("plan", 0)]
    assert [step for kind, step in kinds if kind == "plan"] == [0, 10, 20, 30, 40]
    assert [step for kind, step in kinds if kind == "checkpoint"] == [20, 40]
    passed = next(e for e in history.entries if e.data.get("after") == "passed")
    assert passed.data["evidence"]["weights"] == passed.weights == "toy-run@20"
    assert passed.data["evidence"]["trials"] == 20.0
    assert parts.store.steps() == [20, 40]


def test_a_checkpoint_holds_the_states_of_its_own_weights(
    whole: tuple[Path, TrainingParts, Adaptive],
):
    _, parts, adaptive = whole
    ref = parts.store.latest()
    assert ref is not None
    folder = parts.store.path(ref)

    document = document_from_text(
        (folder / "task_state.json").read_text(), source="it", tasks=TASKS
    )

    assert (document.weights, document.step, document.run_id) == (ref.weights, 40, "toy-run")
    assert document.states == adaptive.states
    assert document.plan == adaptive.plan
    copied = (folder / "hf/task_state.json").read_bytes()
    assert copied == (folder / "task_state.json").read_bytes()


def test_a_passed_task_is_looked_at_less_and_less(tmp_path: Path):
    looks = TableLooks(lambda task, step: 1.0 if task == EASY else 0.5)

    train(tmp_path, steps=100, save_every=100, looks=looks)

    steps = [step for step, tasks in looks.looked if EASY in tasks]
    assert steps == [5, 10, 15, 25, 45, 85]
    assert [step for step, tasks in looks.looked if HARD in tasks] == list(range(5, 101, 5))


def test_more_of_the_time_than_its_share_is_never_planned_for(tmp_path: Path):
    looks = TableLooks(rates)

    train(tmp_path, looks=looks, max_share=1e-9)

    rows = list(told(tmp_path, "task_scores").values())
    assert [step for step, _ in looks.looked] == [5]
    assert [row["due"] for row in rows] == [3] * 8
    assert all(row["trials"] == [None, None, None] for row in rows[1:])


def test_without_a_table_of_scores_tasks_stay_untried_and_are_drawn_alike(tmp_path: Path):
    nothing: dict[TaskId, float] = {}

    _, adaptive = train(tmp_path, looks=TableLooks(lambda task, step: nothing.get(task)))

    assert {state.status for state in adaptive.states.values()} == {"untried"}
    assert list(adaptive.plan.weights.values()) == pytest.approx([1 / 3] * 3)
