"""What the launcher says about this process: which rank it is, of how many, and where to meet.

Source: environment variables of torchrun, https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from collections.abc import Mapping
from dataclasses import dataclass

from etude.core.errors import ConfigError

_HINT = (
    "Start the ranks with `torchrun --nproc-per-node N -m etude ...`, or unset RANK and WORLD_SIZE."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One process among those that the launcher started."""

    rank: int
    size: int
    local_rank: int
    """Place among the processes of this machine."""
    local_size: int
    """Number of processes on this machine."""
    address: str
    """Host of the store at which the ranks meet."""
    port: int
    hosts_store: bool
    """Whether this process must open the store, because the launcher has not."""
    attempt: int
    """How often the launcher has restarted the ranks, which meet at the same store again."""


def read_launch(environment: Mapping[str, str]) -> Launch | None:
    """Return what `environment` says, or None if no launcher set RANK or WORLD_SIZE.

    Without LOCAL_RANK and LOCAL_WORLD_SIZE all ranks count as processes of one machine.

    Raises:
        ConfigError: A variable is missing, is no number, or contradicts another.
    """
    if not {"RANK", "WORLD_SIZE"} & set(environment):
        return None
    rank, size = _number(environment, "RANK"), _number(environment, "WORLD_SIZE")
    _require_place("RANK", rank, "WORLD_SIZE", size)
    given = {
        "LOCAL_RANK": str(rank),
        "LOCAL_WORLD_SIZE": str(size),
        "TORCHELASTIC_RESTART_COUNT": "0",
        **environment,
    }
    local_rank, local_size = _number(given, "LOCAL_RANK"), _number(given, "LOCAL_WORLD_SIZE")
    _require_place("LOCAL_RANK", local_rank, "LOCAL_WORLD_SIZE", local_size)
    if local_size > size:
        raise ConfigError(f"LOCAL_WORLD_SIZE is {local_size}, over WORLD_SIZE ({size})", hint=_HINT)
    alone = size == 1
    return Launch(
        rank=rank,
        size=size,
        local_rank=local_rank,
        local_size=local_size,
        address="" if alone else _text(environment, "MASTER_ADDR"),
        port=0 if alone else _number(environment, "MASTER_PORT"),
        hosts_store=rank == 0 and environment.get("TORCHELASTIC_USE_AGENT_STORE") != "True",
        attempt=_number(given, "TORCHELASTIC_RESTART_COUNT"),
    )


def _require_place(name: str, place: int, count_name: str, count: int) -> None:
    if count < 1:
        raise ConfigError(f"{count_name} is {count}, not at least 1", hint=_HINT)
    if not 0 <= place < count:
        raise ConfigError(
            f"{name} is {place}, not between 0 and {count_name} - 1 ({count - 1})", hint=_HINT
        )


def _number(environment: Mapping[str, str], name: str) -> int:
    text = _text(environment, name)
    try:
        return int(text)
    except ValueError as error:
        raise ConfigError(f"{name} is {text!r}, not a whole number", hint=_HINT) from error


def _text(environment: Mapping[str, str], name: str) -> str:
    if not environment.get(name):
        known = ", ".join(
            f"{other} is {environment[other]}"
            for other in ("RANK", "WORLD_SIZE")
            if environment.get(other)
        )
        raise ConfigError(f"{known or 'RANK is empty'}, but {name} is not set", hint=_HINT)
    return environment[name]
