"""Reading LeRobot v2.1 and v2.0 datasets as they are: they need not be converted.

Source: huggingface/lerobot at 000e447, lerobot/common/datasets/utils.py.
"""

from etude.datasets.episode_table import read_episode_lines
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
    return read_lerobot(config, format="lerobot_v21", version="v2.1", episodes=read_episode_lines)
