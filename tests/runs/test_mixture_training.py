"""Training on two robots at once, as a recipe asks for it."""

from pathlib import Path

import pytest

from etude.runs.config import load
from etude.runs.training import train
from etude.store.atomic import read_json
from robots import write_robot
from training_run import quiet


def test_datasets_of_two_robots_are_drawn_by_their_weights(tmp_path: Path):
    roots = [
        str(write_robot(tmp_path / "one", size=7, lengths=[9, 8, 7, 6], tasks=2)),
        str(write_robot(tmp_path / "two", size=14, lengths=[6, 30])),
    ]
    config = load(
        None,
        [
            *("--dataset.use", "mixture", "--dataset.roots", *roots, "--dataset.weights", "7", "3"),
            *("--policy.width", "16", "--policy.blocks", "1", "--steps", "3", "--batch_size", "20"),
            *("--train.warmup_steps", "1", "--output_dir", str(tmp_path / "run")),
        ],
    )

    outcome = train(config, command=[], resume=False, progress=quiet)

    state = read_json(tmp_path / "run" / outcome.checkpoint / "train_state.json")
    [[_, weights]] = state["sampler"]["plans"]
    assert state["sampler"]["tasks"] == ["one/0", "one/1", "two/0"]
    assert weights == pytest.approx([0.35, 0.35, 0.3])
    # Three batches of 20: 7, 7 and 6 of the tasks in each.
    assert state["sampler"]["cursors"] == [[21], [21], [18]]
