import pytest

from etude.core.errors import ConfigError
from etude.evaluate.eval_config import EvalConfig


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_episodes", 0),
        ("n_episodes", -1),
        ("max_steps", 0),
        ("max_steps", -5),
        ("first_seed", -1),
        ("lanes", 0),
        ("processes", -1),
    ],
)
def test_an_evaluation_that_could_play_nothing_is_refused_by_name(name: str, value: float):
    with pytest.raises(ConfigError, match=f"^{name} is {value}, not at least "):
        EvalConfig(**{name: value})


def test_the_defaults_stop_an_episode_at_its_first_success():
    assert not EvalConfig().to_the_end
