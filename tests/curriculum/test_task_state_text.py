"""JSON that a person can edit, and what is said when the edit went wrong."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import StateError
from etude.curriculum.task_state_text import from_text, to_text

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(value=st.dictionaries(st.text(), values, max_size=3))
def test_any_object_comes_back_from_its_text(value: dict[str, object]):
    text = to_text(value)

    assert from_text(text, source="s.json") == value
    assert json.loads(text) == value


def test_what_holds_nothing_nested_stands_on_one_line():
    value = {"a": 1, "tasks": [{"id": "x", "scores": []}, {"id": "y", "scores": [{"n": 1}, {}]}]}

    assert to_text(value) == (
        "{\n"
        ' "a": 1,\n'
        ' "tasks": [\n'
        "  {\n"
        '   "id": "x",\n'
        '   "scores": []\n'
        "  },\n"
        "  {\n"
        '   "id": "y",\n'
        '   "scores": [\n'
        '    {"n": 1},\n'
        "    {}\n"
        "   ]\n"
        "  }\n"
        " ]\n"
        "}\n"
    )


@pytest.mark.parametrize(
    "value", [{"a": {0: 0.5}}, {"a": [{"b": 1, 0: 0.5}]}], ids=["alone", "beside text"]
)
def test_a_name_that_is_no_text_is_never_written(value: dict[str, object]):
    with pytest.raises(TypeError, match="has the name 0"):
        to_text(value)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_never_written(number: float):
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_text({"a": [number]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"schema": "task-state/1",\n "step": }', "s.json:2 is not JSON: Expecting value"),
        ("[]", "s.json holds list, not an object"),
        ("", "s.json:1 is not JSON: Expecting value"),
        ('{"a": {"status": 1, "status": 2}}', "s.json has 'status' twice in one object: 1 and 2"),
        ('{"step": NaN}', "s.json holds NaN, which is no number of JSON"),
    ],
)
def test_text_that_is_no_document_is_refused_with_its_line(text: str, message: str):
    with pytest.raises(StateError) as caught:
        from_text(text, source="s.json")

    assert str(caught.value) == message
    assert caught.value.hint
