import os
import signal
import subprocess
import sys

from etude.train.stop import stop_on_signals


def test_a_signal_asks_and_the_old_handlers_come_back():
    before = signal.getsignal(signal.SIGTERM)

    with stop_on_signals() as stop:
        assert not stop.asked
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.signal is signal.SIGTERM

    assert signal.getsignal(signal.SIGTERM) is before


def test_a_second_signal_ends_the_process_at_once():
    script = """
import os, signal
from etude.train.stop import stop_on_signals
with stop_on_signals():
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)
    print("still here")
"""

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)

    assert done.returncode == -signal.SIGTERM
    assert b"still here" not in done.stdout
