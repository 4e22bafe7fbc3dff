import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import training_run
from etude.core.errors import Interrupted
from etude.core.kill_points import VARIABLE
from etude.events.reader import read_events
from etude.train.loop import TrainingParts
from etude.train.stop import StopRequest
from training_run import assert_equal_weights, continue_run, events_after, make_loop

SCRIPT = """
import json, os, sys
sys.path.insert(0, {support!r})
from pathlib import Path
from training_run import continue_run
from etude.train.stop import StopRequest

for line in sys.stdin:
    folder, kill_at, options = json.loads(line)
    child = os.fork()
    if child == 0:
        os.environ[{variable!r}] = kill_at
        loop, _ = continue_run(Path(folder), **options)
        loop.run(StopRequest())
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""

Train = Callable[..., int]


@pytest.fixture(scope="module")
def train() -> Iterator[Train]:
    """Train in a process of its own that dies at a named point; return how it ended.

    Torch is imported once, by the process from which the training ones are forked.
    """
    script = SCRIPT.format(support=str(Path(training_run.__file__).parent), variable=VARIABLE)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as origin:

        def run(folder: Path, kill_at: str, **options: int) -> int:
            print(json.dumps([str(folder), kill_at, options]), file=origin.stdin, flush=True)
            return int(origin.stdout.readline())

        yield run


def test_a_run_cut_in_half_equals_an_uninterrupted_one(
    tmp_path: Path, uninterrupted: tuple[Path, TrainingParts]
):
    straight, whole = uninterrupted
    first, _ = make_loop(tmp_path / "cut", steps=40, save_every=20)
    stop = StopRequest()
    stop.ask(signal.SIGTERM)
    with pytest.raises(Interrupted):
        first.run(stop)

    second, resumed = continue_run(tmp_path / "cut")
    ref = second.run(StopRequest())

    assert ref.step == 40
    assert_equal_weights(resumed, whole)
    assert events_after(tmp_path / "cut", 20) == events_after(straight, 20)


def test_checkpoints_and_logged_steps_go_on_where_they_stopped(tmp_path: Path, train: Train):
    killed = train(tmp_path, "train.step_done:7", steps=12, save_every=3)
    before = [r["step"] for r in read_events(tmp_path / "events") if "step" in r]

    loop, parts = continue_run(tmp_path, steps=12, save_every=3)
    loop.run(StopRequest())

    after = [
        r["step"] for r in read_events(tmp_path / "events") if r["attempt"] == 2 and "step" in r
    ]
    assert killed == -signal.SIGKILL
    assert max(before) == 6
    assert parts.store.steps() == [9, 12]
    assert min(after) > 6
    assert max(after) == 12


@pytest.mark.parametrize(
    "kill_at",
    [
        "train.step_done:20",
        "train.step_done:33",
        "save.staging_made:1",
        "save.dcp_written:2",
        "save.hf_written:1",
        "save.files_written:1",
        "save.manifest_written:1",
        "save.renamed:1",
        "save.latest_written:1",
        "save.manifest_written:2",
    ],
)
def test_a_killed_run_ends_as_if_it_had_never_been_killed(
    tmp_path: Path, kill_at: str, train: Train, uninterrupted: tuple[Path, TrainingParts]
):
    straight, whole = uninterrupted
    assert train(tmp_path / "cut", kill_at) == -signal.SIGKILL

    loop, resumed = continue_run(tmp_path / "cut")
    ref = loop.run(StopRequest())

    assert ref.step == 40
    assert_equal_weights(resumed, whole)
    assert events_after(tmp_path / "cut", 20) == events_after(straight, 20)
