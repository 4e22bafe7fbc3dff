"""What was decided is told twice: as events for views, as ledger lines for good."""

from pathlib import Path

import pytest

from adaptive_run import BROKEN, EASY, HARD, TableLooks, rates
from etude.core.errors import DataError
from etude.core.types import CheckpointRef, ContentKey
from etude.curriculum.states import Transition
from etude.events.schema import Event
from etude.runs.chronicle import Chronicle, require_history
from etude.runs.looks import Moment
from etude.store.ledger import Ledger, LedgerHead, read_ledger
from etude.testing.fakes import ToyPolicy

TASKS = (EASY, HARD, BROKEN)
MOMENT = Moment(step=50, weights="run@50", turn=1)


def change(step: int = 50) -> Transition:
    found = TableLooks(rates).look(ToyPolicy(), [EASY], each=20, moment=MOMENT)
    return Transition(
        task=EASY,
        step=step,
        before="training",
        after="passed",
        reason="20 of 20 passed",
        evidence=found[EASY],
    )


def test_a_look_is_one_wide_row_with_null_for_what_was_not_looked_at(tmp_path: Path):
    events: list[Event] = []
    looks = TableLooks(rates)
    found = looks.look(ToyPolicy(), [EASY, BROKEN], each=20, moment=MOMENT)

    Chronicle(TASKS, events.append, None).looked(looks, found, MOMENT, due=3, each=20, seconds=0.5)

    assert [event.fields() for event in events] == [
        {
            "step": 50,
            "by": "open_loop",
            "weights": "run@50",
            "due": 3,
            "each": 20,
            "scores": [0.0, None, None],
            "passed": [20.0, None, 0.0],
            "trials": [20.0, None, 0.0],
            "seconds": 0.5,
        }
    ]


def test_the_ledger_keeps_what_led_to_a_change(tmp_path: Path):
    events: list[Event] = []
    with Ledger(tmp_path / "ledger.jsonl") as ledger:
        chronicle = Chronicle(TASKS, events.append, ledger)

        chronicle.changed([change()], {EASY: True})
        chronicle.planned(
            {EASY: 0.2, HARD: 0.5, BROKEN: 0.3}, step=50, from_step=58, rule="learnability"
        )
        chronicle.committed(CheckpointRef(step=60, folder="checkpoints/x", weights=ContentKey("w")))

    entries = read_ledger(tmp_path / "ledger.jsonl").entries
    assert [(entry.kind, entry.step, entry.weights) for entry in entries] == [
        ("transition", 50, "run@50"),
        ("plan", 50, ""),
        ("checkpoint", 60, "w"),
    ]
    assert entries[0].data["evidence"]["passed"] == 20.0
    assert entries[1].data == {
        "from_step": 58,
        "rule": "learnability",
        "shares": [0.2, 0.5, 0.3],
    }
    assert [event.kind for event in events] == ["task_transition", "plan_chosen"]


def test_a_rank_without_a_ledger_writes_nothing(tmp_path: Path):
    chronicle = Chronicle(TASKS, lambda event: None, None)

    chronicle.began(step=0, weights="w")
    chronicle.changed([change()], {EASY: False})

    assert chronicle.head == LedgerHead()


def test_a_history_that_has_only_grown_is_that_of_the_checkpoint(tmp_path: Path):
    path = tmp_path / "ledger.jsonl"
    with Ledger(path) as ledger:
        ledger.append("began", step=0)
        head = ledger.head
        ledger.append("plan", step=0)

    saved = {"seq": head.seq, "hash": head.hash}
    assert require_history(path, saved, folder=tmp_path)
    with pytest.raises(DataError, match="does not hold the history"):
        require_history(path, {**saved, "seq": 2}, folder=tmp_path)


def test_a_history_that_is_gone_is_told_from_one_that_never_was(tmp_path: Path):
    path = tmp_path / "ledger.jsonl"

    assert require_history(path, {"seq": 0, "hash": LedgerHead().hash}, folder=tmp_path)
    assert not require_history(path, {"seq": 2, "hash": "ab"}, folder=tmp_path)
