"""What a client makes of servers that do not do what they should."""

import socket
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from websockets.frames import CloseCode
from websockets.sync.server import ServerConnection

from etude.core.errors import PolicyError, PolicyUnavailable
from etude.core.types import Observation, TaskId
from etude.testing.fakes import ToyPolicy
from loopback import behaving, deaf, hear, remote, say, served

SEEN = [
    Observation(task=TaskId("toy/0"), state=np.array([place], np.float32)) for place in range(3)
]


def answering(answer: Any) -> Callable[[ServerConnection], None]:
    def behave(connection: ServerConnection) -> None:
        say(connection, {})
        for _ in SEEN:
            hear(connection)
            say(connection, answer)

    return behave


def fault_of(behaviour: Callable[[ServerConnection], None], **settings: Any) -> PolicyError:
    with behaving(behaviour) as address:
        client = remote(address, **settings)
        with pytest.raises(PolicyError) as caught:
            client.act(SEEN, seed=0)
        client.close()
    assert address in str(caught.value)
    assert caught.value.hint
    return caught.value


def wait_for_goodbye(connection: ServerConnection) -> None:
    for _ in connection:
        pass


def crash(connection: ServerConnection) -> None:
    say(connection, {})
    hear(connection)
    connection.send("Traceback (most recent call last):\n  File x\nKeyError: 'state'\n")
    connection.close(CloseCode.INTERNAL_ERROR, "see the last frame")


def close_1011(connection: ServerConnection) -> None:
    say(connection, {})
    hear(connection)
    connection.close(CloseCode.INTERNAL_ERROR, "keepalive ping timeout")


def vanish(connection: ServerConnection) -> None:
    say(connection, {})
    hear(connection)
    connection.socket.shutdown(socket.SHUT_RDWR)


def fall_silent(connection: ServerConnection) -> None:
    say(connection, {})
    hear(connection)
    say(connection, {"actions": np.zeros((2, 2), np.float32)})
    wait_for_goodbye(connection)


def too_much(connection: ServerConnection) -> None:
    say(connection, {})
    hear(connection)
    # The head of one frame of 2 GB; a client must refuse it before a byte of it has come.
    connection.socket.sendall(bytes([0x82, 127]) + (2_000_000_000).to_bytes(8, "big"))
    wait_for_goodbye(connection)


def greet(message: Any) -> Callable[[ServerConnection], None]:
    return lambda connection: say(connection, message)


def garble(connection: ServerConnection) -> None:
    connection.send(b"\xc1 not msgpack")


@pytest.mark.parametrize(
    ("behaviour", "kind", "said"),
    [
        (crash, PolicyError, "failed: KeyError: 'state'"),
        (close_1011, PolicyUnavailable, "closed the connection with code 1011: keepalive ping"),
        (vanish, PolicyUnavailable, "broke the connection off"),
        (greet([1, 2]), PolicyError, "greeted with a list, not a map"),
        (garble, PolicyError, "a message of 13 bytes cannot be read"),
        (too_much, PolicyError, "sent a message over 64 MB"),
        (answering({"done": True}), PolicyError, "no 'actions'; its keys are done"),
        (answering({"actions": None}), PolicyError, "no 'actions'"),
        (answering([1]), PolicyError, "answered with a list, not a map"),
        (answering({"actions": [0.5, 0.5]}), PolicyError, "which is no chunk of actions"),
        (answering({"actions": [[0.5], [None]]}), PolicyError, "which is no chunk of actions"),
        (answering({"actions": [["a"], ["b"]]}), PolicyError, "which is no chunk of actions"),
        (
            answering({"actions": np.full((2, 2), np.nan, np.float32)}),
            PolicyError,
            "answered with nan for action 0 of step 0",
        ),
        (
            answering({"actions": np.zeros((1, 2), np.float32)}),
            PolicyError,
            "answered with 1 actions, fewer than the 2 to be played",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_fault_is_told_with_the_address_and_what_to_do(
    behaviour: Callable[[ServerConnection], None], kind: type[PolicyError], said: str
):
    fault = fault_of(behaviour)

    assert isinstance(fault, PolicyUnavailable) == (kind is PolicyUnavailable)
    assert said in str(fault)


def test_actions_of_another_size_are_refused():
    sizes = iter([7, 7, 4])

    def behave(connection: ServerConnection) -> None:
        say(connection, {})
        for _ in SEEN:
            hear(connection)
            say(connection, {"actions": np.zeros((2, next(sizes)), np.float32)})

    assert "answered with actions of 4 numbers, not 7" in str(fault_of(behave))


def test_silence_ends_when_the_limit_is_reached_and_is_not_waited_for_again():
    fault = fault_of(fall_silent, answer_s=0.2)

    assert isinstance(fault, PolicyUnavailable)
    assert "did not answer in 0.2 s" in str(fault)


def test_the_first_answer_has_a_limit_of_its_own_because_many_servers_compile_for_it():
    def compile_for_ever(connection: ServerConnection) -> None:
        say(connection, {})
        wait_for_goodbye(connection)

    fault = fault_of(compile_for_ever, first_answer_s=0.2, answer_s=0.1)

    assert "did not answer in 0.2 s" in str(fault)


def test_a_server_that_answers_no_ping_is_given_up():
    def freeze(connection: ServerConnection) -> None:
        say(connection, {})
        hear(connection)
        say(connection, {"actions": np.zeros((2, 2), np.float32)})
        # With a full queue nobody reads the socket, as in a process that is stopped.
        free.wait(10)

    free = threading.Event()
    with behaving(freeze, max_queue=1) as address:
        client = remote(address, ping_s=0.2)
        with pytest.raises(PolicyError) as caught:
            client.act(SEEN, seed=0)
        free.set()
    fault = caught.value

    assert isinstance(fault, PolicyUnavailable)
    assert "answered no ping in 0.2 s" in str(fault)


def test_a_server_that_closes_in_the_middle_of_a_batch_is_asked_for_the_rest_only():
    asked: list[list[float]] = []

    def answer_one_a_connection(connection: ServerConnection) -> None:
        say(connection, {})
        asked.append([])
        state = hear(connection)["state"]
        asked[-1].append(float(state[0]))
        say(connection, {"actions": np.full((2, 2), state[0], np.float32)})

    with behaving(answer_one_a_connection) as address:
        client = remote(address)
        chunks = client.act(SEEN, seed=0)
        client.close()

    assert [chunk.actions[0, 0] for chunk in chunks] == [0, 1, 2]
    assert asked == [[0.0], [1.0], [2.0]]


def test_waits_between_two_connections_grow():
    waits: list[float] = []
    client = remote("ws://127.0.0.1:1", retries=6)
    client._wait = waits.append

    with pytest.raises(PolicyUnavailable, match=r"ws://127.0.0.1:1 cannot be reached: Connection"):
        client.act(SEEN, seed=0)

    assert waits == [0.5, 1, 2, 4, 8, 8]


def test_what_does_not_answer_at_all_is_known_after_the_probe():
    with deaf() as address:
        client = remote(address, probe_s=0.1, retries=0)
        with pytest.raises(PolicyUnavailable, match=r"reached: no answer in 0\.1 s"):
            client.act(SEEN, seed=0)


def test_a_wrong_key_is_refused_and_the_right_one_is_not():
    with served(ToyPolicy(), api_key="secret") as server:
        client = remote(server.done.address)
        with pytest.raises(PolicyError, match=r"refuses this client \(HTTP 401\)") as caught:
            client.act(SEEN, seed=0)
        client._api_key = "secret"
        assert len(client.act(SEEN, seed=0)) == 3
        client.close()

    assert "ETUDE_API_KEY" in caught.value.hint


def test_another_policy_behind_the_same_address_is_noticed():
    identities = iter(["a", "b"])

    def behave(connection: ServerConnection) -> None:
        say(connection, {"policy_id": next(identities)})
        hear(connection)
        say(connection, {"actions": np.zeros((2, 2), np.float32)})

    fault = fault_of(behave)

    assert "serves 'b' now, and served 'a' before" in str(fault)


def test_a_call_that_hangs_leaves_the_next_one_a_connection_of_its_own():
    free = threading.Event()
    turns = iter(range(2))

    def hang_first(connection: ServerConnection) -> None:
        first = next(turns) == 0
        say(connection, {})
        for _ in SEEN:
            hear(connection)
            if first:
                free.wait(10)
            say(connection, {"actions": np.zeros((2, 2), np.float32)})

    with behaving(hang_first) as address:
        client = remote(address)
        hanging = threading.Thread(target=client.act, args=(SEEN,), kwargs={"seed": 0})
        _ = client.metadata
        hanging.start()
        while client._session is not None:
            pass
        assert len(client.act(SEEN, seed=0)) == 3
        free.set()
        hanging.join()
        client.close()


@pytest.mark.parametrize("dialect", ["openpi", "lingbot", "xpolicylab"])
def test_a_server_of_another_dialect_is_told_from_a_broken_one(dialect: str):
    spoken = "openpi" if dialect == "xpolicylab" else "xpolicylab"
    with served(ToyPolicy(), dialect=spoken) as server:
        client = remote(server.done.address, dialect=dialect, probe_s=0.5, retries=0)
        with pytest.raises(PolicyError) as caught:
            client.act(SEEN, seed=0)

    assert server.done.address in str(caught.value)
    assert "dialect" in caught.value.hint
