"""Named places at which a test can kill the process, as a power cut or an OOM kill would.

`ETUDE_KILL_AT=save.files_written` kills at the first passage, `ETUDE_KILL_AT=demos.task_done:3` at
the third. Unset, a passage costs one dictionary look-up.
"""

import os
import signal

VARIABLE = "ETUDE_KILL_AT"

_passages: dict[str, int] = {}


def kill_point(name: str) -> None:
    """Die here by SIGKILL if the environment asks for it."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    point, _, passage = wanted.partition(":")
    if point != name:
        return
    _passages[name] = _passages.get(name, 0) + 1
    if _passages[name] == int(passage or 1):
        os.kill(os.getpid(), signal.SIGKILL)
