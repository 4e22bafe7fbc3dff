"""Runs that adapt, killed at named points and continued on 1, 2, 3 and again 1 ranks, or on 2."""

import ast
import json
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

from etude.checkpoints.commit import CheckpointStore
from etude.core.kill_points import VARIABLE
from etude.events.reader import read_events
from etude.runs.config import load
from etude.runs.training import train
from rank_processes import RankRuns, ranks_of, serve
from tiny_dataset import write_tiny
from training_run import quiet

STEPS = 32
RECIPE = f"""
steps = {STEPS}
batch_size = 13
[dataset]
repo_id = "me/tiny"
root = "data"
hold_out_episodes = 1
[policy]
width = 16
blocks = 2
task_dim = 4
horizon = 4
execute = 2
[train]
lr = 1e-2
warmup_steps = 3
log_every = 1
held_out_every = 0
[save]
every = 4
keep_last = 2
[score]
kind = "open_loop"
every = 4
windows = 8
max_share = 1.0
[lifecycle]
look_steps = 4
[curriculum]
every = 8
lag = 3
look_steps = 4
[scan]
groups = ["all=0-1"]
"""
ANY, FIRST = "any", "first"
POINTS = [
    *((f"train.step_done:{passage}", ANY) for passage in (5, 6, 7, 8, 10, 11)),
    ("save.staging_made:2", FIRST),
    ("save.staging_made:3", FIRST),
    ("save.dcp_written:2", FIRST),
    ("save.dcp_written:3", ANY),
    ("save.hf_written:2", FIRST),
    ("save.files_written:2", FIRST),
    ("save.files_written:3", FIRST),
    ("save.manifest_written:2", FIRST),
    ("save.manifest_written:3", FIRST),
    ("save.renamed:1", FIRST),
    ("save.renamed:2", FIRST),
    ("save.latest_written:2", FIRST),
    ("save.retiring:1", FIRST),
    ("steer.scored:2", ANY),
    ("steer.scored:3", FIRST),
    ("steer.planned:2", ANY),
    ("steer.ledger_written:1", FIRST),
    ("ledger.appended:3", FIRST),
    ("ledger.appended:6", FIRST),
]
"""Where ranks die, and whether only the first rank comes there or any, of which the last dies.

Continued three times, each attempt must come there once more before the last step.
"""
KINDS = ("steps_finished", "task_losses", "task_scores", "task_transition", "plan_chosen")
UNTOLD = ("t", "seq", "attempt", "seconds")
STRATEGIES, MODES = ("ddp", "fsdp2"), ("sync", "async")


def adapt_here(folder: Path, *, flags: list[str]) -> None:
    """Be one rank of a run in `folder`, from its newest checkpoint on."""
    config = load(folder / "recipe.toml", ["--output_dir", str(folder / "run"), *flags])
    train(config, command=["etude", "train"], resume=True, progress=quiet)


@pytest.fixture(scope="module")
def runs() -> Iterator[RankRuns]:
    with ranks_of(Path(__file__)) as started:
        yield started


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_tiny(
        tmp_path_factory.mktemp("data") / "tiny", [40] * 9, texts=("open", "close", "turn")
    )
    (folder / "meta/etude.json").unlink()
    return folder


@pytest.fixture(scope="module")
def straight(
    runs: RankRuns, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Path]:
    """Runs that nothing has stopped: on one rank, and on two with each strategy."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("auto", *STRATEGIES)}
    for name, folder in folders.items():
        ranks = 1 if name == "auto" else 2
        assert adapt(runs, folder, data, ranks, strategy=name) == [0] * ranks
    return folders


def adapt(
    runs: RankRuns,
    folder: Path,
    data: Path,
    ranks: int,
    *,
    at: str = "",
    dying: int = 0,
    **how: str,
) -> list[int]:
    """Begin or continue a run while one rank dies at a named point; return how each ended."""
    recipe = RECIPE.replace('"data"', json.dumps(str(data)))
    (folder / "recipe.toml").write_text(recipe)
    settings = {"--parallel.strategy": how.get("strategy"), "--save.mode": how.get("mode")}
    flags = [word for flag in settings.items() if flag[1] for word in flag]
    variables = {dying: {VARIABLE: at}} if at else {}
    return runs.train(folder, ranks, variables=variables, flags=flags)


def told(folder: Path) -> dict[tuple[str, int, str], dict[str, Any]]:
    """What the run tells of each step and task; later attempts replace earlier ones."""
    rows: dict[tuple[str, int, str], dict[str, Any]] = {}
    for record in read_events(folder / "run/events"):
        if record["kind"] in KINDS:
            key = (record["kind"], record["step"], str(record.get("task", "")))
            rows[key] = {name: value for name, value in record.items() if name not in UNTOLD}
    return unnamed(folder, rows)


def states(folder: Path) -> dict[str, Any]:
    """The last task state document and the last position of the sampler."""
    newest = folder / "run" / CheckpointStore(folder / "run/checkpoints").latest().folder
    document = json.loads((newest / "task_state.json").read_text())
    # Weights that were trained on other ranks differ in their last digits, and so in their id.
    del document["weights"]
    sampler = json.loads((newest / "train_state.json").read_text())["sampler"]
    return unnamed(folder, {"document": document, "sampler": sampler})


def unnamed(folder: Path, value: Any) -> Any:
    """A value without the name of the run, which each run draws for itself."""
    run_id = json.loads((folder / "run/run.json").read_text())["run_id"]
    return ast.literal_eval(repr(value).replace(run_id, "this"))


def tensors(folder: Path) -> dict[str, Any]:
    """Weights, averages and moments of the last checkpoint."""
    newest = folder / "run" / CheckpointStore(folder / "run/checkpoints").latest().folder
    dcp_to_torch_save(newest / "dcp", folder / "whole.pt")
    return torch.load(folder / "whole.pt")


def assert_alike(found: Any, expected: Any, *, close: bool, place: str = "") -> None:
    """Compare nested values; if they may only be close, floats differ in their last digits."""
    if isinstance(expected, Mapping):
        assert list(found) == list(expected), place
        for name, value in expected.items():
            assert_alike(found[name], value, close=close, place=f"{place}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for number, value in enumerate(expected):
            assert_alike(found[number], value, close=close, place=f"{place}.{number}")
    elif isinstance(expected, torch.Tensor):
        rtol, atol = (1e-3, 1e-5) if close else (0, 0)
        torch.testing.assert_close(found, expected, rtol=rtol, atol=atol, msg=place)
    elif isinstance(expected, float) and close:
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-5), place
    else:
        assert found == expected, place


def check_alike(folder: Path, other: Path, *, close: bool) -> None:
    """Check the stream, task states and weights of two runs."""
    ours, theirs = told(folder), told(other)
    assert_alike(dict(sorted(ours.items())), dict(sorted(theirs.items())), close=close)
    assert_alike(states(folder), states(other), close=close)
    assert_alike(tensors(folder), tensors(other), close=close)


@pytest.mark.slow
@pytest.mark.parametrize(("at", "who"), POINTS)
def test_the_same_ranks_go_on_as_if_nothing_had_happened(
    runs: RankRuns, data: Path, straight: Mapping[str, Path], tmp_path: Path, at: str, who: str
):
    turn = POINTS.index((at, who))
    how = {"strategy": STRATEGIES[turn % 2], "mode": MODES[turn // 2 % 2]}
    dying = 0 if who == FIRST else 1

    first = adapt(runs, tmp_path, data, 2, at=at, dying=dying, **how)
    second = adapt(runs, tmp_path, data, 2, **how)

    assert first[dying] == -signal.SIGKILL
    assert first[1 - dying] != 0
    assert second == [0, 0]
    check_alike(tmp_path, straight[how["strategy"]], close=False)


@pytest.mark.slow
@pytest.mark.parametrize(("at", "who"), POINTS)
def test_one_two_three_and_again_one_rank_go_on_as_if_nothing_had_happened(
    runs: RankRuns, data: Path, straight: Mapping[str, Path], tmp_path: Path, at: str, who: str
):
    turn = POINTS.index((at, who))
    how = {"strategy": STRATEGIES[turn % 2], "mode": MODES[turn // 2 % 2]}
    for ranks in (1, 2, 3):
        dying = 0 if who == FIRST else ranks - 1
        codes = adapt(runs, tmp_path, data, ranks, at=at, dying=dying, **how)
        assert codes[dying] == -signal.SIGKILL
        assert all(codes)

    assert adapt(runs, tmp_path, data, 1, mode=how["mode"]) == [0]

    check_alike(tmp_path, straight["auto"], close=True)


if __name__ == "__main__":
    serve(adapt_here)
