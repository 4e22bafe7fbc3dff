"""Progress is a few plain lines in a log and bars on a terminal."""

import os
from pathlib import Path

from etude.cli.console import PlainProgress, progress
from etude.core.protocols import Progress


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_log_gets_a_line_at_the_start_every_30_s_and_at_the_end(tmp_path: Path) -> None:
    path, clock = tmp_path / "log", Clock()

    with path.open("w", encoding="utf-8") as log:
        report = PlainProgress("en", log, clock=clock)
        for done in range(101):
            clock.now = float(done)
            report("train", done, 100, "loss 0.5")
        report("train", 100, 100)

    assert path.read_text(encoding="utf-8").splitlines() == [
        "train started: 100 to do",
        "train 30/100 (30 %), 30 s gone, about 1 min 10 s left  loss 0.5",
        "train 60/100 (60 %), 1 min 0 s gone, about 40 s left  loss 0.5",
        "train 90/100 (90 %), 1 min 30 s gone, about 10 s left  loss 0.5",
        "train finished: 100 in 1 min 40 s  loss 0.5",
    ]


def test_what_an_earlier_attempt_did_does_not_shorten_the_estimate(tmp_path: Path) -> None:
    path, clock = tmp_path / "log", Clock()

    with path.open("w", encoding="utf-8") as log:
        report = PlainProgress("en", log, clock=clock)
        report("train", 900, 1000)
        clock.now = 50.0
        report("train", 950, 1000)

    last = path.read_text(encoding="utf-8").splitlines()[-1]
    assert last == "train 950/1,000 (95 %), 50 s gone, about 50 s left"


def test_a_phase_without_work_starts_and_ends(tmp_path: Path) -> None:
    path = tmp_path / "log"

    with path.open("w", encoding="utf-8") as log:
        PlainProgress("zh", log, clock=Clock())("demos", 0, 0)

    told = path.read_text(encoding="utf-8")
    assert told == "demos 开始: 共 0 项\ndemos 完成: 0 项，用时 0 秒\n"


def read_all(handle: int) -> str:
    content = b""
    while True:
        try:
            content += os.read(handle, 65_536)
        except OSError:
            # Linux says so when the other end is closed and everything is read.
            os.close(handle)
            return content.decode()


def test_a_terminal_gets_bars() -> None:
    master, slave = os.openpty()

    with os.fdopen(slave, "w", encoding="utf-8") as terminal, progress("en", terminal) as report:
        assert isinstance(report, Progress)
        report("train", 1, 2, "loss 0.5")
        report("train", 2, 2)
    drawn = read_all(master)

    assert "train" in drawn
    assert "2/2" in drawn
