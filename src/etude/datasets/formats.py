"""Telling from a folder in which format its demonstrations are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from etude.core.errors import DataError
from etude.core.plugins import named_function
from etude.datasets.info import is_old
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.lerobot_schema import INFO_FILE
from etude.datasets.parquet_files import require_there
from etude.datasets.recorded import RecordedDataset
from etude.store.atomic import read_json

READERS = {
    "lerobot_v3": "etude.datasets.lerobot_v3",
    "lerobot_v21": "etude.datasets.lerobot_v21",
    "robotwin": "etude.datasets.robotwin",
}
"""Module of each format; it has `read_recording` and `open_dataset`."""

_SEARCHED = ("*.hdf5", "*/*.hdf5", "*/*/*.hdf5", "*/*/*/*.hdf5", "*/*/*/*/*.hdf5")


def open_dataset(config: LeRobotConfig) -> RecordedDataset:
    """Read and check a dataset of any format.

    Raises:
        DataError: The folder holds no known format, or something in it cannot be used.
    """
    return reader(config, "open_dataset")(config)


def reader(config: LeRobotConfig, function: str = "read_recording") -> Callable[..., Any]:
    """Return a function of the module that reads the format of the config's folder.

    Raises:
        DataError: The folder is not there or holds no known format.
        MissingToolError: The format needs a package that is not installed.
    """
    folder = require_folder(config.folder, config.repo_id)
    return named_function(f"{READERS[detect(folder)]}:{function}")


def detect(folder: Path) -> str:
    """Return the name of the format in which a folder is.

    Raises:
        DataError: It is in none that is known.
    """
    if (folder / INFO_FILE).exists():
        try:
            version = str(read_json(folder / INFO_FILE).get("codebase_version"))
        except DataError:
            # The reader says what is wrong with the file.
            return "lerobot_v3"
        return "lerobot_v21" if is_old(version) else "lerobot_v3"
    if any(next(folder.glob(pattern), None) for pattern in _SEARCHED):
        return "robotwin"
    raise DataError(
        f"{folder} holds neither {INFO_FILE} of LeRobot nor HDF5 files of RoboTwin",
        hint="Set dataset.root to the folder that holds meta/info.json, or the data of a task.",
    )


def require_folder(folder: str, repo_id: str) -> Path:
    """Return the folder of a dataset.

    Raises:
        DataError: It is not there.
    """
    path = Path(folder)
    if not path.exists() and not path.is_symlink():
        raise DataError(
            f"the folder {path} of dataset {repo_id} is not there",
            hint="Set dataset.root to the folder that holds meta/info.json.",
        )
    require_there(path)
    return path
