import pytest

from etude.core.errors import ConfigError
from etude.curriculum.drop_in_config import DropInConfig


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"lag": -1}, "lag is -1, not at least 0"),
        ({"plan_every": 0}, "plan_every is 0, not at least 1"),
        ({"steps": -5}, "steps is -5, not at least 0"),
    ],
)
def test_impossible_settings_are_refused(setting: dict[str, int], message: str):
    with pytest.raises(ConfigError, match=message):
        DropInConfig(**setting)
