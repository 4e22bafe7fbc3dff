import os
import subprocess
import sys

PROGRAM = """
from etude.core.kill_points import kill_point
for passage in range(1, 4):
    print(passage, flush=True)
    kill_point("save.renamed")
print("alive", flush=True)
"""


def run(**variables: str) -> tuple[int, list[str]]:
    """Run three passages in a process of their own."""
    environment = {k: v for k, v in os.environ.items() if k != "ETUDE_KILL_AT"} | variables
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    return done.returncode, done.stdout.split()


def test_the_process_dies_by_kill_9_at_the_first_passage():
    assert run(ETUDE_KILL_AT="save.renamed") == (-9, ["1"])


def test_a_number_asks_for_a_later_passage():
    assert run(ETUDE_KILL_AT="save.renamed:3") == (-9, ["1", "2", "3"])


def test_another_point_or_none_lets_the_process_live():
    assert run(ETUDE_KILL_AT="save.rename") == (0, ["1", "2", "3", "alive"])
    assert run() == (0, ["1", "2", "3", "alive"])
