from pathlib import Path

import numpy as np
import pytest
import torch

from etude.core.errors import TrainingError
from etude.curriculum.plan import uniform_plan
from etude.curriculum.sampler import CurriculumSampler
from etude.events.reader import read_events
from etude.train.loop import TrainingParts
from etude.train.stop import StopRequest
from etude.train.train_config import TrainConfig
from training_run import TASKS, dataset, make_loop, weights


def poison(parts: TrainingParts, row: int) -> None:
    """Put a NaN into one state, behind the back of the checks at loading."""
    first = parts.dataset.episodes[0]
    parts.dataset.columns(first).states[row - first.start, 0] = np.nan


def first_step_with(row: int) -> int:
    """The step (from 1) whose batch first holds a row."""
    data = dataset()
    sampler = CurriculumSampler(
        data.episodes[::2], uniform_plan([task.id for task in TASKS]), batch_size=12, seed=0
    )
    step = 1
    while row not in sampler.next_rows():
        step += 1
    return step


def test_a_loss_that_is_not_finite_stops_before_the_step_and_names_the_rows(tmp_path: Path):
    loop, parts = make_loop(tmp_path / "poisoned")
    poison(parts, 3)
    bad_step = first_step_with(3)

    with pytest.raises(
        TrainingError, match=f"the loss of step {bad_step} is not finite, in rows 3;"
    ):
        loop.run(StopRequest())

    _, clean = make_loop(tmp_path / "clean")
    for number in range(bad_step - 1):
        clean.optimisation.step(clean.loader.next_batch().tensors, number)
    for name, live in clean.optimisation.module.state_dict().items():
        assert torch.equal(live, parts.optimisation.module.state_dict()[name]), name
    skipped = [r for r in read_events(tmp_path / "poisoned/events") if r["kind"] == "step_skipped"]
    assert [(r["step"], r["rows"]) for r in skipped] == [(bad_step, [3])]
    assert parts.store.steps() == []


def test_skipping_leaves_out_single_steps_and_counts_them(tmp_path: Path):
    config = TrainConfig(
        lr=1e-2, warmup_steps=3, log_every=5, held_out_every=0, on_nonfinite="skip"
    )
    loop, parts = make_loop(tmp_path, config=config)
    poison(parts, 3)

    ref = loop.run(StopRequest())

    skipped = [r["step"] for r in read_events(tmp_path / "events") if r["kind"] == "step_skipped"]
    assert ref.step == 40
    assert skipped[0] == first_step_with(3)
    assert all(torch.isfinite(value).all() for value in weights(parts).values())
    losses = [r["loss"] for r in read_events(tmp_path / "events") if r["kind"] == "steps_finished"]
    assert all(isinstance(loss, float) for loss in losses)


def test_too_many_bad_steps_in_a_row_end_a_run_that_skips(tmp_path: Path):
    config = TrainConfig(log_every=5, held_out_every=0, on_nonfinite="skip")
    loop, parts = make_loop(tmp_path, config=config)
    for episode in parts.dataset.episodes:
        parts.dataset.columns(episode).states[:] = np.nan

    with pytest.raises(TrainingError, match="4 steps in a row were not finite, the last being 4"):
        loop.run(StopRequest())
