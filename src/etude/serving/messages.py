"""What a client says in each dialect, and what it makes of the answers.

The first two dialects send bare maps, answered in order: the server greets with its metadata, then
each observation gets a map of actions. XPolicyLab wraps every map into an envelope with a type and
an id, and the client speaks first.

Source: Physical-Intelligence/openpi, `src/openpi/serving/websocket_policy_server.py`; Robbyant/
lingbot-vla-v2, `deploy/lingbot_vla_v2_policy.py`; XPolicyLab, `client_server/ws/protocol`.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, cast, runtime_checkable

from etude.core.errors import PolicyError
from etude.serving.codecs import Style
from etude.serving.key_map import columns
from etude.serving.places import DialectName

BATCH = "batch"
"""Entry of the metadata, true where openpi's dialect takes LingBot's batches as well."""


@runtime_checkable
class Speech(Protocol):
    """One side of a conversation: that of a client."""

    style: Style
    greeted: bool
    """Whether the server speaks first."""

    def hello(self) -> dict[str, Any]:
        """Return the first message, where the server does not speak first."""
        ...

    def metadata(self, message: Any) -> Mapping[str, Any]:
        """Return what the server says of itself.

        Raises:
            PolicyError: The message is nothing of the kind.
        """
        ...

    def reset(self) -> dict[str, Any] | None:
        """Return what makes the server forget earlier observations, if there is such a message."""
        ...

    def takes_batches(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether one message may hold several observations."""
        ...

    def infer(self, observations: Sequence[Mapping[str, Any]], *, batched: bool) -> dict[str, Any]:
        """Return the message that asks for actions."""
        ...

    def number(self, message: Mapping[str, Any]) -> str:
        """Return which question an answer belongs to; "" is the oldest one without an answer."""
        ...

    def answer(self, message: Any) -> Mapping[str, Any]:
        """Return the map in which the actions stand.

        Raises:
            PolicyError: The server reports a failure, or the message is no map.
        """
        ...

    def confirm(self, message: Any) -> None:
        """Take the answer to a reset.

        Raises:
            PolicyError: The server reports a failure.
        """
        ...


@dataclass(slots=True, kw_only=True)
class BareSpeech:
    """Openpi's dialect and LingBot's: maps without an envelope."""

    resets: bool
    """Whether the server is reset, as LingBot's must be before it answers."""
    batches: bool
    robot: str
    style: Style = "openpi"
    greeted: bool = True

    def hello(self) -> dict[str, Any]:
        """Return nothing: the server speaks first."""
        return {}

    def metadata(self, message: Any) -> Mapping[str, Any]:
        """Return the greeting, which is a map."""
        return _map(message, "greeted with")

    def reset(self) -> dict[str, Any] | None:
        """Return LingBot's reset."""
        return {"reset": True, "robo_name": self.robot} if self.resets else None

    def takes_batches(self, metadata: Mapping[str, Any]) -> bool:
        """Return whether the dialect has batches, or this server says that it takes them."""
        return self.batches or metadata.get(BATCH) is True

    def infer(self, observations: Sequence[Mapping[str, Any]], *, batched: bool) -> dict[str, Any]:
        """Return LingBot's batch, or the only observation."""
        return {"batch": list(observations)} if batched else dict(observations[0])

    def number(self, message: Mapping[str, Any]) -> str:
        """Return that answers come in order."""
        del message
        return ""

    def answer(self, message: Any) -> Mapping[str, Any]:
        """Return the answer, which is a map."""
        return _map(message, "answered with")

    def confirm(self, message: Any) -> None:
        """Take a map, whatever it holds."""
        _map(message, "answered with")


@dataclass(slots=True, kw_only=True)
class EnvelopeSpeech:
    """XPolicyLab's dialect: envelopes with a type and an id."""

    evaluation: str = field(default_factory=lambda: f"etude-{uuid.uuid4().hex[:12]}")
    style: Style = "msgpack_numpy"
    greeted: bool = False

    def hello(self) -> dict[str, Any]:
        """Return the first message."""
        return self._envelope("hello", {})

    def metadata(self, message: Any) -> Mapping[str, Any]:
        """Return what the server says of itself in its answer to `hello`."""
        return self._payload(message, "hello_ack")

    def reset(self) -> dict[str, Any] | None:
        """Return what begins a trial."""
        return self._envelope("reset", {"trial_id": self.evaluation})

    def takes_batches(self, metadata: Mapping[str, Any]) -> bool:
        """Return that a message holds one observation."""
        del metadata
        return False

    def infer(self, observations: Sequence[Mapping[str, Any]], *, batched: bool) -> dict[str, Any]:
        """Return an envelope around the only observation."""
        del batched
        return self._envelope("infer", {"observation": dict(observations[0])})

    def number(self, message: Mapping[str, Any]) -> str:
        """Return the id that question and answer share."""
        return str(message.get("message_id", ""))

    def answer(self, message: Any) -> Mapping[str, Any]:
        """Return the payload, with the parts of a chunk that was sent step by step."""
        payload = dict(self._payload(message, "infer_result"))
        actions = payload.get("actions")
        if isinstance(actions, list):
            actions = columns(cast("list[Any]", actions))
        if isinstance(actions, dict):
            return {**payload, **cast("dict[str, Any]", actions)}
        return {**payload, "actions": actions}

    def confirm(self, message: Any) -> None:
        """Take the answer of its own type."""
        self._payload(message, "reset_result")

    def _envelope(self, kind: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "message_type": kind,
            "message_id": str(uuid.uuid4()),
            "evaluation_id": self.evaluation,
            "action_case_id": None,
            "trial_id": self.evaluation,
            "repeat_index": None,
            "step": 0,
            "sent_at": datetime.now(UTC).isoformat(),
            "payload": dict(payload),
        }

    def _payload(self, message: Any, wanted: str) -> Mapping[str, Any]:
        envelope = _map(message, "answered with")
        kind, payload = envelope.get("message_type"), envelope.get("payload")
        content: Mapping[str, Any] = {}
        if isinstance(payload, Mapping):
            content = cast("Mapping[str, Any]", payload)
        if kind == "error":
            raise PolicyError(
                f"failed ({content.get('code', 'no code')}): "
                f"{content.get('message', 'without a message')}",
                hint="Read the log of the server.",
            )
        if kind != wanted:
            raise PolicyError(
                f"answered with a message of type {kind!r}, not {wanted!r}",
                hint="Set policy.dialect to what the server speaks.",
            )
        return content


def speech(dialect: DialectName, *, robot: str) -> Speech:
    """Return a client's side of a conversation in `dialect`."""
    if dialect == "xpolicylab":
        return EnvelopeSpeech()
    lingbot = dialect == "lingbot"
    return BareSpeech(resets=lingbot, batches=lingbot, robot=robot)


def _map(message: Any, verb: str) -> Mapping[str, Any]:
    if not isinstance(message, Mapping):
        raise PolicyError(
            f"{verb} a {type(message).__name__}, not a map",
            hint="Set policy.address and policy.dialect to those of a policy server.",
        )
    return cast("Mapping[str, Any]", message)
