"""Finding out in seconds whether something answers at an address."""

import http.client
from urllib.parse import urlsplit

from etude.core.errors import PolicyUnavailable

PATH = "/healthz"


def probe(address: str, *, limit_s: float) -> None:
    """Return if a server answers at `address` in any way that HTTP knows.

    Not all policy servers have a page for it, but one that refuses the page is there, too.

    Args:
        address: Of the policy server, ws:// or wss://.
        limit_s: How long it may take.

    Raises:
        PolicyUnavailable: Nothing answers.
    """
    parts = urlsplit(address)
    kind = http.client.HTTPSConnection if parts.scheme == "wss" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=limit_s)
    try:
        connection.request("GET", PATH)
        connection.getresponse()
    except TimeoutError as error:
        raise too_slow(address, limit_s=limit_s) from error
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise unreachable(address, reason) from error
    finally:
        connection.close()


def too_slow(address: str, *, limit_s: float) -> PolicyUnavailable:
    """Return the error of something that takes connections and says nothing."""
    return PolicyUnavailable(
        f"{address} cannot be reached: no answer in {limit_s:g} s",
        hint="Start the policy server; if it is only busy, raise --policy.probe_s.",
    )


def unreachable(address: str, reason: str) -> PolicyUnavailable:
    """Return the error of a server that is not there."""
    return PolicyUnavailable(
        f"{address} cannot be reached: {reason}",
        hint="Start the policy server, or set --policy.address to where it runs.",
    )
