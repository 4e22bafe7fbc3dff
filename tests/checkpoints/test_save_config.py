import pytest

from etude.checkpoints.save_config import SaveConfig
from etude.core.errors import ConfigError


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ConfigError, match="every is 0, not at least 1"):
        SaveConfig(every=0)
    with pytest.raises(ConfigError, match="keep_last is -1, not at least 0"):
        SaveConfig(keep_last=-1)
    with pytest.raises(ConfigError, match="hf_every is -1, not at least 0"):
        SaveConfig(hf_every=-1)


def test_keeping_all_is_a_setting():
    assert SaveConfig(keep_last=0).keep_last == 0
