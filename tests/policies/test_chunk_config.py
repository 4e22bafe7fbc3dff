import pytest

from etude.core.errors import ConfigError
from etude.core.plugins import find
from etude.policies.chunk_config import PLUGIN, ChunkConfig


@pytest.mark.parametrize("name", ["width", "blocks", "task_dim", "horizon", "execute"])
def test_a_size_of_nothing_is_refused(name: str):
    with pytest.raises(ConfigError, match=f"{name} is 0, not at least 1"):
        ChunkConfig(**{name: 0})


def test_no_more_actions_are_played_than_predicted():
    with pytest.raises(ConfigError, match=r"execute is 9, over horizon \(8\)") as caught:
        ChunkConfig(horizon=8, execute=9)

    assert caught.value.hint == "Play at most as many actions as are predicted."
    assert ChunkConfig(horizon=8, execute=8).execute == 8


@pytest.mark.parametrize("difference", [(-1, 0, 3), (0, -1, 3), (0, 3, 0)])
def test_differences_between_places_that_do_not_exist_are_refused(
    difference: tuple[int, int, int],
):
    with pytest.raises(ConfigError, match="differences has"):
        ChunkConfig(differences=(difference,))


def test_the_policy_is_the_plugin_chunk_and_can_be_trained():
    assert find("etude.policies", "chunk") is PLUGIN
    assert PLUGIN.builder().__name__ == "load_chunk_policy"
    assert PLUGIN.trainable == "etude.policies.chunk_module:build_chunk_module"
