import pytest

from etude.core.errors import ConfigError
from etude.curriculum.lifecycle_config import DriftConfig, LifecycleConfig


def test_eighteen_passes_prove_a_task_and_seven_episodes_a_look_may_do():
    # 1 - 0.85^18 = 0.9464 and 1 - 0.85^19 = 0.9544; 7 / (1 - 0.6) = 17.5, 8 / (1 - 0.6) = 20.
    config = LifecycleConfig()

    assert config.trials_to_pass == 18
    assert config.episodes_per_look == 8


def test_bands_without_a_gap_are_refused():
    with pytest.raises(ConfigError, match=r"failing is 0\.85, not under passing \(0\.85\)"):
        LifecycleConfig(failing=0.85)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pass_chance": 1.0}, "pass_chance is 1.0, not between 0.01 and 0.9999"),
        ({"look_steps": 0}, "look_steps is 0, not at least 1"),
        ({"discount": 1.5}, "discount is 1.5, not between 0 and 1"),
        ({"boost": 0.5}, "boost is 0.5, not at least 1"),
        ({"budget_share": 0.0}, "budget_share is 0.0, not over 0"),
        ({"history": 7}, "history is 7, not at least 8"),
        ({"trend_looks": 2}, "trend_looks is 2, not at least 3"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(settings: dict[str, float], message: str):
    with pytest.raises(ConfigError, match=message):
        LifecycleConfig(**settings)  # pyright: ignore[reportArgumentType]


def test_a_drift_needs_a_limit_and_a_warm_up():
    with pytest.raises(ConfigError, match="limit is 0, not over 0"):
        DriftConfig(limit=0)
    with pytest.raises(ConfigError, match="warm_up is 1, not at least 2"):
        DriftConfig(warm_up=1)
