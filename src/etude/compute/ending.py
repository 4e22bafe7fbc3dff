"""How a program that was a rank ends: at once, before the interpreter takes itself apart.

A thread of a process group may hold the tensors of its last exchange a little longer than everybody
else. If it lets go of them while the interpreter is being taken apart, the process aborts, and the
launcher reports a failure although all work is done.

Source: https://github.com/pytorch/pytorch/issues/190489
"""

import atexit
import os
import sys
from collections.abc import Callable


def end_after(program: Callable[[], int]) -> int:
    """Run a whole program and return its exit code, with which the process is going to end.

    Threads are waited for and functions of `atexit` are called as ever; only what the interpreter
    does after them is left out. An exception is the program's failure.
    """
    # Until the program has said its own, that of a bug.
    codes = [1]
    # What is registered first is called last.
    atexit.register(lambda: _end(codes[-1]))
    codes.append(program())
    return codes[-1]


def _end(code: int) -> None:
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
