import pytest

from etude.core.errors import ConfigError
from etude.scan.scan_config import ScanConfig, parse_groups


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("windows_per_task", -1, "not at least 0"),
        ("samples_per_task", -1, "not at least 0"),
        ("first", 0, "not at least 1"),
        ("tau", 0.0, "not over 0"),
        ("time_limit_s", -1.0, "not at least 0"),
        ("batch_size", 0, "not at least 1"),
        ("round", -1, "not at least 0"),
        ("rotation", 1.5, "not between 0 and 1"),
        ("horizon", -1, "not at least 0"),
        ("step", -1, "not at least 0"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(name: str, value: float, said: str):
    with pytest.raises(ConfigError, match=f"^{name} is {value}, {said}"):
        ScanConfig(**{name: value})


@pytest.mark.parametrize("strategy", ["panel", "uniform"])
@pytest.mark.parametrize("name", ["windows_per_task", "samples_per_task"])
def test_a_strategy_that_draws_needs_to_know_how_many(strategy: str, name: str):
    with pytest.raises(ConfigError, match=f'^{name} is 0, which strategy "{strategy}"'):
        ScanConfig(**{"strategy": strategy, name: 0})


def test_groups_are_names_with_dimensions_and_ranges_of_them():
    assert parse_groups(("arm=0-2,5", "gripper = 3")) == (("arm", (0, 1, 2, 5)), ("gripper", (3,)))


@pytest.mark.parametrize("text", ["", "arm", "arm=", "=1", "arm=a", "arm=1-", "arm=-1", "arm=2-1"])
def test_a_group_in_another_form_is_refused(text: str):
    with pytest.raises(ConfigError, match=r"not a name and action dimensions$") as raised:
        ScanConfig(groups=(text,))

    assert raised.value.hint == 'Write each group like "arm=0-2,4".'


def test_a_name_or_a_dimension_may_stand_in_the_groups_once():
    with pytest.raises(ConfigError, match=r"^groups names 'arm' 2 times, not once$"):
        ScanConfig(groups=("arm=0", "arm=1"))
    with pytest.raises(ConfigError, match=r"^groups has action dimension 1 2 times, not once$"):
        ScanConfig(groups=("arm=0-1", "gripper=1"))
