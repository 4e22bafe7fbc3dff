"""Stopping and going on with real processes, on as many ranks as before or on others."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from etude.checkpoints.commit import CheckpointStore
from etude.checkpoints.hf import load_hf
from rank_processes import RankRuns
from rank_runs import global_rows, rank_runs
from training_run import continue_run

OPTIONS: dict[str, Any] = {"steps": 24, "save_every": 6, "batch_size": 13, "blocks": 2}


@pytest.fixture(scope="module")
def runs() -> Iterator[RankRuns]:
    with rank_runs() as started:
        yield started


@pytest.fixture(scope="module")
def straight(runs: RankRuns, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run on two ranks that nothing has stopped, for each strategy."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("ddp", "fsdp2")}
    for name, folder in folders.items():
        assert runs.train(folder, 2, parallel={"strategy": name}, **OPTIONS) == [0, 0]
    return folders


def final_state(folder: Path) -> dict[str, torch.Tensor]:
    """Everything of the newest checkpoint, read by one process: weights, averages and moments."""
    _, parts = continue_run(folder, steps=24, batch_size=13, blocks=2)
    optimisation = parts.optimisation
    state = {
        **{f"live.{k}": v for k, v in optimisation.module.state_dict().items()},
        **{f"average.{k}": v for k, v in optimisation.average.state_dict().items()},
    }
    for place, moments in optimisation.optimizer.state_dict()["state"].items():
        state |= {f"optimizer.{place}.{k}": v for k, v in moments.items()}
    return state


def assert_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        assert torch.equal(tensor, other[name]), name


def assert_close(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], rtol=1e-3, atol=1e-5, msg=name)


def test_two_ranks_go_on_from_what_one_had_saved_before_it_was_killed_in_a_save(
    runs: RankRuns, straight: dict[str, Path], tmp_path: Path
):
    first = runs.killed(tmp_path, 1, rank=0, at="save.dcp_written:2", **OPTIONS)
    left = CheckpointStore(tmp_path / "checkpoints").steps()
    second = runs.train(tmp_path, 2, parallel={"strategy": "fsdp2"}, **OPTIONS)

    assert first == [-signal.SIGKILL]
    assert left == [6]
    assert second == [0, 0]
    assert global_rows(tmp_path) == global_rows(straight["fsdp2"])
    assert_close(final_state(tmp_path), final_state(straight["fsdp2"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "rank", "at"),
    [
        ("ddp", 0, "train.step_done:9"),
        ("ddp", 1, "train.step_done:16"),
        ("fsdp2", 1, "train.step_done:9"),
        ("ddp", 0, "save.staging_made:2"),
        ("ddp", 0, "save.dcp_written:2"),
        ("ddp", 1, "save.dcp_written:2"),
        ("fsdp2", 1, "save.dcp_written:2"),
        ("fsdp2", 0, "save.hf_written:1"),
        ("ddp", 0, "save.manifest_written:2"),
        ("fsdp2", 0, "save.renamed:2"),
        ("ddp", 0, "save.latest_written:2"),
    ],
)
def test_a_rank_that_is_killed_costs_nothing_but_time(
    runs: RankRuns, straight: dict[str, Path], tmp_path: Path, strategy: str, rank: int, at: str
):
    parallel = {"strategy": strategy}
    first = runs.killed(tmp_path, 2, rank=rank, at=at, parallel=parallel, **OPTIONS)
    second = runs.train(tmp_path, 2, parallel=parallel, **OPTIONS)

    assert first[rank] == -signal.SIGKILL
    assert first[1 - rank] != 0
    assert second == [0, 0]
    assert_equal(final_state(tmp_path), final_state(straight[strategy]))
    assert global_rows(tmp_path) == global_rows(straight[strategy])


@pytest.mark.parametrize("mode", ["sync", pytest.param("async", marks=pytest.mark.slow)])
def test_the_number_of_ranks_may_change_at_every_stop(
    runs: RankRuns, straight: dict[str, Path], tmp_path: Path, mode: str
):
    plan = [(1, "auto", 6), (2, "ddp", 12), (3, "fsdp2", 18), (1, "auto", 24)]
    for ranks, strategy, steps in plan:
        last = steps == 24
        codes = runs.train(
            tmp_path,
            ranks,
            parallel={"strategy": strategy},
            mode=mode,
            **({} if last else {"signal_at": [0, steps, int(signal.SIGTERM)]}),
            **OPTIONS,
        )
        assert codes == [0] * ranks
        newest = CheckpointStore(tmp_path / "checkpoints").latest()
        assert newest is not None
        assert newest.step == steps

    assert global_rows(tmp_path) == global_rows(straight["ddp"])
    assert_close(final_state(tmp_path), final_state(straight["ddp"]))


@pytest.mark.slow
def test_how_weights_were_shared_out_does_not_show_in_their_id(runs: RankRuns, tmp_path: Path):
    assert runs.train(tmp_path / "alone", 1, **{**OPTIONS, "steps": 6}) == [0]
    ids: set[str] = set()
    for ranks, strategy in ((1, "auto"), (2, "ddp"), (2, "fsdp2"), (3, "fsdp2")):
        folder = tmp_path / f"{strategy}-{ranks}"
        codes = runs.train(
            folder,
            ranks,
            start_from=str(tmp_path / "alone"),
            parallel={"strategy": strategy},
            **{**OPTIONS, "steps": 6},
        )
        assert codes == [0] * ranks
        ref = CheckpointStore(folder / "checkpoints").latest()
        assert ref is not None
        ids.add(ref.weights)
        assert set(load_hf(folder / ref.folder / "hf")[1]) == set(
            load_hf(tmp_path / "alone" / ref.folder / "hf")[1]
        )

    assert len(ids) == 1


@pytest.mark.slow
def test_a_rank_that_is_killed_beside_an_async_save_leaves_the_checkpoint_before_it(
    runs: RankRuns, straight: dict[str, Path], tmp_path: Path
):
    first = runs.killed(
        tmp_path,
        2,
        rank=1,
        at="save.dcp_written:2",
        parallel={"strategy": "ddp"},
        mode="async",
        **OPTIONS,
    )
    left = CheckpointStore(tmp_path / "checkpoints").steps()
    second = runs.train(tmp_path, 2, parallel={"strategy": "ddp"}, mode="async", **OPTIONS)

    assert first[1] == -signal.SIGKILL
    assert first[0] != 0
    assert left == [6]
    assert second == [0, 0]
    assert_equal(final_state(tmp_path), final_state(straight["ddp"]))


@pytest.mark.slow
def test_a_disk_error_on_one_rank_stops_all_and_keeps_what_there_was(
    runs: RankRuns, tmp_path: Path
):
    codes = runs.train(tmp_path, 2, full_from=[1, 12], parallel={"strategy": "fsdp2"}, **OPTIONS)

    assert codes == [1, 1]
    store = CheckpointStore(tmp_path / "checkpoints")
    assert store.steps() == [6]
    assert sorted(path.name for path in store.folder.iterdir()) == ["LATEST", "step-00000006"]
