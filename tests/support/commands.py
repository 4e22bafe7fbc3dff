"""`etude` as users start it, but forked from a process in which torch is loaded already.

Loading it takes seconds, far longer than most commands. A command has a process, a folder and an
environment of its own, can be killed at named points, and ends as any program does.
"""

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended."""

    returncode: int
    """Negative for the signal that killed it."""
    stdout: str
    stderr: str


def etude(
    folder: Path, *words: str, ranks: int = 1, variables: Mapping[str, str] | None = None
) -> Done:
    """Run a command in `folder`, with variables beside those of the environment.

    Several ranks are started by torch's launcher, and load torch themselves.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **(variables or {})}
    if ranks == 1:
        return _forked(folder, words, environment)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc-per-node", str(ranks), "-m", "etude", *words),
        ],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(returncode=done.returncode, stdout=done.stdout, stderr=done.stderr)


def _forked(folder: Path, words: Sequence[str], environment: Mapping[str, str]) -> Done:
    origin = _origin()
    assert origin.stdin is not None
    assert origin.stdout is not None
    with TemporaryDirectory() as said:
        asked: dict[str, Any] = {
            "folder": str(folder),
            "words": words,
            "variables": environment,
            "said": said,
        }
        print(json.dumps(asked), file=origin.stdin, flush=True)
        code = int(origin.stdout.readline())
        out, err = (Path(said, name).read_text() for name in ("stdout", "stderr"))
    return Done(returncode=code, stdout=out, stderr=err)


@cache
def _origin() -> "subprocess.Popen[str]":
    """Start the process from which commands are forked; it lives as long as this one."""
    origin = subprocess.Popen(
        [sys.executable, __file__],
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert origin.stdin is not None
    atexit.register(origin.wait)
    atexit.register(origin.stdin.close)
    return origin


def _serve() -> None:
    """Fork a process for each line of the input, and answer with how it ended."""
    answers = os.fdopen(os.dup(1), "w")
    for line in iter(sys.stdin.readline, ""):
        child = os.fork()
        if not child:
            _become(**json.loads(line))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(code, file=answers, flush=True)


def _become(folder: str, words: list[str], variables: Mapping[str, str], said: str) -> None:
    """Be the command; returns by SystemExit, so that the interpreter ends as it always does."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for handle, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(Path(said, name), os.O_WRONLY | os.O_CREAT), handle)
    sys.argv[:] = ["etude", *words]
    sys.exit(main())


if __name__ == "__main__":
    import etude.runs.life  # noqa: F401  loaded before the first command is there
    from etude.cli.main import main

    _serve()
