"""Settings of a policy server."""

from dataclasses import dataclass

from etude.core.errors import ConfigError
from etude.core.limits import require_between
from etude.serving.wire_config import WireConfig

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeConfig(WireConfig):
    """Where a server listens, what it speaks, and whom it answers."""

    host: str = "127.0.0.1"
    """Address to listen at; 127.0.0.1 is reached from this machine only."""
    port: int = 8000
    """0 takes a free one."""
    api_key: str = ""
    """Clients must send `Authorization: Api-Key <key>`; empty asks for none."""

    def __post_init__(self) -> None:
        WireConfig.__post_init__(self)
        require_between("port", self.port, 0, 65535)
        if not self.host:
            raise ConfigError("host is empty", hint="Write --host 127.0.0.1.")
        named = [dim for part in self.state_parts for dim in part.dims or ()]
        missing = sorted(set(range(max(named, default=0))) - set(named)) if named else []
        if missing:
            raise ConfigError(
                f"state_keys leaves out dimension {missing[0]} of the state",
                hint="Name every dimension: a policy needs the whole state.",
            )

    @property
    def is_open(self) -> bool:
        """Whether anybody on the network may ask."""
        return self.host not in LOOPBACK and not self.api_key
