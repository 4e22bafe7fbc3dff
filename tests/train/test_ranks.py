"""Training on real processes: the same curve, the same rows, the same end on every rank."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from etude.checkpoints.hf import load_hf
from etude.events.reader import read_events
from rank_processes import RankRuns
from rank_runs import global_rows, rank_runs, said

STRATEGIES = [
    (2, {"strategy": "ddp"}),
    (2, {"strategy": "fsdp2"}),
    *(
        pytest.param(ranks, parallel, marks=pytest.mark.slow)
        for ranks, parallel in (
            (2, {"strategy": "ddp", "accumulate": 3}),
            (
                2,
                {
                    "strategy": "fsdp2",
                    "accumulate": 2,
                    "checkpoint_activations": True,
                    "reshard_after_forward": False,
                },
            ),
            (3, {"strategy": "ddp"}),
            (3, {"strategy": "fsdp2"}),
        )
    ),
]
OPTIONS = {"steps": 50, "save_every": 50, "batch_size": 13, "blocks": 2, "train": {"log_every": 1}}
"""13 rows fall evenly to neither 2 nor 3 ranks."""


@pytest.fixture(scope="module")
def runs() -> Iterator[RankRuns]:
    with rank_runs() as started:
        yield started


@pytest.fixture(scope="module")
def alone(runs: RankRuns, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    assert runs.train(folder, 1, **OPTIONS) == [0]
    return folder


def rows_of(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [record for record in read_events(folder / "events") if record["kind"] == kind]


@pytest.mark.parametrize(("ranks", "parallel"), STRATEGIES)
def test_any_strategy_has_the_loss_curve_of_one_rank(
    runs: RankRuns, alone: Path, tmp_path: Path, ranks: int, parallel: dict[str, Any]
):
    codes = runs.train(tmp_path, ranks, parallel=parallel, **OPTIONS)

    assert codes == [0] * ranks
    one, many = rows_of(alone, "steps_finished"), rows_of(tmp_path, "steps_finished")
    assert len(one) == 50
    assert [row["loss"] for row in many] == pytest.approx([row["loss"] for row in one], rel=1e-5)
    assert [row["grad_norm"] for row in many] == pytest.approx(
        [row["grad_norm"] for row in one], rel=1e-5
    )
    by_task = zip(rows_of(alone, "task_losses"), rows_of(tmp_path, "task_losses"), strict=True)
    for expected, found in by_task:
        assert found["samples"] == expected["samples"]
        assert found["losses"] == pytest.approx(expected["losses"], rel=1e-5)
    held_out = zip(
        rows_of(alone, "held_out_errors"), rows_of(tmp_path, "held_out_errors"), strict=True
    )
    for expected, found in held_out:
        assert found["errors"] == pytest.approx(expected["errors"], rel=1e-4)
    assert global_rows(tmp_path) == global_rows(alone)
    exported = [
        load_hf(folder / "checkpoints" / "step-00000050" / "hf")[1] for folder in (alone, tmp_path)
    ]
    for name, tensor in exported[0].items():
        assert exported[1][name].flatten().tolist() == pytest.approx(
            tensor.flatten().tolist(), rel=1e-3, abs=1e-5
        )


def last_loss(runs: RankRuns, folder: Path, ranks: int, **settings: Any) -> float:
    assert runs.train(folder, ranks, **settings, **OPTIONS) == [0] * ranks
    return rows_of(folder, "steps_finished")[-1]["loss"]


@pytest.mark.parametrize(
    ("of_policy", "of_ranks"),
    [
        ("float32", "bfloat16"),
        pytest.param("bfloat16", "float32", marks=pytest.mark.slow),
        pytest.param("bfloat16", "bfloat16", marks=pytest.mark.slow),
    ],
)
def test_products_in_bfloat16_train_as_well_on_shards_whoever_asks_for_them(
    runs: RankRuns, alone: Path, tmp_path: Path, of_policy: str, of_ranks: str
):
    parallel = {"strategy": "fsdp2", "precision": of_ranks}

    loss = last_loss(runs, tmp_path, 2, parallel=parallel, precision=of_policy)

    exact = rows_of(alone, "steps_finished")[-1]["loss"]
    assert loss != exact
    assert loss == pytest.approx(exact, rel=0.05)


@pytest.mark.slow
def test_products_in_bfloat16_train_as_well_in_copies(runs: RankRuns, alone: Path, tmp_path: Path):
    parallel = {"strategy": "ddp", "precision": "bfloat16"}

    loss = last_loss(runs, tmp_path, 2, parallel=parallel)

    exact = rows_of(alone, "steps_finished")[-1]["loss"]
    assert loss != exact
    assert loss == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize("strategy", ["ddp", pytest.param("fsdp2", marks=pytest.mark.slow)])
def test_a_loss_that_is_not_finite_on_one_rank_stops_all_with_its_rows(
    runs: RankRuns, tmp_path: Path, strategy: str
):
    codes = runs.train(
        tmp_path, 2, poisoned_row=3, parallel={"strategy": strategy}, train={"log_every": 5}
    )

    assert codes == [1, 1]
    first, second = said(tmp_path, 2)
    assert first == second
    assert first["error"] == "TrainingError"
    assert "is not finite, in rows 3; the weights are those of step" in first["message"]
    (skipped,) = rows_of(tmp_path, "step_skipped")
    assert (skipped["rank"], skipped["rows"]) == (0, [3])


def test_a_signal_to_one_rank_stops_all_after_the_same_step(runs: RankRuns, tmp_path: Path):
    codes = runs.train(tmp_path, 2, signal_at=[1, 7, int(signal.SIGTERM)])

    assert codes == [0, 0]
    first, second = said(tmp_path, 2)
    assert first == second
    assert first["error"] == "Interrupted"
    assert first["message"].startswith("stopped by SIGTERM after step 7 of 40;")
    (committed,) = rows_of(tmp_path, "checkpoint_committed")
    assert committed["step"] == 7


def test_a_torn_file_on_one_rank_stops_all_before_the_step(runs: RankRuns, tmp_path: Path):
    codes = runs.train(tmp_path, 2, torn_at=[1, 4])

    assert codes == [1, 1]
    first, second = said(tmp_path, 2)
    assert first == second
    assert first == {"error": "DataError", "message": "rank 1: episode 3 is torn"}


@pytest.mark.slow
def test_ranks_that_do_not_end_are_ended_and_say_where_they_stood(runs: RankRuns, tmp_path: Path):
    with pytest.raises(AssertionError) as caught:
        runs.train(tmp_path, 2, stuck_at=[1, 4], limit_s=15)

    said = str(caught.value)
    assert "killed, because they did not end in time: [0, 1]" in said
    assert "rank 1 ended with -6:" in said
    assert "in before_draw" in said
