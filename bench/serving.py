"""Windows per second and milliseconds per call of a policy server on loopback, in each dialect.

Run `python bench/serving.py`. The policy costs nothing, so what is measured is everything else:
writing and reading messages, the socket, and the server. Client and server are two processes.
Beside it stands a bare socket of the same library that sends the bytes of one window back.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import numpy as np
from websockets.asyncio.server import ServerConnection, serve
from websockets.sync.client import connect

from etude.core.types import ActionChunk, ContentKey, Observation, TaskId
from etude.runs.serving import describe
from etude.serving.codecs import pack
from etude.serving.places import DialectName
from etude.serving.remote_config import RemoteConfig
from etude.serving.remote_policy import RemotePolicy
from etude.serving.serve_config import ServeConfig
from etude.serving.server import PolicyServer
from result import publish

STATE_DIM, ACTION_DIM, HORIZON, BATCH = 39, 4, 8, 64
ROUNDS, SECONDS = 5, 1.0
DIALECTS: tuple[DialectName, ...] = ("openpi", "lingbot", "xpolicylab")
IMAGE_PX = 224


class FreePolicy:
    """Answers with zeros that were made before."""

    key = ContentKey("free")
    horizon = HORIZON
    execute = HORIZON

    def __init__(self) -> None:
        actions = np.zeros((HORIZON, ACTION_DIM), np.float32)
        self._chunk = ActionChunk(actions=actions, valid=np.ones(HORIZON, np.bool_))

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        del seed
        return [self._chunk] * len(observations)


def main() -> None:
    """Print one JSON object and keep it in bench/results."""
    windows = observed(BATCH, images=False)
    pictured = observed(BATCH, images=True)
    figures: dict[str, object] = {
        "batch": BATCH,
        "state_dim": STATE_DIM,
        "image_px": IMAGE_PX,
    }
    echo_ms = 1000 / echo_rate(windows[0])
    figures["ms_per_call_echo"] = round(echo_ms, 3)
    for dialect in DIALECTS:
        with client(dialect) as policy:
            figures[f"windows_per_s_{dialect}"] = round(rate(policy.act, windows))
            ms = 1000 / rate(policy.act, windows[:1])
            figures[f"ms_per_call_{dialect}"] = round(ms, 3)
            figures[f"ratio_call_to_echo_{dialect}"] = round(ms / echo_ms, 2)
    with client("openpi", cameras=("top",)) as policy:
        figures["windows_per_s_openpi_one_image"] = round(rate(policy.act, pictured))
    publish("serving", figures)


def observed(count: int, *, images: bool) -> list[Observation]:
    random = np.random.default_rng(0)
    picture = random.integers(0, 255, (IMAGE_PX, IMAGE_PX, 3), np.uint8)
    return [
        Observation(
            task=TaskId(f"bench/{place % 50}"),
            state=random.normal(size=STATE_DIM).astype(np.float32),
            instruction="pick up the cup and put it on the plate",
            images={"top": picture} if images else {},
        )
        for place in range(count)
    ]


def rate(act: Callable[..., Sequence[Any]], windows: Sequence[Any]) -> float:
    """Return how many windows are answered per second, the median of a few rounds."""
    act(windows, seed=0)
    found: list[float] = []
    for _ in range(ROUNDS):
        begun, calls = time.perf_counter(), 0
        while (seconds := time.perf_counter() - begun) < SECONDS:
            act(windows, seed=0)
            calls += 1
        found.append(calls * len(windows) / seconds)
    return median(found)


@contextmanager
def client(dialect: DialectName, cameras: tuple[str, ...] = ()) -> Iterator[RemotePolicy]:
    """Lend a client of a server in a process of its own."""
    with process("serve", dialect, *cameras) as address:
        policy = RemotePolicy(RemoteConfig(address=address, dialect=dialect, cameras=cameras))
        yield policy
        policy.close()


def echo_rate(seen: Observation) -> float:
    """Return how often per second a bare socket sends a message back."""
    message = pack({"state": seen.state, "prompt": seen.instruction}, style="openpi")
    with process("echo") as address, connect(address, compression=None, proxy=None) as connection:

        def act(windows: Sequence[bytes], *, seed: int) -> Sequence[bytes]:
            del seed
            connection.send(windows[0])
            return [connection.recv()]

        return rate(act, [message])


@contextmanager
def process(*words: str) -> Iterator[str]:
    command = [sys.executable, __file__, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            yield child.stdout.readline().strip()
        finally:
            child.terminate()


async def live(kind: str, *words: str) -> None:
    """Be the other process until it is ended."""
    if kind == "echo":
        async with serve(echo, "127.0.0.1", 0, compression=None) as server:
            print(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
            await server.serve_forever()
    dialect, *cameras = words
    policy = FreePolicy()
    await PolicyServer(
        policy,
        ServeConfig(port=0, dialect=dialect, cameras=tuple(cameras)),
        metadata=describe(policy, step=0),
        ready=lambda address: print(address, flush=True),
    ).run(signals=True)


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(live(*sys.argv[1:]))
    else:
        main()
