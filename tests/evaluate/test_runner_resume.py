import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from etude.core.errors import StateError
from etude.core.kill_points import VARIABLE
from etude.evaluate.summary import EvaluationSummary
from etude.testing.fakes import ToyPolicy
from etude.testing.toy_benchmark import calls_of
from evaluation_run import CONFIG, rows, run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[EvaluationSummary, Path]:
    """An evaluation that nothing has disturbed, of two processes."""
    folder = tmp_path_factory.mktemp("whole")
    return run(folder, config=replace(CONFIG, processes=2)), folder


@pytest.mark.parametrize(("processes", "lanes"), [(1, 64), (4, 64), (2, 2)])
def test_the_rows_do_not_depend_on_how_many_processes_share_the_work(
    processes: int, lanes: int, tmp_path: Path, whole: tuple[EvaluationSummary, Path]
):
    run(tmp_path, config=replace(CONFIG, processes=processes, lanes=lanes))

    assert rows(tmp_path) == rows(whole[1])


def test_an_evaluation_that_is_complete_starts_no_process_and_asks_nothing(
    tmp_path: Path, whole: tuple[EvaluationSummary, Path]
):
    shutil.copytree(whole[1], tmp_path / "eval")
    policy = ToyPolicy(horizon=4, execute=3)

    again = run(tmp_path / "eval", policy=policy, log=str(tmp_path / "calls"))

    assert again == whole[0]
    assert policy.calls == 0
    assert not (tmp_path / "calls").exists()


def test_only_missing_episodes_are_played_and_they_play_as_they_would_have(
    tmp_path: Path, whole: tuple[EvaluationSummary, Path]
):
    torn = tmp_path / "torn"
    shutil.copytree(whole[1], torn)
    lines = (torn / "results.jsonl").read_text().splitlines(keepends=True)
    (torn / "results.jsonl").write_text("".join(lines[:7]) + '{"schema"')

    run(torn, log=str(tmp_path / "calls"))

    assert calls_of(tmp_path / "calls", "reset") == 13
    assert rows(torn) == rows(whole[1])


def test_a_policy_may_not_change_between_an_evaluation_and_its_resumption(
    tmp_path: Path, whole: tuple[EvaluationSummary, Path]
):
    shutil.copytree(whole[1], tmp_path / "eval")

    with pytest.raises(StateError, match="was begun with policy key"):
        run(tmp_path / "eval", policy=ToyPolicy(push=1.0))


SCRIPT = """
import sys
from dataclasses import replace
from pathlib import Path
from etude.evaluate.eval_config import EvalConfig
from etude.evaluate.runner import evaluate
from etude.testing.fakes import ToyPolicy, toy_tasks
from etude.testing.toy_benchmark import ToyBenchmarkConfig, toy_builder

if __name__ == "__main__":
    tasks = toy_tasks(5)
    evaluate(
        ToyPolicy(horizon=4, execute=3),
        builder=toy_builder(ToyBenchmarkConfig(tasks=tasks)),
        tasks=tasks, groups={},
        config=EvalConfig(n_episodes=4, first_seed=10, max_steps=9, processes=2),
        folder=Path(sys.argv[1]), eval_id="final",
        policy_info={"use": "toy", "checkpoint": None, "step": None},
        simulator_info={"use": "toy", "options": {}}, known_texts=None,
        progress=lambda *_: None, warn=print,
    )
"""


@pytest.mark.parametrize(
    "point",
    ["eval.manifest_written", "eval.row_written:3", "eval.round_done:2", "eval.info_written"],
)
def test_an_evaluation_that_was_killed_ends_as_one_that_was_not(
    point: str, tmp_path: Path, whole: tuple[EvaluationSummary, Path]
):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    killed = subprocess.run(
        [sys.executable, script, tmp_path / "killed"],
        env={**os.environ, VARIABLE: point, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    begun = (tmp_path / "killed" / "results.jsonl").exists()
    left = len(rows(tmp_path / "killed")) if begun else 0

    resumed = run(tmp_path / "killed")

    assert killed.returncode == -signal.SIGKILL
    assert left < 20 or point == "eval.info_written"
    assert rows(tmp_path / "killed") == rows(whole[1])
    assert replace(resumed, seconds=0) == replace(whole[0], seconds=0)
