"""A conversation with a policy server over one connection: questions, answers, limits."""

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

from etude.core.errors import PolicyError, PolicyUnavailable
from etude.serving.codecs import pack, unpack
from etude.serving.connection import SHOWN, Lost, open_connection, translated
from etude.serving.messages import Speech
from etude.serving.remote_config import RemoteConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """A message that waits for its answer."""

    number: str
    places: range | None
    """Which observations it asks about; None is a reset."""


class Session:
    """A conversation with one server over one connection."""

    def __init__(self, config: RemoteConfig, speech: Speech, *, api_key: str) -> None:
        """Connect, hear what the server says of itself, and let it forget earlier observations.

        Raises:
            Lost: Nothing answers, or the connection breaks.
            PolicyError: What answers is no policy server of this dialect, or refuses the key.
        """
        self._config = config
        self._speech = speech
        self._waiting: deque[_Sent] = deque()
        self._warm = False
        self._open = ExitStack()
        self._connection = self._open.enter_context(open_connection(config, api_key=api_key))
        try:
            self.metadata = self._greet()
            self._reset()
            while self._waiting:
                self._next()
        except PolicyError:
            self.close()
            raise

    @property
    def takes_batches(self) -> bool:
        """Whether one message may hold several observations."""
        return self._speech.takes_batches(self.metadata)

    def ask(
        self, observations: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[range, Mapping[str, Any]]]:
        """Yield answers as they come, each with the places of the observations it is about.

        Raises:
            Lost: The connection breaks; what was yielded stays true.
            PolicyError: The server reports a failure, or an answer is none.
        """
        size = len(observations) if self.takes_batches else 1
        todo = deque(range(at, at + size) for at in range(0, len(observations), size))
        while todo or self._waiting:
            while todo and len(self._waiting) < self._config.in_flight:
                places = todo.popleft()
                try:
                    self._put([observations[place] for place in places], places)
                except Lost:
                    # Answers to earlier messages may have come before the connection broke.
                    todo.clear()
            places, answer = self._next()
            if places is not None:
                yield places, answer

    def close(self) -> None:
        """Say goodbye."""
        self._open.close()

    def _greet(self) -> Mapping[str, Any]:
        with translated(self._config):
            if not self._speech.greeted:
                self._connection.send(pack(self._speech.hello(), style=self._speech.style))
            try:
                message = self._receive(self._config.probe_s)
            except PolicyUnavailable as error:
                raise PolicyUnavailable(
                    f"did not say who it is in {self._config.probe_s:g} s",
                    hint="Set --policy.dialect to what the server speaks.",
                ) from error
            return self._speech.metadata(message)

    def _put(self, observations: Sequence[Mapping[str, Any]], places: range) -> None:
        if self._config.reset_each:
            self._reset()
        self._send(self._speech.infer(observations, batched=self.takes_batches), places)

    def _reset(self) -> None:
        if (message := self._speech.reset()) is not None:
            self._send(message, None)

    def _send(self, message: dict[str, Any], places: range | None) -> None:
        self._waiting.append(_Sent(number=self._speech.number(message), places=places))
        with translated(self._config):
            self._connection.send(pack(message, style=self._speech.style))

    def _next(self) -> tuple[range | None, Mapping[str, Any]]:
        """Return the next answer and what it is about; None is a reset."""
        limit_s = self._config.answer_s if self._warm else self._config.first_answer_s
        with translated(self._config):
            message = self._receive(limit_s)
            sent = self._match(message)
            if sent.places is None:
                self._speech.confirm(message)
                return None, {}
            answer = self._speech.answer(message)
        self._warm = True
        return sent.places, answer

    def _match(self, message: Any) -> _Sent:
        """Return which message is answered: the one of that number, else the oldest."""
        number = ""
        if isinstance(message, Mapping):
            number = self._speech.number(cast("Mapping[str, Any]", message))
        for sent in self._waiting:
            if number in ("", sent.number):
                self._waiting.remove(sent)
                return sent
        raise PolicyError(
            f"answered {number[:SHOWN]!r}, which was not asked",
            hint="Set policy.dialect to what the server speaks.",
        )

    def _receive(self, limit_s: float) -> Any:
        """Return the next message.

        Raises:
            PolicyUnavailable: None came in time.
            PolicyError: The server sent text, which is how it reports a failure.
        """
        until_s = time.monotonic() + limit_s
        every_s = self._config.ping_s if self._warm else 0.0
        while True:
            left_s = until_s - time.monotonic()
            pong = self._connection.ping() if every_s else None
            try:
                content = self._connection.recv(timeout=min(left_s, every_s or left_s))
                break
            except TimeoutError as error:
                if left_s <= (every_s or left_s):
                    raise _silent(f"did not answer in {limit_s:g} s") from error
                if pong is not None and not pong.is_set():
                    raise _silent(f"answered no ping in {every_s:g} s") from error
        if isinstance(content, str):
            raise PolicyError(
                f"failed: {_last_line(content)}",
                hint="Read the whole error in the log of the server.",
            )
        return unpack(content)


def _silent(what: str) -> PolicyUnavailable:
    return PolicyUnavailable(
        what,
        hint="Check that the server runs, raise --policy.answer_s, or lower --scan.batch_size.",
    )


def _last_line(text: str) -> str:
    """Return the line of a traceback that says what happened."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:SHOWN] if lines else "without a word"
