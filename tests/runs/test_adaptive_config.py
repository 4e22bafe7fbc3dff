"""Settings of scoring are checked, and the sections of the adaptive loop belong together."""

import pytest

from etude.core.errors import ConfigError
from etude.curriculum.rule_config import LearnabilityConfig, UniformConfig
from etude.runs.adaptive_config import ScoreConfig
from etude.runs.config import load
from etude.runs.provenance import to_toml


def refusal(*flags: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load(None, flags)
    return caught.value


def test_a_run_adapts_only_if_it_is_told_how_to_look():
    config = load(None)

    assert (config.score.kind, config.score.every, config.score.max_share) == ("none", 50, 0.1)
    assert (config.curriculum.use, config.curriculum.every) == ("learnability", 100)
    assert config.curriculum.config == LearnabilityConfig()


@pytest.mark.parametrize(
    ("kind", "looks"),
    [
        ("none", (False, False)),
        ("open_loop", (True, False)),
        ("rollout", (False, True)),
        ("both", (True, True)),
    ],
)
def test_each_kind_says_whether_windows_and_episodes_are_looked_at(
    kind: str, looks: tuple[bool, bool]
):
    config = load(None, ["--score.kind", kind]).score

    assert (config.panel, config.rollouts) == looks


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"every": 0}, "every is 0, not at least 1"),
        ({"max_share": 0.0}, "max_share is 0.0, not over 0"),
        ({"max_share": 1.5}, "max_share is 1.5, not between 0 and 1"),
        ({"windows": 4}, "least_windows is 8, not between 1 and 4"),
        ({"processes": 0}, "processes is 0, not at least 1"),
    ],
)
def test_a_number_out_of_range_is_named(settings: dict[str, float], message: str):
    with pytest.raises(ConfigError, match=message):
        ScoreConfig(**settings)  # pyright: ignore


def test_another_rule_takes_its_own_settings_and_the_rhythm_stays():
    config = load(None, ["--curriculum.use", "uniform", "--curriculum.every", "20"])

    assert config.curriculum.config == UniformConfig()
    assert (config.curriculum.every, config.curriculum.lag) == (20, 8)


def test_a_rule_that_no_package_provides_is_named_with_the_nearest():
    error = refusal("--curriculum.use", "unifrom")

    assert 'curriculum.use is "unifrom"' in str(error)
    assert "uniform" in error.hint


def test_too_few_episodes_to_ever_pass_are_refused_before_anything_starts():
    error = refusal("--score.kind", "rollout", "--score.episodes", "5")

    assert "score.episodes is 5, with which no task can ever pass" in str(error)
    assert "Set score.episodes to 8 or more." in error.hint
    assert load(None, ["--score.episodes", "5"]).score.episodes == 5


def test_held_out_episodes_are_used_by_windows_too():
    flags = ["--train.held_out_every", "0"]

    assert load(None, [*flags, "--score.kind", "open_loop"]).score.kind == "open_loop"
    error = refusal(*flags, "--score.kind", "none")
    assert "dataset.hold_out_episodes is 1, but nothing uses them" in str(error)


def test_evaluation_that_reaches_the_seeds_of_short_rollouts_is_refused():
    error = refusal("--score.kind", "both", "--eval.n_episodes", "600_000")

    assert "eval.n_episodes is 600000, so that evaluation reaches the seeds" in str(error)


def test_the_sections_are_written_down_with_their_settings():
    text = to_toml(load(None, ["--curriculum.use", "uniform"]))

    for section in ("[curriculum]", "[score]", "[lifecycle]", "[plan]", "[drift]", "[parallel]"):
        assert section in text
    assert 'use = "uniform"' in text
