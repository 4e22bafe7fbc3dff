"""Starting processes that share a machine."""

import os
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def one_thread_each() -> Generator[None, None, None]:
    """Let processes that start here use one thread each for linear algebra."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before
