import pytest

from etude.compute.strategy_config import ParallelConfig
from etude.core.errors import ConfigError


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ConfigError, match="accumulate is 0, not at least 1"):
        ParallelConfig(accumulate=0)
    with pytest.raises(ConfigError, match="compile_limit_s is 0, not over 0"):
        ParallelConfig(compile_limit_s=0)
