import pytest

from etude.compute.world_config import WorldConfig
from etude.core.errors import ConfigError


def test_a_rank_waits_for_some_time_unless_told_otherwise():
    config = WorldConfig()

    assert 0 < config.join_timeout_s < config.timeout_s


@pytest.mark.parametrize("name", ["join_timeout_s", "timeout_s"])
def test_a_rank_that_never_waits_is_refused(name: str):
    with pytest.raises(ConfigError, match=f"{name} is 0, not over 0"):
        WorldConfig(**{name: 0})
