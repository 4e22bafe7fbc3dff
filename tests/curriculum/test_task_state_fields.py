"""What may stand in an entry, and how a fault is told."""

import math
from typing import Any

import pytest

from etude.core.errors import StateError
from etude.curriculum.task_state_fields import (
    Faults,
    Field,
    amount,
    amount_or_null,
    flag,
    read_fields,
    rows_of,
    shown,
    step_number,
    text,
    whole,
    word,
)


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        (whole(), [0, 7], [-1, 1.0, True, "1", None]),
        (step_number(), [-7, 0, 7], [1.0, False, "1", None]),
        (amount(), [0, 0.5, 1e300], [-0.1, math.nan, math.inf, True, "1", None, 10**400]),
        (amount_or_null(), [None, 0.5], [-0.1, "", True]),
        (flag(), [True, False], [0, 1, "true", None]),
        (text(), ["", "开门"], [0, None, ["a"]]),
        (text(required=True), ["a"], ["", 0, None]),
        (word(["a", "b"]), ["a", "b"], ["A", "", 0, None, ["a"]]),
    ],
)
def test_a_field_takes_what_it_says_and_nothing_else(field: Field, good: list[Any], bad: list[Any]):
    assert [value for value in good if not field.accepts(value)] == []
    assert [value for value in bad if field.accepts(value)] == []


def test_sound_values_are_kept_beside_a_fault_and_missing_ones_left_out():
    faults = Faults("s.json")
    fields = {"a": whole(), "b": whole(), "c": whole()}

    assert read_fields({"a": 1, "b": -1}, fields, address="x.", faults=faults) == {"a": 1}
    with pytest.raises(StateError, match=r"s\.json:x\.b is -1, not a whole number of at least 0"):
        faults.settle(hint="Correct it.")


def test_a_list_gives_its_objects_with_their_places():
    faults = Faults("s.json")

    assert rows_of([{"a": 1}, 2, {}], address="rows", faults=faults) == [(0, {"a": 1}), (2, {})]
    assert rows_of("none", address="other", faults=faults) == []
    with pytest.raises(StateError) as caught:
        faults.settle(hint="Correct them.")
    assert str(caught.value) == (
        "s.json has 2 faults\n"
        "  s.json:rows[1] is 2, not an object\n"
        '  s.json:other is "none", not a list'
    )


def test_one_fault_is_told_with_its_own_hint_and_none_is_no_error():
    faults = Faults("s.json")
    faults.settle(hint="Correct them.")

    faults.add("step", "is 1", hint=lambda: "Make it 2.")

    with pytest.raises(StateError, match=r"^s\.json:step is 1$") as caught:
        faults.settle(hint="Correct them.")
    assert caught.value.hint == "Make it 2."


def test_a_long_value_is_cut():
    assert shown("x" * 100) == f'"{"x" * 58}…'
    assert shown({"a": [1]}) == '{"a": [1]}'
