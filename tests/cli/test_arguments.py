"""A command's own options, its recipe and the settings may stand in any order."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.cli.arguments import (
    ReportArguments,
    RunArguments,
    ShowArguments,
    option_names,
    parse,
    split,
)
from etude.cli.commands import COMMANDS
from etude.cli.texts import CATALOGUES
from etude.cli.texts import COMMANDS as NAMES
from etude.core.errors import ConfigError

OPTIONS = ("--json", "--target")


@pytest.mark.parametrize(
    "words",
    [
        ["r.toml", "--json", "--steps", "3", "--simulator.tasks", "a", "b"],
        ["--json", "r.toml", "--steps", "3", "--simulator.tasks", "a", "b"],
        ["--steps", "3", "r.toml", "--json", "--simulator.tasks", "a", "b"],
        ["--steps", "3", "--simulator.tasks", "a", "b", "r.toml", "--json"],
        ["--steps", "3", "--simulator.tasks", "a", "b", "--json", "r.toml"],
    ],
)
def test_the_order_of_recipe_options_and_settings_does_not_matter(words: list[str]) -> None:
    arguments, settings = parse(RunArguments, words, command="run")

    assert arguments == RunArguments(recipe=Path("r.toml"), json=True)
    assert settings == ["--steps", "3", "--simulator.tasks", "a", "b"]


def test_a_value_in_toml_belongs_to_its_setting() -> None:
    assert split(["--output_dir", "x.toml"], OPTIONS) == ([], ["--output_dir", "x.toml"])


def test_a_setting_with_an_equals_sign_takes_no_further_word() -> None:
    assert split(["--steps=3", "recipe"], OPTIONS) == (["recipe"], ["--steps=3"])


def test_an_option_keeps_its_value() -> None:
    arguments, settings = parse(
        RunArguments, ["--target", "0.97", "--dry_run", "--resume"], command="run"
    )

    assert arguments == RunArguments(target=0.97, dry_run=True, resume=True)
    assert settings == []


def test_task_states_are_an_option_and_no_setting() -> None:
    arguments, settings = parse(
        RunArguments,
        ["--task-state", "states.json", "--accept-data-change", "r.toml", "--steps", "3"],
        command="run",
    )

    assert arguments == RunArguments(
        recipe=Path("r.toml"), task_state="states.json", accept_data_change=True
    )
    assert settings == ["--steps", "3"]


@given(st.lists(st.sampled_from(["--json", "--target", "0.9", "--a.b", "--c=1", "x", "r.toml"])))
def test_no_word_is_lost_and_none_is_told_twice(words: list[str]) -> None:
    own, settings = split(words, OPTIONS)

    assert sorted(own + settings) == sorted(words)


def test_a_misspelt_option_is_not_taken_for_a_setting() -> None:
    with pytest.raises(ConfigError) as caught:
        parse(ShowArguments, ["--jsn"], command="config show")

    assert caught.value.hint == "The nearest is --json."


def test_a_report_takes_no_settings() -> None:
    with pytest.raises(ConfigError):
        parse(ReportArguments, ["runs/x", "--steps", "3"], command="report")


def test_every_command_and_option_is_explained_in_both_languages() -> None:
    assert set(COMMANDS) == set(NAMES)
    english, chinese = CATALOGUES["en"], CATALOGUES["zh"]
    assert set(english) == set(chinese)
    for _, kind in COMMANDS.values():
        assert "--json" in option_names(kind)
        assert set(option_names(kind)) <= set(english)
