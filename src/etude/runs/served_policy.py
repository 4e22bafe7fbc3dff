"""The policy behind a server, as scans meet it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from etude.core.errors import PolicyError
from etude.core.protocols import Policy, Ranks
from etude.core.ranks import together
from etude.core.types import ContentKey
from etude.runs.build import remote_policy
from etude.runs.run_config import RunConfig
from etude.serving.remote_policy import RemotePolicy
from etude.store.content import content_key


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServedPolicy:
    """What a server says of the policy behind it."""

    use: str
    weights: ContentKey
    """Identity of what answers; made up for this command where nobody knows it."""
    step: int
    """Steps that it was trained for, or 0 where the server does not say it."""
    described: dict[str, Any]
    """Nothing: the identity covers everything that results depend on."""
    named: bool
    """Whether results can be kept, since the identity holds beyond this command."""
    policy: RemotePolicy

    @property
    def played_actions(self) -> int:
        """How many actions of a chunk are played.

        Raises:
            PolicyError: Neither the settings nor the server say it.
        """
        return self.policy.execute

    @property
    def cameras(self) -> tuple[str, ...]:
        """Cameras whose pictures are sent to the server."""
        return self.policy.cameras

    def load(self) -> Policy:
        """Return the policy."""
        return self.policy


def read_served_policy(config: RunConfig, ranks: Ranks) -> ServedPolicy:
    """Ask the server who it is, unless the settings say it; every rank calls this.

    Raises:
        PolicyUnavailable: The server does not answer.
        PolicyError: It is no policy server, or is not the same for all ranks.
    """
    policy = remote_policy(config)
    found = together(ranks, lambda: (policy.key, policy.identity))
    names = list(dict.fromkeys(name for _, name in found))
    if len(names) > 1:
        raise PolicyError(
            f"{config.policy.config.address} serves {len(names)} policies to {ranks.size} ranks: "
            f"{', '.join(name or 'one without a name' for name in names)}",
            hint="Let all ranks reach one server, or servers of the same weights.",
        )
    said = policy.metadata.get("step") if not config.policy.config.name else None
    return ServedPolicy(
        use=config.policy.use,
        weights=found[0][0],
        step=said if type(said) is int and said > 0 else 0,
        described={},
        named=bool(names[0]),
        policy=policy,
    )


def unnamed_warning(config: RunConfig) -> str:
    """Return what is said where nobody knows whose results a scan finds."""
    return (
        f"{config.policy.config.address} does not say which weights it serves, so no result is "
        "kept; name them, and change the name with them: --policy.name NAME"
    )


class PassingResults:
    """A `ScanCache` that ends with the scan, for policies that nobody can tell apart."""

    def __init__(self) -> None:
        self._known: dict[ContentKey, dict[str, object]] = {}

    def key(self, *, episode: ContentKey, draw: Mapping[str, object]) -> ContentKey:
        """Return the key of one window."""
        return content_key("passing-entry/1", episode, draw)

    def get(self, key: ContentKey) -> dict[str, object] | None:
        """Return the result that this scan has found, or None."""
        found = self._known.get(key)
        return None if found is None else dict(found)

    def put(self, key: ContentKey, result: dict[str, object]) -> None:
        """Remember `result` until the scan ends."""
        self._known[key] = dict(result)
