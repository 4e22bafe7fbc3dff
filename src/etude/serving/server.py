"""A policy server: listens, reads messages, and lets one thread ask the policy."""

import asyncio
import errno
import hmac
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode
from websockets.http11 import Request, Response

from etude.core.errors import ConfigError, PolicyError
from etude.core.protocols import Policy
from etude.serving.answering import Answerer, BareManners, EnvelopeManners, Manners, Reply
from etude.serving.codecs import pack, unpack
from etude.serving.key_map import KeyMap
from etude.serving.probe import PATH
from etude.serving.serve_config import ServeConfig

QUEUED = 16
"""Messages of one client that are read ahead."""


@dataclass(slots=True, kw_only=True)
class Served:
    """What a server has done so far."""

    address: str = ""
    clients: int = 0
    windows: int = 0
    """Observations that were answered."""
    failures: int = 0


class PolicyServer:
    """Answers clients until it is told to stop."""

    def __init__(
        self,
        policy: Policy,
        config: ServeConfig,
        *,
        metadata: Mapping[str, Any],
        ready: Callable[[str], None],
    ) -> None:
        """Prepare to serve `policy`.

        Args:
            metadata: What the server says of itself; plain values only.
            ready: Told the address once clients can connect.
        """
        self.done = Served()
        self._config = config
        self._ready = ready
        keys = KeyMap(config)
        answerer = Answerer(policy, keys)
        kind = EnvelopeManners if config.dialect == "xpolicylab" else BareManners
        self._manners: Manners = kind(answerer, keys, metadata)
        self._stop = asyncio.Event()
        # One thread: policies are not made to be asked by several at once.
        self._asking = ThreadPoolExecutor(1, thread_name_prefix="policy")

    async def run(self, *, signals: bool = False) -> None:
        """Serve until `stop` is called or, if asked for, until SIGINT or SIGTERM.

        Raises:
            ConfigError: The address is taken, or none of this machine.
        """
        if signals:
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self._leave, number)
        try:
            async with await self._listen() as server:
                self.done.address = _address(server)
                self._ready(self.done.address)
                await self._stop.wait()
        finally:
            self._asking.shutdown(wait=False, cancel_futures=True)

    def stop(self) -> None:
        """Take leave of all clients and let `run` return. Call it in the thread of `run`."""
        self._stop.set()

    def _leave(self, number: int) -> None:
        """Stop at the end of the present call; a second signal does what it does elsewhere."""
        asyncio.get_running_loop().remove_signal_handler(number)
        self._stop.set()

    async def _listen(self) -> Server:
        config = self._config
        try:
            return await serve(
                self._converse,
                config.host,
                config.port,
                # A page in a browser could ask a server on its own machine; no robot sends this.
                origins=[None],
                compression=None,
                process_request=self._admit,
                max_size=config.max_message_bytes,
                max_queue=QUEUED,
                ping_interval=None,
            )
        except OSError as error:
            reason = "in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
            raise ConfigError(
                f"port is {config.port} and host {config.host}: {reason}",
                hint="Choose another port, or let one be found: --port 0",
            ) from error

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer the health page, and turn away clients without the key."""
        if request.path == PATH:
            return connection.respond(HTTPStatus.OK, "OK\n")
        wanted = f"Api-Key {self._config.api_key}"
        given = request.headers.get("Authorization", "")
        if self._config.api_key and not hmac.compare_digest(given.encode(), wanted.encode()):
            return connection.respond(HTTPStatus.UNAUTHORIZED, "the API key is missing or wrong\n")
        return None

    async def _converse(self, connection: ServerConnection) -> None:
        self.done.clients += 1
        try:
            if (greeting := self._manners.greeting()) is not None:
                await connection.send(pack(greeting, style=self._manners.style))
            while not await self._exchange(connection):
                pass
        except ConnectionClosed:
            return

    async def _exchange(self, connection: ServerConnection) -> bool:
        """Answer one message; return whether the conversation is over."""
        content = await connection.recv()
        loop = asyncio.get_running_loop()
        reply, answer = await loop.run_in_executor(self._asking, self._answer, content)
        self.done.windows += reply.windows
        self.done.failures += reply.failed
        if answer is not None:
            await connection.send(answer)
        if reply.over:
            code = CloseCode.INTERNAL_ERROR if reply.failed else CloseCode.NORMAL_CLOSURE
            await connection.close(code, "the last message says why" if reply.failed else "")
        return reply.over

    def _answer(self, content: str | bytes) -> tuple[Reply, str | bytes | None]:
        """Return what is said to a message, and its bytes."""
        try:
            reply = self._manners.reply(unpack(_bytes(content)))
        except PolicyError as error:
            reply = self._manners.refusal(error)
        if reply.message is None:
            return reply, reply.text or None
        return reply, pack(reply.message, style=self._manners.style)


def _bytes(content: str | bytes) -> bytes:
    if isinstance(content, str):
        raise PolicyError("a message is text, not msgpack")
    return content


def _address(server: Server) -> str:
    host, port = next(iter(server.sockets)).getsockname()[:2]
    return f"ws://[{host}]:{port}" if ":" in host else f"ws://{host}:{port}"
