"""Settings of the `remote` policy: one behind a policy server."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from etude.core.errors import ConfigError
from etude.core.limits import require_at_least, require_between, require_over
from etude.core.plugins import Plugin
from etude.serving.wire_config import WireConfig

API_KEY_VARIABLE = "ETUDE_API_KEY"
"""Environment variable that holds the server's API key, so that it stands in no recipe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteConfig(WireConfig):
    """Where the server is, what it speaks, and how long it may take.

    If it wants an API key, set the environment variable ETUDE_API_KEY.
    """

    address: str = "ws://127.0.0.1:8000"
    """The server: ws://HOST:PORT, or wss:// for an encrypted connection."""
    name: str = ""
    """Name of the weights behind the server, for servers that do not say who they are. Results of
    scans are kept under it: change it with the weights. Empty takes what the server says."""
    identity_key: str = "policy_id"
    """Entry of the server's metadata that identifies its weights and settings."""
    execute: int = 0
    """Actions of a chunk that are played before the next call; 0 takes what the server says."""
    horizon: int = 0
    """Actions of an answer that are used; 0 takes what the server says, else `execute`."""
    robot: str = "robotwin"
    """LingBot only: the robot whose configuration the server loads when it is reset."""
    reset_each: bool = False
    """Reset the server before every message, for servers that remember earlier observations."""
    in_flight: int = 4
    """Messages that may wait for their answers at once, where a message holds one observation."""
    probe_s: float = 2.0
    """How long the server may take to show that it is there."""
    first_answer_s: float = 600.0
    """How long the first answer of a connection may take; many servers compile for it."""
    answer_s: float = 30.0
    """How long each further answer may take."""
    retries: int = 3
    """How often a lost connection is made anew, after 0.5 s, 1 s, 2 s and so on, until one answer
    more has come."""
    ping_s: float = 0.0
    """Time between two pings while an answer is awaited, the first one excepted; 0 sends none,
    since many servers answer no ping while they compute."""

    def __post_init__(self) -> None:
        WireConfig.__post_init__(self)
        _require_address(self.address)
        require_at_least("execute", self.execute, 0)
        require_at_least("horizon", self.horizon, 0)
        require_between("in_flight", self.in_flight, 1, 16)
        require_over("probe_s", self.probe_s, 0)
        require_over("first_answer_s", self.first_answer_s, 0)
        require_over("answer_s", self.answer_s, 0)
        require_at_least("retries", self.retries, 0)
        require_at_least("ping_s", self.ping_s, 0)
        if 0 < self.horizon < self.execute:
            raise ConfigError(
                f"execute is {self.execute}, over horizon ({self.horizon})",
                hint="Play at most as many actions as are used.",
            )
        if self.reset_each and self.dialect == "openpi":
            raise ConfigError(
                "reset_each is true, but dialect openpi has no message for a reset",
                hint="Leave reset_each out, or set the dialect that the server speaks.",
            )


def _require_address(address: str) -> None:
    hint = "Write it like ws://127.0.0.1:8000."
    try:
        parts = urlsplit(address)
        named = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigError(f"address is {address!r}: {error}", hint=hint) from error
    if parts.scheme not in ("ws", "wss") or not named[0]:
        raise ConfigError(f"address is {address!r}, not ws://HOST:PORT", hint=hint)
    if parts.username or parts.password:
        raise ConfigError(
            "address holds a user name or a password",
            hint=f"Give the server's key by the variable {API_KEY_VARIABLE}.",
        )


PLUGIN = Plugin(config=RemoteConfig, build="etude.serving.remote_policy:build_remote_policy")
