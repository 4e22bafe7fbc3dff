"""Reading LeRobot v3.0 datasets. Nothing is ever written into them, or downloaded.

Source: huggingface/lerobot, src/lerobot/datasets/{dataset_metadata,dataset_reader,io_utils}.py.
"""

from etude.datasets.episode_table import read_episode_files
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.lerobot_reading import read_lerobot
from etude.datasets.recorded import RecordedDataset, Recording, open_recording


def open_dataset(config: LeRobotConfig) -> RecordedDataset:
    """Read and check a dataset.

    Raises:
        DataError: Something is missing, torn, or not what the metadata says; all faults that can
            be seen are in the one message.
    """
    return open_recording(config, read_recording(config))


def read_recording(config: LeRobotConfig) -> Recording:
    """Return what the folder holds, and what is wrong with it.

    Raises:
        DataError: A file that everything else depends on is missing or torn.
    """
    return read_lerobot(config, format="lerobot_v3", version="v3.0", episodes=read_episode_files)
