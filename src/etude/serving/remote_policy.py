"""The `remote` policy: asks a policy server, whatever dialect it speaks."""

import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float32

from etude.core.errors import PolicyError, PolicyUnavailable
from etude.core.protocols import Benchmark
from etude.core.task_table import tasks_from_json
from etude.core.types import ActionChunk, ContentKey, Observation, Task
from etude.serving.key_map import SEED, TASK, KeyMap
from etude.serving.messages import speech
from etude.serving.remote_config import API_KEY_VARIABLE, RemoteConfig
from etude.serving.session import Lost, Session
from etude.store.content import content_key

OURS = "etude"
"""Entry of the metadata that servers of Etude have: their version."""
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 8.0


class RemotePolicy:
    """A `Policy` behind a server. It connects when it must, and again when a connection breaks."""

    def __init__(
        self,
        config: RemoteConfig,
        *,
        action_dim: int = 0,
        api_key: str = "",
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """Speak to the server that `config` names.

        Args:
            action_dim: Numbers that an action must have; 0 takes those of the first answer.
            api_key: What the server wants to see.
            wait: Waits between two connections.
        """
        self.config = config
        self._map = KeyMap(config)
        self._action_dim = action_dim
        self._api_key = api_key
        self._wait = wait
        self._session: Session | None = None
        self._metadata: Mapping[str, Any] | None = None
        self._nonce = secrets.token_hex(16)

    @property
    def identity(self) -> str:
        """Name of the weights and settings behind the server; empty where nobody knows it."""
        if self.config.name:
            return f"name:{self.config.name}"
        said = self.metadata.get(self.config.identity_key)
        return f"server:{said}" if isinstance(said, str | int) and said != "" else ""

    @property
    def key(self) -> ContentKey:
        """Identity of what answers; another one for each object where nobody knows it."""
        if not self.identity:
            return content_key("remote-unnamed/1", self._nonce)
        config = self.config
        asked = [config.dialect, config.state_keys, config.cameras, config.prompt_key]
        answered = [config.action_keys, config.chw, config.robot, config.reset_each]
        played = [config.horizon, config.execute]
        return content_key("remote/1", self.identity, asked, answered, played)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What the server says of itself; it is asked once.

        Raises:
            PolicyError: There is no such server.
        """
        if self._metadata is None:
            self._keep(self._taken())
        return self._metadata or {}

    @property
    def execute(self) -> int:
        """How many actions of a chunk are to be played.

        Raises:
            PolicyError: Neither the settings nor the server say it.
        """
        said = self.config.execute or self._said("execute") or self._said("horizon")
        said = said or self.config.horizon
        if not said:
            raise PolicyError(
                f"{self.config.address} does not say how many actions of a chunk are to be played",
                hint="Say it: --policy.execute 8",
            )
        return said

    @property
    def horizon(self) -> int:
        """Number of actions in every chunk."""
        return max(self.config.horizon or self._said("horizon"), self.execute)

    @property
    def cameras(self) -> tuple[str, ...]:
        """Cameras whose images are sent."""
        return self._map.cameras

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Tasks that the policy was trained on, if the server is one of Etude's."""
        rows: Any = self.metadata.get("tasks")
        try:
            return tasks_from_json(rows) if OURS in self.metadata and rows else ()
        except (KeyError, TypeError, ValueError) as error:
            raise PolicyError(
                f"{self.config.address} does not say its tasks as Etude does: {error!r}",
                hint="Serve the policy by the same version of Etude.",
            ) from error

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        """Return one chunk for each observation; only servers of Etude are told the seed.

        Raises:
            PolicyUnavailable: The server does not answer.
            PolicyError: It reports a failure, or its answer is no chunk of finite actions.
        """
        if not observations:
            return []
        ours = OURS in self.metadata
        messages = [self._map.write(seen) for seen in observations]
        for message, seen in zip(messages, observations, strict=True):
            if ours:
                message |= {TASK: seen.task, SEED: seed}
        return [self._chunk(actions) for actions in self._ask(messages)]

    def close(self) -> None:
        """Leave the server; the next call connects again."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _ask(self, messages: Sequence[Mapping[str, Any]]) -> list[np.ndarray]:
        """Return the actions of each message, over as many connections as it takes."""
        found: dict[int, np.ndarray] = {}
        broken = 0
        while len(found) < len(messages):
            known = len(found)
            left = [place for place in range(len(messages)) if place not in found]
            # Whoever is left behind in a call that hangs keeps the connection to himself.
            session = self._taken()
            try:
                for places, answer in session.ask([messages[place] for place in left]):
                    actions = self._split(answer, places, batched=session.takes_batches)
                    found |= zip([left[place] for place in places], actions, strict=True)
            except Lost:
                session.close()
                broken = 0 if len(found) > known else broken + 1
                if broken > self.config.retries:
                    raise
                self._wait(min(FIRST_WAIT_S * 2 ** max(broken - 1, 0), LONGEST_WAIT_S))
            except PolicyError:
                session.close()
                raise
            else:
                self._keep(session)
        return [found[place] for place in range(len(messages))]

    def _taken(self) -> Session:
        """Return the open connection, which is nobody else's now, or a new one."""
        session, self._session = self._session, None
        turn = 0
        while session is None:
            talk = speech(self.config.dialect, robot=self.config.robot)
            try:
                session = Session(self.config, talk, api_key=self._api_key)
            except PolicyUnavailable:
                if turn == self.config.retries:
                    raise
                self._wait(min(FIRST_WAIT_S * 2**turn, LONGEST_WAIT_S))
                turn += 1
        self._recognise(session)
        return session

    def _keep(self, session: Session) -> None:
        """Leave a connection for the next call, unless another call has left one already."""
        if self._session is None:
            self._session = session
        else:
            session.close()

    def _recognise(self, session: Session) -> None:
        """Remember what the server says of itself, and refuse one that has become another."""
        before, key = self._metadata, self.config.identity_key
        self._metadata = session.metadata
        if before is not None and before.get(key) != session.metadata.get(key):
            session.close()
            raise PolicyError(
                f"{self.config.address} serves {session.metadata.get(key)!r} now, "
                f"and served {before.get(key)!r} before",
                hint="Run the command again once the server stays as it is.",
            )

    def _said(self, entry: str) -> int:
        """Return a count that the server says of itself, or 0."""
        value = self.metadata.get(entry)
        return value if type(value) is int and value > 0 else 0

    def _split(
        self, answer: Mapping[str, Any], places: range, *, batched: bool
    ) -> list[Float32[np.ndarray, "answered action"]]:
        """Return the actions for each observation that an answer is about."""
        try:
            actions = self._map.read_actions(answer)
        except PolicyError as error:
            raise PolicyError(f"{self.config.address}: {error}", hint=error.hint) from error
        if not batched:
            actions = actions[None]
        if actions.ndim != 3 or len(actions) != len(places):
            raise PolicyError(
                f"{self.config.address} answered {len(places)} observations with actions of shape "
                f"{actions.shape if batched else actions.shape[1:]}",
                hint="Let the server answer each observation with all actions of a chunk.",
            )
        self._check(actions)
        return list(actions)

    def _check(self, actions: Float32[np.ndarray, "batch answered action"]) -> None:
        _, answered, size = actions.shape
        address = self.config.address
        self._action_dim = self._action_dim or size
        if size != self._action_dim:
            raise PolicyError(
                f"{address} answered with actions of {size} numbers, not {self._action_dim}",
                hint="Serve the policy of this robot, or set --policy.action_keys.",
            )
        if answered < self.execute:
            raise PolicyError(
                f"{address} answered with {answered} actions, fewer than the {self.execute} to "
                "be played",
                hint=f"Set --policy.execute to {answered} or less.",
            )
        bad = np.argwhere(~np.isfinite(actions[:, : self.horizon]))
        if len(bad):
            row, step, dim = map(int, bad[0])
            raise PolicyError(
                f"{address} answered with {actions[row, step, dim]} for action {dim} of step "
                f"{step}",
                hint="Check the weights and the normaliser behind the server.",
            )

    def _chunk(self, actions: Float32[np.ndarray, "answered action"]) -> ActionChunk:
        """Return a chunk of the horizon; what the server left out repeats its last action."""
        places = np.arange(self.horizon)
        return ActionChunk(
            actions=actions[np.minimum(places, len(actions) - 1)],
            valid=places < len(actions),
        )


def build_remote_policy(
    config: RemoteConfig, *, benchmark: Benchmark | None = None
) -> RemotePolicy:
    """Return the policy behind a server, which is not asked before it must be.

    Args:
        benchmark: What the policy is to play, where it is to play.
    """
    return RemotePolicy(
        config,
        action_dim=benchmark.action_dim if benchmark else 0,
        api_key=os.environ.get(API_KEY_VARIABLE, ""),
    )
