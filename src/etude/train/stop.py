"""Stopping on a signal: the first asks, the second insists."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether somebody has asked the run to stop."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None

    @property
    def asked(self) -> bool:
        """True once a signal has come."""
        return self.signal is not None

    def ask(self, which: signal.Signals) -> None:
        """Ask as a signal would."""
        self.signal = which


@contextmanager
def stop_on_signals() -> Generator[StopRequest, None, None]:
    """Turn the first SIGTERM or SIGINT into a request; a second one acts at once."""
    request = StopRequest()
    watched = (signal.SIGTERM, signal.SIGINT)
    before = {which: signal.getsignal(which) for which in watched}

    def on_signal(number: int, frame: FrameType | None) -> None:
        del frame
        request.ask(signal.Signals(number))
        for which in watched:
            signal.signal(which, signal.SIG_DFL)

    for which in watched:
        signal.signal(which, on_signal)
    try:
        yield request
    finally:
        for which, handler in before.items():
            signal.signal(which, handler)
