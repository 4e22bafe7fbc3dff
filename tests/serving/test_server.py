"""The server as other programs meet it: bytes on a socket."""

import http.client
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from etude.core.errors import ConfigError
from etude.core.types import Observation
from etude.serving.codecs import pack, unpack
from etude.serving.serve_config import ServeConfig
from etude.testing.fakes import ToyPolicy
from loopback import served

SEEN = {"state": np.array([1.0, 2.0], np.float32), "prompt": "x"}


def talk(address: str, **settings: Any) -> ClientConnection:
    return connect(address, compression=None, proxy=None, **settings)


def ask(connection: ClientConnection, content: bytes | str) -> Any:
    connection.send(content)
    answer = connection.recv(timeout=10)
    return answer if isinstance(answer, str) else unpack(answer)


def test_the_health_page_says_ok_to_everybody():
    with served(ToyPolicy(), api_key="secret") as server:
        host, _, port = server.done.address.removeprefix("ws://").rpartition(":")
        page = http.client.HTTPConnection(host, int(port), timeout=10)
        page.request("GET", "/healthz")
        answer = page.getresponse()
        told = (answer.status, answer.read())

    assert told == (200, b"OK\n")


def test_openpis_dialect_greets_and_answers_in_its_own_bytes():
    with served(ToyPolicy(), metadata={"who": "me"}) as server, talk(server.done.address) as client:
        greeting = client.recv(timeout=10)
        answer = ask(client, pack(SEEN, style="openpi"))

    assert greeting == b"\x81\xa3who\xa2me"
    assert answer["actions"].tolist() == [[1.5, 1.5]] * 4


@pytest.mark.parametrize("content", ["text", b"\xc1", b"\x01", b"\x80"])
def test_what_is_no_observation_gets_a_line_of_text_and_code_1011(content: bytes | str):
    with served(ToyPolicy()) as server, talk(server.done.address) as client:
        client.recv(timeout=10)
        told = ask(client, content)
        with pytest.raises(ConnectionClosed) as caught:
            client.recv(timeout=10)

    assert told.startswith("PolicyError: ")
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 1011
    assert server.done.failures == 1


def test_a_client_that_fails_does_not_disturb_another():
    with served(ToyPolicy()) as server, talk(server.done.address) as good:
        good.recv(timeout=10)
        with talk(server.done.address) as bad:
            bad.recv(timeout=10)
            ask(bad, b"\xc1")
        answer = ask(good, pack(SEEN, style="openpi"))

    assert answer["actions"].shape == (4, 2)
    assert (server.done.clients, server.done.windows, server.done.failures) == (2, 1, 1)


def test_a_bug_of_the_policy_ends_its_conversation_and_not_the_server():
    class Buggy(ToyPolicy):
        def _chunk(self, observation: Observation) -> Any:
            return 1 / 0 if observation.state[0] == 7 else super()._chunk(observation)

    with served(Buggy()) as server:
        with talk(server.done.address) as client:
            client.recv(timeout=10)
            client.send(pack({"state": np.array([7.0])}, style="openpi"))
            with pytest.raises(ConnectionClosed) as caught:
                client.recv(timeout=10)
        with talk(server.done.address) as client:
            client.recv(timeout=10)
            answer = ask(client, pack(SEEN, style="openpi"))

    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 1011
    assert answer["actions"].shape == (4, 2)


def test_a_message_over_the_limit_is_refused():
    with served(ToyPolicy(), max_message_mb=1) as server, talk(server.done.address) as client:
        client.recv(timeout=10)
        with pytest.raises(ConnectionClosed) as caught:
            ask(client, bytes(1_000_001))

    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 1009


@pytest.mark.parametrize(
    ("headers", "settings", "code"),
    [
        ({}, {}, 401),
        ({"Authorization": "Api-Key wrong"}, {}, 401),
        ({"Authorization": "Api-Key secret"}, {"origin": "http://evil.example"}, 403),
    ],
    ids=["no key", "wrong key", "a page in a browser"],
)
def test_who_may_not_ask_is_turned_away(
    headers: dict[str, str], settings: dict[str, Any], code: int
):
    with (
        served(ToyPolicy(), api_key="secret") as server,
        pytest.raises(InvalidStatus) as caught,
        talk(server.done.address, additional_headers=headers, **settings),
    ):
        pass

    assert caught.value.response.status_code == code


def test_clients_are_told_that_the_server_leaves():
    with served(ToyPolicy()) as server:
        client = talk(server.done.address).__enter__()
        client.recv(timeout=10)

    with pytest.raises(ConnectionClosed) as caught:
        client.recv(timeout=10)
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 1001


def test_a_port_that_is_taken_is_an_error_that_names_it():
    with served(ToyPolicy()) as server:
        port = int(server.done.address.rpartition(":")[2])
        refused = pytest.raises(ConfigError, match=f"port is {port} and host 127.0.0.1: in use")
        with refused, served(ToyPolicy(), port=port):
            pass


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"port": -1}, "port is -1, not between 0 and 65535"),
        ({"host": ""}, "host is empty"),
        ({"state_keys": ("a=0", "b=2-3")}, "state_keys leaves out dimension 1 of the state"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Any], said: str):
    with pytest.raises(ConfigError) as caught:
        ServeConfig(**settings)

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "is_open"),
    [({}, False), ({"host": "0.0.0.0"}, True), ({"host": "0.0.0.0", "api_key": "k"}, False)],
)
def test_a_server_is_open_only_if_it_is_told_to_be(settings: dict[str, Any], is_open: bool):  # noqa: FBT001
    assert ServeConfig(**settings).is_open == is_open
