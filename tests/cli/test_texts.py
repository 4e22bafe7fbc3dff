"""Two languages that say the same."""

import string

import pytest

from etude.cli.texts import CHINESE, COMMANDS, ENGLISH, command_help, duration, overview


def fields(text: str) -> set[str | None]:
    return {field for _, field, _, _ in string.Formatter().parse(text)} - {None}


def test_both_languages_have_the_same_entries_with_the_same_fields() -> None:
    assert list(ENGLISH) == list(CHINESE)
    for name, text in ENGLISH.items():
        assert fields(text) == fields(CHINESE[name]), name


@pytest.mark.parametrize("language", ["en", "zh"])
def test_help_fits_a_terminal_of_80_columns(language: str) -> None:
    texts = [overview(language)]
    texts += [command_help(language, command, ("--json", "--target")) for command in COMMANDS]

    assert max(len(line) for text in texts for line in text.splitlines()) <= 80


@pytest.mark.parametrize(
    ("seconds", "english", "chinese"),
    [
        (0.2, "0 s", "0 秒"),
        (59.6, "1 min 0 s", "1 分 0 秒"),
        (125, "2 min 5 s", "2 分 5 秒"),
        (7_320, "2 h 2 min", "2 小时 2 分"),
    ],
)
def test_durations_are_said_as_people_say_them(seconds: float, english: str, chinese: str) -> None:
    assert (duration("en", seconds), duration("zh", seconds)) == (english, chinese)
