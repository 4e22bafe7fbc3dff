"""Flags become values the way a recipe would write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import ConfigError
from etude.runs.overrides import Flag, flag_value, parse_flags, parse_word


def test_flags_take_the_words_up_to_the_next_flag() -> None:
    flags = parse_flags(
        [
            "--steps",
            "3",
            "--simulator.tasks",
            "a",
            "b",
            "--eval.to-the-end",
            "--train.lr=-1",
        ]
    )

    assert flags == [
        Flag(path="steps", words=("3",)),
        Flag(path="simulator.tasks", words=("a", "b")),
        Flag(path="eval.to_the_end", words=()),
        Flag(path="train.lr", words=("-1",)),
    ]


def test_a_negative_number_is_a_value() -> None:
    assert parse_flags(["--seed", "-5"]) == [Flag(path="seed", words=("-5",))]


def test_words_that_belong_to_no_flag_are_all_named() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_flags(["a", "--steps=3", "b", "--", "--.x"])

    for word in ("'a'", "'b'", "'--'", "'--.x'"):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("words", "kind", "value"),
    [
        ((), bool, True),
        (("false",), bool, False),
        (("3_000",), int, 3000),
        (("1e-4",), float, 0.0001),
        (("no",), str, "no"),
        (("true",), str, "true"),
        (('"5"',), str, "5"),
        (("",), str, ""),
        (("2024-01-01",), int, "2024-01-01"),
        (("runs/#1",), None, "runs/#1"),
        (("5 # five",), None, "5 # five"),
        (("5\nb = 6",), None, "5\nb = 6"),
        (('["a", "b"]',), tuple[str, ...], ["a", "b"]),
        (("a", "7"), tuple[str, ...], ["a", "7"]),
        (("a",), tuple[str, ...], ["a"]),
        ((), tuple[str, ...], []),
        (("1", "2"), tuple[int, ...], [1, 2]),
        (("[[0, 3, 3]]",), tuple[tuple[int, int, int], ...], [[0, 3, 3]]),
    ],
)
def test_words_are_read_for_the_setting_they_belong_to(
    words: tuple[str, ...], kind: object, value: object
) -> None:
    assert flag_value(words, kind) == value


@given(st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False)))
def test_a_number_survives_the_command_line(value: object) -> None:
    word = str(value).lower() if isinstance(value, bool) else repr(value)

    read = parse_word(word)

    assert (read, type(read)) == (value, type(value))


@given(st.text())
def test_no_word_is_too_strange_and_text_stays_text(word: str) -> None:
    parse_word(word)

    if not word.strip().startswith(('"', "'")):
        assert flag_value([word], str) == word


@given(st.lists(st.text(alphabet="-=.ab c", max_size=6)))
def test_any_command_line_is_read_or_refused(arguments: list[str]) -> None:
    try:
        flags = parse_flags(arguments)
    except ConfigError:
        return

    assert sum(1 + len(flag.words) for flag in flags) >= len(arguments)
