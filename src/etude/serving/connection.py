"""Opening a connection to a policy server, and saying what went wrong with it."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidMessage,
    InvalidStatus,
)
from websockets.frames import CloseCode
from websockets.sync.client import ClientConnection, connect

from etude.core.errors import PolicyError, PolicyUnavailable
from etude.serving.probe import probe, too_slow, unreachable
from etude.serving.remote_config import API_KEY_VARIABLE, RemoteConfig

CLOSE_S = 1.0
"""How long a server may take to say goodbye."""
SHOWN = 300
"""Most characters of a server's own words that are repeated."""


class Lost(PolicyUnavailable):
    """The connection broke; a new one may do better."""


@contextmanager
def open_connection(
    config: RemoteConfig, *, api_key: str
) -> Generator[ClientConnection, None, None]:
    """Lend a connection to the server that `config` names.

    Raises:
        PolicyUnavailable: Nothing answers.
        PolicyError: What answers is no policy server, or refuses the key.
    """
    probe(config.address, limit_s=config.probe_s)
    with ExitStack() as stack:
        with _refusals_translated(config):
            connection = stack.enter_context(
                connect(
                    config.address,
                    additional_headers={"Authorization": f"Api-Key {api_key}"} if api_key else None,
                    compression=None,
                    # Robots stand in the local network, where a proxy leads nowhere.
                    proxy=None,
                    open_timeout=config.probe_s,
                    ping_interval=None,
                    close_timeout=CLOSE_S,
                    max_size=config.max_message_bytes,
                )
            )
        yield connection


@contextmanager
def _refusals_translated(config: RemoteConfig) -> Generator[None, None, None]:
    try:
        yield
    except InvalidStatus as error:
        code = error.response.status_code
        raise _refused(config.address, code) from error
    except TimeoutError as error:
        raise too_slow(config.address, limit_s=config.probe_s) from error
    except (InvalidHandshake, InvalidMessage) as error:
        raise PolicyError(
            f"{config.address} is no policy server: {error}",
            hint="Set --policy.address to a policy server.",
        ) from error
    except OSError as error:
        raise unreachable(config.address, error.strerror or str(error)) from error


def _refused(address: str, code: int) -> PolicyError:
    if code in (401, 403):
        return PolicyError(
            f"{address} refuses this client (HTTP {code})",
            hint=f"Set the environment variable {API_KEY_VARIABLE} to the key of the server.",
        )
    kind = PolicyUnavailable if code >= 500 else PolicyError
    return kind(
        f"{address} answers HTTP {code}, not as a policy server",
        hint="Set --policy.address to a policy server.",
    )


@contextmanager
def translated(config: RemoteConfig) -> Generator[None, None, None]:
    """Say of every failure which server it is about, and turn broken connections into `Lost`."""
    try:
        yield
    except ConnectionClosed as error:
        raise _closed(error, config) from error
    except PolicyError as error:
        text = f"{config.address} {error}"
        raise type(error)(text, hint=error.hint) from error


def _closed(error: ConnectionClosed, config: RemoteConfig) -> PolicyError:
    if error.sent is not None and error.sent.code == CloseCode.MESSAGE_TOO_BIG:
        return PolicyError(
            f"{config.address} sent a message over {config.max_message_mb} MB",
            hint="Lower --scan.batch_size, or raise --policy.max_message_mb.",
        )
    if error.rcvd is None:
        return Lost(
            f"{config.address} broke the connection off",
            hint="Look at the log of the server, and start it again if it is gone.",
        )
    code, reason = error.rcvd.code, error.rcvd.reason[:SHOWN] or "no reason given"
    if code == CloseCode.MESSAGE_TOO_BIG:
        return PolicyError(
            f"{config.address} takes no message of this size: {reason}",
            hint="Lower --scan.batch_size, send fewer cameras, or raise the limit of the server.",
        )
    return Lost(
        f"{config.address} closed the connection with code {code}: {reason}",
        hint="Read the log of the server."
        if code != CloseCode.INTERNAL_ERROR
        else "Read the log of the server; if it closes while it compiles, turn its pings off.",
    )
