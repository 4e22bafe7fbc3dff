import json
from pathlib import Path
from typing import Any

import pytest

from etude.core.errors import StateError
from etude.runs.config import load
from etude.runs.run_files import begin, require_usable
from etude.store.layout import RunFolder
from training_run import dataset


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run that was begun with all defaults."""
    run = RunFolder(tmp_path / "run")
    run.root.mkdir()
    begin(run, load(None), dataset(), command=["etude", "train"])
    return run


def rewrite(folder: RunFolder, **sections: Any) -> None:
    """Replace sections of the configuration in run.json, or drop those given as None."""
    saved = json.loads(folder.manifest.read_text())
    config = {**saved["config"], **sections}
    saved["config"] = {name: section for name, section in config.items() if section is not None}
    folder.manifest.write_text(json.dumps(saved))


def test_a_run_from_before_there_were_scans_can_be_resumed(folder: RunFolder):
    rewrite(folder, scan=None, cache=None, world=None)

    require_usable(folder, load(None), resume=True)


def test_a_resumed_run_may_be_scanned_otherwise(folder: RunFolder):
    flags = ["--scan.tau", "0.5", "--cache.root", "elsewhere", "--world.timeout_s", "60"]

    require_usable(folder, load(None, flags), resume=True)


def test_a_resumed_run_may_not_train_otherwise(folder: RunFolder):
    with pytest.raises(StateError, match=r"train\.lr was 0\.001, is 0\.5"):
        require_usable(folder, load(None, ["--train.lr", "0.5"]), resume=True)
