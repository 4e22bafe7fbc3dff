"""Real processes that are the ranks of a run, forked from one that has torch, and how they end."""

import faulthandler
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from etude.core.kill_points import VARIABLE

LIMIT_S = 120
"""How long a run may take."""
GRACE_S = 60
"""How long other ranks may outlive one that failed; they wait for it less long."""


class RankRuns:
    """Starts runs, one after another; every rank of a run is a process of its own."""

    def __init__(self, origin: "subprocess.Popen[str]") -> None:
        self._origin = origin

    def train(
        self,
        folder: Path,
        ranks: int,
        *,
        variables: Mapping[int, Mapping[str, str]] | None = None,
        limit_s: float = LIMIT_S,
        **options: Any,
    ) -> list[int]:
        """Begin or continue the run in `folder`, and return how each rank ended.

        Args:
            folder: Of the run.
            ranks: How many processes.
            variables: Environment variables of single ranks.
            limit_s: How long it may take.
            **options: Of the program.

        Raises:
            AssertionError: A rank did not end in time, and was killed.
        """
        asked = [str(folder), ranks, free_port(), variables or {}, limit_s, options]
        print(json.dumps(asked), file=self._origin.stdin, flush=True)
        assert self._origin.stdout is not None
        ended = json.loads(self._origin.stdout.readline())
        assert not ended["stuck"], stories(folder, ended)
        return ended["codes"]

    def killed(self, folder: Path, ranks: int, *, rank: int, at: str, **options: Any) -> list[int]:
        """Do what `train` does while one rank dies at a named point."""
        return self.train(folder, ranks, variables={rank: {VARIABLE: at}}, **options)


@contextmanager
def ranks_of(script: Path) -> Generator[RankRuns, None, None]:
    """Start the process from which ranks are forked; run as a script, the file must `serve`."""
    with subprocess.Popen(
        [sys.executable, script],
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as origin:
        yield RankRuns(origin)


def stories(folder: Path, ended: Mapping[str, Any]) -> str:
    """What the ranks of a run have said, of those that were stuck also where they stood."""
    said = [
        f"rank {rank} ended with {code}:\n{stderr_of(folder, rank).read_text()}"
        for rank, code in enumerate(ended["codes"])
    ]
    return "\n".join([f"killed, because they did not end in time: {ended['stuck']}", *said])


def stderr_of(folder: Path, rank: int) -> Path:
    return folder / f"stderr-{rank}.txt"


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def serve(program: Callable[..., None]) -> None:
    """Fork the ranks of one run for each line of the input; each calls `program`."""
    for line in sys.stdin:
        folder, ranks, port, variables, limit_s, options = json.loads(line)
        Path(folder).mkdir(parents=True, exist_ok=True)
        place = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        children = [
            _fork(program, Path(folder), {**place, "RANK": str(r), **others}, options)
            for r in range(ranks)
            for others in [variables.get(str(r), {})]
        ]
        sys.stdout.write(f"{json.dumps(_ends(children, limit_s))}\n")
        sys.stdout.flush()


def _fork(
    program: Callable[..., None],
    folder: Path,
    environment: Mapping[str, str],
    options: Mapping[str, Any],
) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    with stderr_of(folder, int(environment["RANK"])).open("w") as stderr:
        os.dup2(stderr.fileno(), 2)
    faulthandler.enable()
    try:
        os.environ.update(environment)
        program(folder, **options)
        code = 0
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        os._exit(code)


def _ends(children: Sequence[int], limit_s: float) -> dict[str, list[int]]:
    """Return how all ranks ended, and which of them had to be killed for that."""
    codes: dict[int, int] = {}
    handles = {os.pidfd_open(child): rank for rank, child in enumerate(children)}
    limit = time.monotonic() + limit_s
    while handles and (left := limit - time.monotonic()) > 0:
        for handle in select.select(list(handles), [], [], left)[0]:
            rank = handles.pop(handle)
            os.close(handle)
            codes[rank] = _code(children[rank])
            if codes[rank] != 0:
                limit = min(limit, time.monotonic() + GRACE_S)
    stuck = sorted(handles.values())
    for handle, rank in handles.items():
        # The handler of this signal writes where every thread stands.
        signal.pidfd_send_signal(handle, signal.SIGABRT)
        os.close(handle)
        codes[rank] = _code(children[rank])
    return {"codes": [codes[rank] for rank in range(len(children))], "stuck": stuck}


def _code(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
