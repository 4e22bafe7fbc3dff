"""Policy servers on loopback: a right one for any policy, and wrong ones in many ways."""

import asyncio
import socket
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from queue import Queue
from typing import Any

from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as listen

from etude.core.errors import EtudeError
from etude.core.protocols import Policy
from etude.serving.codecs import pack, unpack
from etude.serving.remote_config import RemoteConfig
from etude.serving.remote_policy import RemotePolicy
from etude.serving.serve_config import ServeConfig
from etude.serving.server import PolicyServer


@contextmanager
def served(
    policy: Policy, *, metadata: Mapping[str, Any] | None = None, **settings: Any
) -> Generator[PolicyServer, None, None]:
    """Serve `policy` in a thread of its own while the context lasts."""
    ready: Queue[PolicyServer | EtudeError] = Queue()

    async def live() -> None:
        server = PolicyServer(
            policy,
            ServeConfig(**{"port": 0, **settings}),
            metadata=metadata or {},
            ready=lambda _: ready.put(server),
        )
        loops.append(asyncio.get_running_loop())
        await server.run()

    def run() -> None:
        try:
            asyncio.run(live())
        except EtudeError as error:
            ready.put(error)

    loops: list[asyncio.AbstractEventLoop] = []
    thread = threading.Thread(target=run)
    thread.start()
    server = ready.get(timeout=10)
    if isinstance(server, EtudeError):
        raise server
    try:
        yield server
    finally:
        loops[0].call_soon_threadsafe(server.stop)
        thread.join()


@contextmanager
def behaving(
    behaviour: Callable[[ServerConnection], None], *, max_queue: int = 16
) -> Generator[str, None, None]:
    """Serve connections by `behaviour`, each in a thread; lend the address."""
    settings: dict[str, Any] = {
        "compression": None,
        "max_size": None,
        "max_queue": max_queue,
        "close_timeout": 0.2,
    }
    with listen(behaviour, "127.0.0.1", 0, **settings) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def deaf() -> Generator[str, None, None]:
    """Lend the address of something that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"ws://127.0.0.1:{server.getsockname()[1]}"


def say(connection: ServerConnection, message: Any) -> None:
    """Send a message in openpi's style."""
    connection.send(pack(message, style="openpi"))


def hear(connection: ServerConnection) -> Any:
    """Return the next message."""
    content = connection.recv()
    assert isinstance(content, bytes)
    return unpack(content)


def remote(address: str, **settings: Any) -> RemotePolicy:
    """Return a client that waits for nothing between two tries."""
    given = {"execute": 2, "retries": 2, **settings}
    return RemotePolicy(RemoteConfig(address=address, **given), wait=lambda _: None)
