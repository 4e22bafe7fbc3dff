import json
import signal
from pathlib import Path

import pytest

from etude.core.errors import Interrupted
from etude.events.reader import read_events
from etude.train.loop import TrainingParts
from etude.train.stop import StopRequest
from etude.train.train_config import TrainConfig
from training_run import assert_equal_weights, make_loop


def test_training_learns_the_demonstrations(tmp_path: Path):
    loop, _ = make_loop(tmp_path, steps=400, save_every=400)

    ref = loop.run(StopRequest())

    rows = [r for r in read_events(tmp_path / "events") if r["kind"] == "steps_finished"]
    assert ref.step == 400
    assert rows[-1]["loss"] < 0.1 * rows[0]["loss"]


def test_a_signal_saves_the_finished_step_and_says_how_to_go_on(tmp_path: Path):
    loop, parts = make_loop(tmp_path)
    stop = StopRequest()
    stop.ask(signal.SIGTERM)

    with pytest.raises(Interrupted, match="stopped by SIGTERM after step 1 of 40") as caught:
        loop.run(stop)

    assert caught.value.exit_code == 75
    assert parts.store.steps() == [1]


def test_held_out_errors_are_a_wide_row_with_their_number_of_episodes(
    uninterrupted: tuple[Path, TrainingParts],
):
    folder, parts = uninterrupted

    rows = [r for r in read_events(folder / "events") if r["kind"] == "held_out_errors"]

    assert [row["step"] for row in rows] == [10, 20, 30, 40]
    assert {row["episodes"] for row in rows} == {3}
    assert all(len(row["errors"]) == 3 for row in rows)
    assert len(parts.held_out) == 3


def test_looking_at_held_out_episodes_changes_nothing_in_training(tmp_path: Path):
    often = TrainConfig(lr=1e-2, warmup_steps=3, log_every=5, held_out_every=1)
    never = TrainConfig(lr=1e-2, warmup_steps=3, log_every=5, held_out_every=0)
    loops = [
        make_loop(tmp_path / name, config=config)
        for name, config in (("often", often), ("never", never))
    ]

    for loop, _ in loops:
        loop.run(StopRequest())

    assert_equal_weights(loops[0][1], loops[1][1])


def test_events_of_tasks_are_wide_rows_that_count_every_sample(
    uninterrupted: tuple[Path, TrainingParts],
):
    folder, _ = uninterrupted

    rows = [r for r in read_events(folder / "events") if r["kind"] == "task_losses"]

    assert [sum(row["samples"]) for row in rows] == [60] * 8
    assert all(row["samples"] == [20, 20, 20] for row in rows)


def test_train_state_names_its_schema_step_and_sampler(uninterrupted: tuple[Path, TrainingParts]):
    _, parts = uninterrupted
    ref = parts.store.latest()

    state = json.loads((parts.store.path(ref) / "train_state.json").read_text())

    assert (state["schema"], state["step"], state["sampler"]["step"]) == ("train/1", 40, 40)
