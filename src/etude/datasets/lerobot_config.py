"""Settings of recorded datasets: `auto`, `lerobot_v3` and `lerobot_v21`."""

from dataclasses import dataclass
from typing import Literal

from etude.core.errors import ConfigError
from etude.core.limits import require_at_least, require_between
from etude.core.plugins import Plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class LeRobotConfig:
    """Where a dataset lies and how it is read."""

    repo_id: str = "etude/metaworld-mt50"
    """Name of the dataset; its last part begins every task id."""
    root: str = ""
    """Folder of the dataset; empty means data/<repo_id>."""
    hold_out_episodes: int = 1
    """Episodes of each task that are never trained on. A task keeps at least one for training."""
    on_bad: Literal["stop", "skip"] = "stop"
    """Whether an episode with a value that is not finite stops the run or is left out."""
    video_tolerance_frames: int = 0
    """1 lets a video lack the last frame of an episode: the one before it is shown twice."""

    def __post_init__(self) -> None:
        if not self.repo_id.strip("/ "):
            raise ConfigError("repo_id is empty", hint="Name the dataset, e.g. me/my-robot.")
        require_at_least("hold_out_episodes", self.hold_out_episodes, 0)
        require_between("video_tolerance_frames", self.video_tolerance_frames, 0, 1)

    @property
    def folder(self) -> str:
        """Where the dataset lies."""
        return self.root or f"data/{self.repo_id}"


PLUGIN = Plugin(config=LeRobotConfig, build="etude.datasets.lerobot_v3:open_dataset")
V21 = Plugin(config=LeRobotConfig, build="etude.datasets.lerobot_v21:open_dataset")
AUTO = Plugin(config=LeRobotConfig, build="etude.datasets.formats:open_dataset")
