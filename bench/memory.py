"""Peak memory of a program and everything it starts."""

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path


class PeakMemory:
    """Watches a process tree while it runs; shared pages count once (proportional set size)."""

    def __init__(self, process: subprocess.Popen[bytes], *, every_s: float = 0.5) -> None:
        self._process = process
        self._every_s = every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        self.peak_bytes = 0

    def stop(self) -> int:
        """Stop watching and return the peak in bytes."""
        self._ended.set()
        self._thread.join()
        return self.peak_bytes

    def _watch(self) -> None:
        while not self._ended.wait(self._every_s):
            now = sum(_pss_bytes(pid) for pid in _tree(self._process.pid))
            self.peak_bytes = max(self.peak_bytes, now)


def _tree(root: int) -> Iterator[int]:
    yield root
    try:
        text = Path(f"/proc/{root}/task/{root}/children").read_text(encoding="utf-8")
    except OSError:
        return
    for child in text.split():
        yield from _tree(int(child))


def _pss_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)
