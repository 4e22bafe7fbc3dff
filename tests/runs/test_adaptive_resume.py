"""Killed and resumed at any point, a run draws, judges and plans as if nothing had happened."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import adaptive_run
from adaptive_run import told, train
from etude.core.errors import DataError
from etude.core.kill_points import VARIABLE
from etude.runs.adaptive import Adaptive
from etude.store.ledger import read_ledger
from etude.train.loop import TrainingParts
from training_run import assert_equal_weights

SCRIPT = """
import json, os, sys
sys.path.insert(0, {support!r})
from pathlib import Path
from adaptive_run import train

for line in sys.stdin:
    folder, kill_at = json.loads(line)
    child = os.fork()
    if child == 0:
        os.environ[{variable!r}] = kill_at
        train(Path(folder))
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
KINDS = ("task_scores", "task_transition", "plan_chosen", "counterfactual_plans", "task_losses")

Killed = Callable[[Path, str], int]


@pytest.fixture(scope="module")
def killed() -> Iterator[Killed]:
    """Train in a process of its own that dies at a named point; return how it ended."""
    script = SCRIPT.format(support=str(Path(adaptive_run.__file__).parent), variable=VARIABLE)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as origin:

        def run(folder: Path, kill_at: str) -> int:
            print(json.dumps([str(folder), kill_at]), file=origin.stdin, flush=True)
            return int(origin.stdout.readline())

        yield run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TrainingParts, Adaptive]:
    folder = tmp_path_factory.mktemp("whole")
    return folder, *train(folder)


@pytest.mark.parametrize(
    "kill_at",
    [
        "steer.planned:1",
        "steer.scored:3",
        "steer.scored:4",
        "steer.ledger_written:3",
        "steer.planned:3",
        "save.manifest_written:1",
        "save.renamed:1",
        "train.step_done:24",
        "steer.scored:6",
        "steer.planned:4",
        "save.renamed:2",
    ],
)
def test_a_killed_run_ends_with_the_same_stream_states_and_plans(
    tmp_path: Path, kill_at: str, killed: Killed, whole: tuple[Path, TrainingParts, Adaptive]
):
    straight, parts, adaptive = whole
    assert killed(tmp_path, kill_at) == -signal.SIGKILL

    resumed_parts, resumed = train(tmp_path)

    assert resumed.states == adaptive.states
    assert resumed.plan == adaptive.plan
    for kind in KINDS:
        assert told(tmp_path, kind) == told(straight, kind), kind
    sampler, expected = resumed_parts.loader.sampler, parts.loader.sampler
    assert sampler.state_dict() == expected.state_dict()
    assert_equal_weights(resumed_parts, parts)


def test_a_resumed_run_goes_on_writing_the_same_ledger(tmp_path: Path, killed: Killed):
    killed(tmp_path, "train.step_done:24")
    before = read_ledger(tmp_path / "ledger.jsonl")

    train(tmp_path)

    after = read_ledger(tmp_path / "ledger.jsonl")
    assert after.holds(before.head)
    began = [(entry.step, entry.weights) for entry in after.entries if entry.kind == "began"]
    saved = next(entry for entry in after.entries if entry.kind == "checkpoint")
    assert [step for step, _ in began] == [0, 20]
    assert began[1][1] == saved.weights


def test_a_ledger_that_was_cut_off_is_refused(tmp_path: Path, killed: Killed):
    killed(tmp_path, "train.step_done:24")
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:1]))

    with pytest.raises(DataError, match=r"does not hold the history that .* was saved with"):
        train(tmp_path)


def test_a_lost_ledger_begins_anew_and_that_is_said(tmp_path: Path, killed: Killed):
    killed(tmp_path, "train.step_done:24")
    (tmp_path / "ledger.jsonl").unlink()

    _, adaptive = train(tmp_path)

    assert read_ledger(tmp_path / "ledger.jsonl").entries[0].kind == "began"
    assert adaptive.states[adaptive_run.EASY].status == "passed"
