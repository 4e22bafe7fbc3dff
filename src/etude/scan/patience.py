"""Asking what may not answer: a limit on each call, and a few more tries."""

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from typing import TypeVar

from etude.core.errors import PolicyUnavailable

T = TypeVar("T")

FIRST_WAIT_S = 1.0
"""Before the first further try; each next wait is twice as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for a policy, and how often to ask again."""

    retries: int
    """Further tries after the first."""
    limit_s: float
    """Longest time of one call; 0 is no limit."""
    wait: Callable[[float], None] = time.sleep

    def ask(self, call: Callable[[], T]) -> T:
        """Return what `call` returns, which is tried again only if the policy did not answer.

        Raises:
            PolicyUnavailable: It did not answer, in no try.
        """
        for turn in range(self.retries):
            try:
                return self._once(call)
            except PolicyUnavailable:
                self.wait(FIRST_WAIT_S * 2**turn)
        return self._once(call)

    def _once(self, call: Callable[[], T]) -> T:
        if not self.limit_s:
            return call()
        # A call that hangs cannot be stopped; it is left behind in a thread that holds up nothing.
        pool = ThreadPool(1)
        try:
            return pool.apply_async(call).get(self.limit_s)
        except multiprocessing.TimeoutError as error:
            raise PolicyUnavailable(
                f"the policy did not answer in {self.limit_s:g} s",
                hint="Check that it runs, raise scan.call_limit_s, or lower scan.batch_size.",
            ) from error
        finally:
            pool.close()
