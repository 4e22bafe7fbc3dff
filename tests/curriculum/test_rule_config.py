import dataclasses

import pytest

from etude.core.errors import ConfigError
from etude.core.plugins import Plugin
from etude.curriculum import rule_config
from etude.curriculum.rule_config import (
    ErrorConfig,
    ExcessLossConfig,
    LearnabilityConfig,
    PlanConfig,
    ProgressConfig,
    TemperatureConfig,
)
from etude.curriculum.rules import built_in_rules
from etude.curriculum.rules_view import CurriculumRule

PLUGINS = {
    name.lower(): value for name, value in vars(rule_config).items() if isinstance(value, Plugin)
}


def test_every_built_in_rule_is_a_plugin():
    assert sorted(PLUGINS) == sorted(built_in_rules())


@pytest.mark.parametrize("name", sorted(PLUGINS))
def test_a_plugin_builds_its_rule_from_default_settings(name: str):
    plugin = PLUGINS[name]

    rule = plugin.builder()(plugin.config())

    assert isinstance(rule, CurriculumRule)
    assert type(rule) is type(built_in_rules()[name])
    assert dataclasses.is_dataclass(plugin.config)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (PlanConfig, {"cap": 0.5}, "cap is 0.5, not at least 1"),
        (PlanConfig, {"growth": 1.0}, "growth is 1.0, not over 1"),
        (PlanConfig, {"keep": 1.1}, "keep is 1.1, not between 0 and 1"),
        (PlanConfig, {"passed_floor": 2.0}, "passed_floor is 2.0, not between 0 and 1"),
        (PlanConfig, {"least_effective": -1.0}, "least_effective is -1.0, not between 0 and 1"),
        (ProgressConfig, {"fast": 0.1}, "fast is 0.1, not over 0.15"),
        (ProgressConfig, {"score_floor": 0.0}, "score_floor is 0.0, not over 0"),
        (LearnabilityConfig, {"most_errors": 1.0}, "most_errors is 1.0, not over 1.0"),
        (LearnabilityConfig, {"discount": 2.0}, "discount is 2.0, not between 0 and 1"),
        (LearnabilityConfig, {"catch_up": -1.0}, "catch_up is -1.0, not at least 0"),
        (TemperatureConfig, {"temperature": 0.5}, "temperature is 0.5, not at least 1"),
        (ErrorConfig, {"temperature": 0.0}, "temperature is 0.0, not over 0"),
        (ExcessLossConfig, {"rate": 0.0}, "rate is 0.0, not over 0"),
        (ExcessLossConfig, {"mix": 1.5}, "mix is 1.5, not between 0 and 1"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(
    kind: type, settings: dict[str, float], message: str
):
    with pytest.raises(ConfigError, match=message):
        kind(**settings)
