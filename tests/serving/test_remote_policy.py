from collections.abc import Sequence

import numpy as np
import pytest

from etude.core.errors import PolicyError
from etude.core.types import ActionChunk, ContentKey, Observation, TaskId
from etude.runs.serving import describe
from etude.serving.places import DialectName
from etude.testing.conformance import check_policy
from etude.testing.fakes import ToyPolicy, toy_tasks
from loopback import remote, served

DIALECTS: tuple[DialectName, ...] = ("openpi", "lingbot", "xpolicylab")


class EchoPolicy:
    """Answers with what it saw: state, seed, task's number, length of the text, image's corner."""

    key = ContentKey("echo")
    horizon = 3
    execute = 2
    tasks = toy_tasks(3)

    def __init__(self) -> None:
        self.calls: list[int] = []

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        self.calls.append(len(observations))
        return [self._chunk(seen, seed) for seen in observations]

    def _chunk(self, seen: Observation, seed: int) -> ActionChunk:
        corner = seen.images["top"][0, 1, 2] if "top" in seen.images else -1
        told = [*seen.state, seed, int(seen.task[-1]), len(seen.instruction), corner]
        return ActionChunk(actions=np.array([told] * 3, np.float32), valid=np.ones(3, np.bool_))


def seen(place: int, *, images: bool = False) -> Observation:
    picture = np.zeros((4, 5, 3), np.uint8)
    picture[0, 1, 2] = 10 + place
    return Observation(
        task=TaskId(f"toy/{place}"),
        state=np.array([place, place + 0.5], np.float32),
        instruction="做" * (place + 1),
        images={"top": picture} if images else {},
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_everything_that_is_seen_arrives_and_every_answer_comes_back_in_order(
    dialect: DialectName,
):
    policy = EchoPolicy()
    with served(
        policy, metadata=describe(policy, step=7), dialect=dialect, cameras=("top",)
    ) as server:
        client = remote(server.done.address, dialect=dialect, cameras=("top",))
        chunks = client.act([seen(place, images=True) for place in range(3)], seed=5)
        client.close()

    assert [chunk.actions[1].tolist() for chunk in chunks] == [
        [0, 0.5, 5, 0, 1, 10],
        [1, 1.5, 5, 1, 2, 11],
        [2, 2.5, 5, 2, 3, 12],
    ]
    assert all(chunk.valid.all() for chunk in chunks)
    assert policy.calls == ([1, 1, 1] if dialect == "xpolicylab" else [3])
    assert (server.done.clients, server.done.windows, server.done.failures) == (1, 3, 0)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_it_keeps_the_contract_of_a_policy(dialect: DialectName):
    policy = ToyPolicy()
    with served(policy, metadata=describe(policy, step=0), dialect=dialect) as server:
        client = remote(server.done.address, dialect=dialect, execute=0)
        check_policy(client, [seen(0), seen(1)])
        said = (client.horizon, client.execute, client.tasks)
        client.close()

    assert said == (4, 2, ())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_server_that_says_nothing_of_itself_is_asked_one_by_one_or_in_lingbots_batches(
    dialect: DialectName,
):
    policy = ToyPolicy()
    with served(policy, dialect=dialect) as server:
        client = remote(server.done.address, dialect=dialect)
        chunks = client.act([seen(place) for place in range(3)], seed=1)
        client.close()

    assert [chunk.actions[0, 0] for chunk in chunks] == [0.25, 1.25, 2.25]
    assert policy.batch_sizes == ([3] if dialect == "lingbot" else [1, 1, 1])


def test_the_server_says_who_it_is_and_how_its_actions_are_played():
    policy = EchoPolicy()
    with served(policy, metadata=describe(policy, step=7)) as server:
        client = remote(server.done.address, execute=0)
        other = remote(server.done.address, execute=1)
        assert client.identity == "server:echo"
        assert (client.horizon, client.execute) == (3, 2)
        assert client.tasks == toy_tasks(3)
        assert client.key != other.key
        client.close()
        other.close()


def test_a_name_stands_for_the_weights_and_nobody_has_to_be_asked_for_it():
    client = remote("ws://127.0.0.1:1", name="ours-3000")

    assert client.identity == "name:ours-3000"
    assert client.key == remote("ws://127.0.0.1:2", name="ours-3000").key
    assert client.key != remote("ws://127.0.0.1:1", name="ours-4000").key
    assert client.key != remote("ws://127.0.0.1:1", name="ours-3000", cameras=("top",)).key


def test_without_a_name_every_client_has_a_key_of_its_own():
    with served(ToyPolicy()) as server:
        one, two = remote(server.done.address), remote(server.done.address)
        assert one.identity == ""
        assert one.key == one.key
        assert one.key != two.key
        one.close()
        two.close()


def test_how_many_actions_are_played_must_be_known():
    with served(ToyPolicy()) as server:
        client = remote(server.done.address, execute=0)
        with pytest.raises(PolicyError, match="does not say how many actions") as caught:
            client.act([seen(0)], seed=0)
        client.close()

    assert caught.value.hint == "Say it: --policy.execute 8"


@pytest.mark.parametrize(
    ("settings", "actions", "valid"),
    [
        ({"execute": 1}, 1, [True]),
        ({"execute": 2, "horizon": 3}, 3, [True] * 3),
        ({"execute": 2, "horizon": 6}, 6, [True] * 4 + [False] * 2),
    ],
)
def test_an_answer_is_cut_or_filled_to_the_horizon(
    settings: dict[str, int], actions: int, valid: list[bool]
):
    with served(ToyPolicy()) as server:
        client = remote(server.done.address, **settings)
        (chunk,) = client.act([seen(1)], seed=0)
        client.close()

    assert chunk.actions.tolist() == [[1.25, 1.25]] * actions
    assert chunk.valid.tolist() == valid


def test_parts_of_the_state_travel_under_keys_of_their_own():
    keys = {"state_keys": ("arm>left=1", "arm>right=0"), "prompt_key": "words"}
    policy = EchoPolicy()
    with served(policy, metadata=describe(policy, step=0), **keys) as server:
        client = remote(server.done.address, **keys)
        (chunk,) = client.act([seen(1)], seed=0)
        client.close()

    assert chunk.actions[0].tolist() == [1, 1.5, 0, 1, 2, -1]


def test_without_observations_nobody_is_asked():
    assert remote("ws://127.0.0.1:1").act([], seed=0) == []
