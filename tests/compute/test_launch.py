import pytest

from etude.compute.launch import Launch, read_launch
from etude.core.errors import ConfigError

TORCHRUN = {
    "RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "node-0",
    "MASTER_PORT": "29500",
    "TORCHELASTIC_USE_AGENT_STORE": "True",
    "TORCHELASTIC_RESTART_COUNT": "2",
}


def test_what_torchrun_says_is_understood():
    assert read_launch(TORCHRUN) == Launch(
        rank=5,
        size=8,
        local_rank=1,
        local_size=4,
        address="node-0",
        port=29500,
        hosts_store=False,
        attempt=2,
    )


def test_without_a_launcher_there_is_no_launch():
    assert read_launch({"MASTER_ADDR": "node-0", "LOCAL_RANK": "0"}) is None


def test_rank_0_opens_the_store_where_the_launcher_has_none():
    rank_0 = {**TORCHRUN, "RANK": "0", "TORCHELASTIC_USE_AGENT_STORE": "False"}
    rank_5 = {**TORCHRUN, "TORCHELASTIC_USE_AGENT_STORE": "False"}

    launches = [read_launch(rank_0), read_launch(rank_5)]

    assert [launch.hosts_store for launch in launches if launch] == [True, False]


def test_ranks_without_local_places_count_as_processes_of_one_machine():
    launch = read_launch(
        {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
    )

    assert launch is not None
    assert (launch.local_rank, launch.local_size) == (1, 2)


def test_a_launch_of_one_needs_no_place_to_meet():
    launch = read_launch({"RANK": "0", "WORLD_SIZE": "1"})

    assert launch is not None
    assert launch.size == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"RANK": "8"}, "RANK is 8, not between 0 and WORLD_SIZE - 1 (7)"),
        ({"RANK": "-1"}, "RANK is -1, not between 0 and WORLD_SIZE - 1 (7)"),
        ({"RANK": "x"}, "RANK is 'x', not a whole number"),
        ({"WORLD_SIZE": "2.0"}, "WORLD_SIZE is '2.0', not a whole number"),
        ({"RANK": ""}, "WORLD_SIZE is 8, but RANK is not set"),
        ({"WORLD_SIZE": ""}, "RANK is 5, but WORLD_SIZE is not set"),
        ({"MASTER_ADDR": ""}, "RANK is 5, WORLD_SIZE is 8, but MASTER_ADDR is not set"),
        ({"MASTER_PORT": ""}, "RANK is 5, WORLD_SIZE is 8, but MASTER_PORT is not set"),
        ({"LOCAL_RANK": "4"}, "LOCAL_RANK is 4, not between 0 and LOCAL_WORLD_SIZE - 1 (3)"),
        ({"LOCAL_WORLD_SIZE": "9"}, "LOCAL_WORLD_SIZE is 9, over WORLD_SIZE (8)"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE is 0, not at least 1"),
    ],
)
def test_an_environment_that_contradicts_itself_is_refused(changes: dict[str, str], said: str):
    with pytest.raises(ConfigError) as caught:
        read_launch({**TORCHRUN, **changes})

    assert str(caught.value) == said
    assert "torchrun" in caught.value.hint
