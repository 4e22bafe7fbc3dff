"""How programs end: what they said is kept, and no thread of a process group spoils it."""

import os
import subprocess
import sys

import pytest
import torch
from torch import nn

from etude.compute.ending import end_after
from etude.compute.strategy import Strategy
from etude.compute.strategy_config import ParallelConfig
from etude.compute.world import join
from etude.compute.world_config import WorldConfig

LIMIT_S = 120
PROGRAM = """
import atexit
import sys
import threading
from etude.compute.ending import end_after

class Torn:
    def __del__(self):
        print("torn apart", flush=True)

torn = Torn()
torn.itself = torn

def outlast():
    threading.main_thread().join()
    print("thread")

def program():
    atexit.register(print, "at exit")
    threading.Thread(target=outlast).start()
    {body}

sys.exit(end_after(program))
"""


def ended(body: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(body=body)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )


def test_a_program_ends_with_its_code_after_threads_and_exit_functions():
    done = ended("return 75")

    assert done.returncode == 75
    assert done.stdout == "thread\nat exit\n"
    assert done.stderr == ""


def test_a_bug_keeps_its_traceback_and_fails_the_program():
    done = ended("raise ValueError('no such thing')")

    assert done.returncode == 1
    assert done.stdout == "thread\nat exit\n"
    assert done.stderr.endswith("ValueError: no such thing\n")


def train_and_leave(strategy: str, times: int) -> int:
    """Lay a module out, use it once and let go of it, again and again; every time in a new group.

    The interpreter is not taken from a thread that runs, so that a thread of a group comes late.
    """
    sys.setswitchinterval(100)
    for attempt in range(times):
        environment = {**os.environ, "TORCHELASTIC_RESTART_COUNT": str(attempt)}
        with join(WorldConfig(), environment) as ranks:
            module = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 1))
            laid_out = Strategy(module, ranks, ParallelConfig(strategy=strategy))
            laid_out.refresh()
            with laid_out.backward(last=True):
                laid_out.losses(torch.ones(4, 8)).sum().backward()
        if attempt < times - 1:
            del laid_out, module
    return 0


@pytest.mark.slow
@pytest.mark.parametrize(("strategy", "times"), [("ddp", 60), ("fsdp2", 3)])
def test_ranks_that_have_trained_together_end_without_an_abort_or_a_hang(strategy: str, times: int):
    launcher = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2"]

    done = subprocess.run(
        [sys.executable, "-m", *launcher, __file__, strategy, str(times)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )

    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    sys.exit(end_after(lambda: train_and_leave(sys.argv[1], int(sys.argv[2]))))
