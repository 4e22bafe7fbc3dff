"""A policy that stops answering ends a scan early, and never makes a part look like the whole."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from etude.compute.queues import StaticQueue
from etude.core.errors import PolicyUnavailable
from etude.core.types import ActionChunk, Observation, ScanReport
from etude.scan.scan_config import ScanConfig
from etude.testing.ranks import run_ranks
from toy_scan import CopyPolicy, scan

CONFIG = ScanConfig(batch_size=8, retries=0)


class Failing(CopyPolicy):
    """Answers so many calls, and then no more."""

    def __init__(self, *, answers: int) -> None:
        super().__init__()
        self._answers = answers

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        if len(self.calls) >= self._answers:
            raise PolicyUnavailable("ws://robot:8000 did not answer in 30 s")
        return super().act(observations, seed=seed)


def test_a_policy_that_stops_answering_leaves_what_it_has_said(tmp_path: Path):
    # Three calls are the first eight windows of each of three tasks; then the doubtful get more.
    report = scan(tmp_path, config=CONFIG, load=lambda: Failing(answers=3))

    assert [each.windows for each in report.tasks.values()] == [8, 8, 8]
    assert (report.inferences, report.complete) == (24, False)


def test_what_was_said_before_is_not_asked_again(tmp_path: Path):
    whole = scan(tmp_path / "whole", config=CONFIG)
    scan(tmp_path / "torn", config=CONFIG, load=lambda: Failing(answers=3))

    rest = scan(tmp_path / "torn", config=CONFIG)

    assert rest.recalled == 24
    assert rest.inferences == whole.inferences - 24
    assert rest.tasks == whole.tasks


def test_a_task_without_a_window_makes_the_scan_an_error(tmp_path: Path):
    with pytest.raises(PolicyUnavailable, match="robot:8000 did not answer"):
        scan(tmp_path, config=CONFIG, load=lambda: Failing(answers=2))


def test_a_policy_that_is_gone_is_asked_no_more(tmp_path: Path):
    tries: list[int] = []

    class Gone(CopyPolicy):
        def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
            tries.append(len(observations))
            raise PolicyUnavailable("gone")

    with pytest.raises(PolicyUnavailable):
        scan(tmp_path, config=CONFIG, load=Gone)

    assert tries == [8]


def test_one_rank_without_an_answer_ends_the_scan_on_all(tmp_path: Path):
    def live(rank: int) -> CopyPolicy:
        # Rank 0 is dealt two of the first three calls, and the only one after them.
        return Failing(answers=2) if rank == 0 else CopyPolicy()

    reports = run_ranks(
        2,
        lambda ranks: scan(
            tmp_path,
            config=CONFIG,
            ranks=ranks,
            queue=StaticQueue(rank=ranks.rank, size=ranks.size),
            load=lambda: live(ranks.rank),
        ),
    )

    assert reports[0] == reports[1]
    assert isinstance(reports[0], ScanReport)
    assert (reports[0].inferences, reports[0].complete) == (24, False)
