import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from etude.core.errors import DataError, PolicyError
from etude.core.types import ScanReport
from etude.scan.scan_config import ScanConfig
from etude.testing.fakes import MemoryDataset, MemoryEpisode, toy_tasks
from etude.testing.ranks import run_ranks
from toy_scan import BAD, GOOD, WORSE, CopyPolicy, copied, late, scan

SCAN = """
import sys
from pathlib import Path
from toy_scan import scan

report = scan(Path(sys.argv[1]))
print(report.inferences, report.recalled, report.tasks)
"""


def verdicts(report: ScanReport) -> dict[str, str]:
    return {task: scan.verdict for task, scan in report.tasks.items()}


def uncounted(report: ScanReport) -> ScanReport:
    return dataclasses.replace(report, inferences=0, recalled=0)


def test_what_is_right_passes_and_what_is_off_fails(tmp_path: Path):
    report = scan(tmp_path)

    assert verdicts(report) == {GOOD: "pass", BAD: "fail", WORSE: "fail"}
    assert (report.policy, report.complete) == ("w", True)
    good, bad = report.tasks[GOOD], report.tasks[BAD]
    assert (good.gmse, good.mse, good.pass_rate.rate) == (0.0, 0.0, 1.0)
    # Each action of `BAD` is off by 2.
    assert (bad.mse, bad.mae) == (pytest.approx(4.0), pytest.approx(2.0))
    # Where the demonstration makes long strides, 2 is little.
    assert bad.pass_rate.successes <= 1
    assert list(bad.groups) == ["arm"]


def test_windows_go_to_the_task_in_doubt(tmp_path: Path):
    report = scan(tmp_path)

    windows = {task: each.windows for task, each in report.tasks.items()}
    # Eight that all fail decide; as many that pass do not, by far.
    assert windows[BAD] == windows[WORSE] == 8
    assert windows[GOOD] > 16
    assert [each.of for each in report.tasks.values()] == [3 * 40] * 3
    assert (report.inferences, report.recalled) == (sum(windows.values()), 0)


@pytest.mark.parametrize("size", [2, 3])
def test_any_number_of_ranks_returns_the_report_of_one(tmp_path: Path, size: int):
    alone = scan(tmp_path / "alone")

    reports = run_ranks(size, lambda ranks: scan(tmp_path / "shared", ranks=ranks))

    assert reports == [alone] * size


def test_a_second_scan_asks_and_loads_nothing_and_says_the_same(tmp_path: Path):
    first = scan(tmp_path)
    loaded: list[CopyPolicy] = []

    def load() -> CopyPolicy:
        loaded.append(CopyPolicy())
        return loaded[-1]

    second = scan(tmp_path, load=load)

    assert loaded == []
    assert (second.inferences, second.recalled) == (0, first.inferences)
    assert uncounted(second) == uncounted(first)


def test_thresholds_change_verdicts_without_asking_again(tmp_path: Path):
    scan(tmp_path, config=ScanConfig(batch_size=8, windows_per_task=8))

    loose = scan(tmp_path, config=ScanConfig(batch_size=8, windows_per_task=8, tau=1e6))

    assert loose.inferences == 0
    assert [each.pass_rate.rate for each in loose.tasks.values()] == [1.0, 1.0, 1.0]


def test_a_cap_leaves_tasks_undecided_and_says_that_the_scan_is_not_whole(tmp_path: Path):
    report = scan(tmp_path, config=ScanConfig(batch_size=8, windows_per_task=8))

    assert verdicts(report)[GOOD] == "undecided"
    assert not report.complete
    assert report.inferences == 3 * 8


def test_time_that_is_up_leaves_every_task_one_window(tmp_path: Path):
    config = ScanConfig(batch_size=8, time_limit_s=10)
    report = scan(tmp_path, config=config, clock=late())

    assert [each.windows for each in report.tasks.values()] == [1, 1, 1]
    assert not report.complete
    # What was left out is not kept as if it had been scored.
    rest = scan(tmp_path)
    assert (rest.recalled, rest.complete) == (3, True)


def test_every_window_of_a_strategy_is_scanned_where_no_number_is_given(tmp_path: Path):
    config = ScanConfig(batch_size=8, strategy="sliding", step=10, windows_per_task=0)

    report = scan(tmp_path, config=config)

    assert [(each.windows, each.of) for each in report.tasks.values()] == [(12, 12)] * 3
    assert report.complete


def test_a_task_with_one_demonstration_is_scanned_on_it(tmp_path: Path):
    report = scan(tmp_path, dataset=copied(episodes=1))

    assert [each.of for each in report.tasks.values()] == [40, 40, 40]


def test_episodes_of_equal_content_are_asked_about_once(tmp_path: Path):
    states = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    twins = [
        MemoryEpisode(task=GOOD, states=states, actions=states[:, :2].copy()) for _ in range(3)
    ]
    config = ScanConfig(batch_size=8, strategy="sliding", step=4, windows_per_task=0)

    report = scan(
        tmp_path, dataset=MemoryDataset(twins, tasks=toy_tasks(1)), config=config, held_out=2
    )

    assert (report.tasks[GOOD].windows, report.inferences) == (20, 10)


def test_progress_begins_at_nothing_and_ends_at_all(tmp_path: Path):
    told: list[tuple[int, int]] = []

    report = scan(tmp_path, told=told)

    dones = [done for done, _ in told]
    assert dones == sorted(dones)
    assert told[0][0] < told[0][1] == 3 * 32
    assert told[-1] == (report.inferences, report.inferences)


def test_a_policy_that_cannot_be_loaded_on_one_rank_fails_all(tmp_path: Path):
    def refuse() -> CopyPolicy:
        raise PolicyError("no weights here")

    outcomes = run_ranks(
        2, lambda ranks: scan(tmp_path, ranks=ranks, load=refuse if ranks.rank else CopyPolicy)
    )

    assert [str(outcome) for outcome in outcomes] == ["rank 1: no weights here"] * 2


def test_a_number_that_is_not_finite_is_found_before_anything_is_asked(tmp_path: Path):
    states = np.ones((40, 3), np.float32)
    actions = states[:, :2].copy()
    actions[7, 1] = np.nan
    broken = [MemoryEpisode(task=GOOD, states=states, actions=actions) for _ in range(2)]

    with pytest.raises(DataError, match="frame 7: action 1 is recorded as nan"):
        scan(tmp_path, dataset=MemoryDataset(broken, tasks=toy_tasks(1)))


def in_a_process(root: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    paths = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-c", SCAN, str(root)],
        env={**os.environ, "PYTHONPATH": paths, **variables},
        capture_output=True,
        text=True,
    )


def test_a_scan_that_was_killed_computes_only_what_is_missing(tmp_path: Path):
    whole = in_a_process(tmp_path / "whole").stdout.split(maxsplit=2)

    killed = in_a_process(tmp_path / "killed", ETUDE_KILL_AT="cache.segment_written:2")
    after = in_a_process(tmp_path / "killed").stdout.split(maxsplit=2)

    assert killed.returncode == -signal.SIGKILL
    # Two segments of eight windows had reached the disk.
    assert (int(after[0]), int(after[1])) == (int(whole[0]) - 16, 16)
    assert after[2] == whole[2]
