"""A training run that several tests look at."""

from pathlib import Path

import pytest

from etude.train.loop import TrainingParts
from etude.train.stop import StopRequest
from training_run import make_loop


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TrainingParts]:
    """The folder and parts of a run that nothing has stopped; tests only read them."""
    folder = tmp_path_factory.mktemp("straight")
    loop, parts = make_loop(folder)
    loop.run(StopRequest())
    return folder, parts
