"""What a server says to clients: reads observations, asks the policy, writes answers."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from etude.core.errors import EtudeError, PolicyError
from etude.core.protocols import Policy
from etude.core.types import ActionChunk, Observation, Task, TaskId
from etude.serving.codecs import Style
from etude.serving.key_map import SEED, TASK, KeyMap

NO_SEED = 0
"""Seed of clients that send none."""


class Answerer:
    """Asks a policy about observations as they stand in messages."""

    def __init__(self, policy: Policy, keys: KeyMap) -> None:
        self._policy = policy
        self._keys = keys
        self._tasks: tuple[Task, ...] = tuple(getattr(policy, "tasks", ()))

    def actions(self, messages: Sequence[Any]) -> np.ndarray:
        """Return the actions of all observations in `messages`, which share one seed.

        Raises:
            PolicyError: A message is no observation, or does not fit the policy.
        """
        if not messages:
            raise PolicyError("a batch holds no observation")
        maps = [_map(message) for message in messages]
        seeds = {_seed(message) for message in maps}
        if len(seeds) > 1:
            raise PolicyError(f"a batch has {len(seeds)} seeds, not one")
        chunks = self._policy.act(
            [self._observation(message) for message in maps], seed=seeds.pop()
        )
        return np.stack([_whole(chunk) for chunk in chunks])

    def _observation(self, message: Mapping[str, Any]) -> Observation:
        prompt = self._keys.read_prompt(message)
        return Observation(
            task=self._task(message, prompt),
            state=self._keys.read_state(message),
            instruction=prompt,
            images=self._keys.read_images(message),
        )

    def _task(self, message: Mapping[str, Any], prompt: str) -> TaskId:
        """Return the task of an observation: the one it names, else the one of its instruction."""
        named = message.get(TASK)
        if isinstance(named, str):
            return TaskId(named)
        if not self._tasks:
            return TaskId(prompt)
        found = [task.id for task in self._tasks if task.text == prompt]
        if len(self._tasks) == 1 and not prompt:
            found = [self._tasks[0].id]
        if len(found) != 1:
            which = "none" if not found else f"{len(found)}"
            raise PolicyError(
                f"the instruction {prompt!r} is that of {which} of the {len(self._tasks)} tasks "
                f"of this policy; send one of theirs, or the task's id as {TASK!r}"
            )
        return found[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a server sends, and whether it hangs up."""

    message: Mapping[str, Any] | None
    text: str = ""
    """Sent as text, which is how openpi's dialect reports a failure."""
    over: bool = False
    failed: bool = False
    windows: int = 0
    """Observations that were answered."""


@runtime_checkable
class Manners(Protocol):
    """One side of a conversation: that of a server."""

    style: Style

    def greeting(self) -> Mapping[str, Any] | None:
        """Return what the server says first, if it speaks first."""
        ...

    def reply(self, message: Any) -> Reply:
        """Return what is said to a message, failures included."""
        ...

    def refusal(self, error: EtudeError) -> Reply:
        """Return what is said to a message that cannot be read."""
        ...


class BareManners:
    """Openpi's dialect and LingBot's; each answers the other's resets and batches, too."""

    style: Style = "openpi"

    def __init__(self, answerer: Answerer, keys: KeyMap, metadata: Mapping[str, Any]) -> None:
        self._answerer = answerer
        self._keys = keys
        self._metadata = metadata

    def greeting(self) -> Mapping[str, Any]:
        """Return the metadata."""
        return self._metadata

    def reply(self, message: Any) -> Reply:
        """Return actions; a failure is text, after which the connection ends."""
        begun_s = time.perf_counter()
        try:
            observation = _map(message)
            if observation.get("reset") is True:
                return Reply(message={"action": None, **_timing(begun_s)})
            is_batch = "batch" in observation
            actions = self._answerer.actions(
                _list(observation["batch"]) if is_batch else [observation]
            )
        except EtudeError as error:
            return self.refusal(error)
        answer = self._keys.write_actions(actions if is_batch else actions[0])
        return Reply(message={**answer, **_timing(begun_s)}, windows=len(actions))

    def refusal(self, error: EtudeError) -> Reply:
        """Return the error in one line of text."""
        return Reply(message=None, text=_line(error), over=True, failed=True)


class EnvelopeManners:
    """XPolicyLab's dialect."""

    style: Style = "msgpack_numpy"

    def __init__(self, answerer: Answerer, keys: KeyMap, metadata: Mapping[str, Any]) -> None:
        self._answerer = answerer
        self._keys = keys
        self._metadata = metadata

    def greeting(self) -> None:
        """Return nothing: the client speaks first."""

    def reply(self, message: Any) -> Reply:
        """Return an envelope of the type that fits; a failure is one, too."""
        envelope: Mapping[str, Any] = {}
        try:
            envelope = _map(message)
            return self._answer(envelope)
        except EtudeError as error:
            code = "infer_failed" if envelope.get("message_type") == "infer" else "invalid_frame"
            return self._failure(envelope, error, code)

    def refusal(self, error: EtudeError) -> Reply:
        """Return an error that answers no message."""
        return self._failure({}, error, "invalid_frame")

    def _answer(self, envelope: Mapping[str, Any]) -> Reply:
        begun_s = time.perf_counter()
        kind = envelope.get("message_type")
        if kind == "close":
            return Reply(message=None, over=True)
        if kind == "hello":
            return _enveloped(envelope, "hello_ack", {"ok": True, **self._metadata})
        if kind in _PLAIN_ANSWERS:
            return _enveloped(envelope, _PLAIN_ANSWERS[str(kind)], {"ok": True})
        if kind != "infer":
            raise PolicyError(f"a message has the type {kind!r}, which is none that is answered")
        payload = _map(envelope.get("payload"))
        actions = self._answerer.actions([payload.get("observation")])
        latency = {"latency_ms": 1000 * (time.perf_counter() - begun_s)}
        answer = {**self._keys.write_actions(actions[0]), **latency}
        return _enveloped(envelope, "infer_result", answer, windows=1)

    def _failure(self, envelope: Mapping[str, Any], error: EtudeError, code: str) -> Reply:
        content: dict[str, Any] = {"code": code, "message": _line(error), "details": {}}
        return _enveloped(envelope, "error", content, failed=True)


_PLAIN_ANSWERS = {
    "reset": "reset_result",
    "prepare_case": "prepare_case_ack",
    "trial_end": "trial_end_ack",
    "heartbeat": "heartbeat_ack",
}
_REPEATED = ("message_id", "evaluation_id", "action_case_id", "trial_id", "repeat_index", "step")


def _enveloped(
    asked: Mapping[str, Any],
    kind: str,
    payload: Mapping[str, Any],
    *,
    failed: bool = False,
    windows: int = 0,
) -> Reply:
    repeated = {name: asked.get(name) for name in _REPEATED}
    times = {"sent_at": datetime.now(UTC).isoformat()}
    message = {"message_type": kind, **repeated, **times, "payload": dict(payload)}
    return Reply(message=message, failed=failed, windows=windows)


def _whole(chunk: ActionChunk) -> np.ndarray:
    """Return the actions of a chunk; a server's answer has no place to mark padding.

    Raises:
        PolicyError: Some of them are padding.
    """
    if not chunk.valid.all():
        raise PolicyError("the policy answered with padding, which cannot be told from actions")
    return chunk.actions


def _map(message: Any) -> Mapping[str, Any]:
    if not isinstance(message, Mapping):
        raise PolicyError(f"a message holds a {type(message).__name__}, not a map")
    return cast("Mapping[str, Any]", message)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise PolicyError(f"a batch is a {type(value).__name__}, not a list")
    return cast("list[Any]", value)


def _seed(message: Mapping[str, Any]) -> int:
    seed = message.get(SEED, NO_SEED)
    if type(seed) is not int or seed < 0:
        raise PolicyError(f"{SEED!r} is {seed!r}, not a whole number of at least 0")
    return seed


def _timing(begun_s: float) -> dict[str, Any]:
    return {"server_timing": {"infer_ms": 1000 * (time.perf_counter() - begun_s)}}


def _line(error: EtudeError) -> str:
    return " ".join(f"{type(error).__name__}: {error}. {error.hint}".split())
