"""Settings of the `robotwin` dataset."""

from dataclasses import dataclass

from etude.core.limits import require_over
from etude.core.plugins import Plugin
from etude.datasets.lerobot_config import LeRobotConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class RoboTwinConfig(LeRobotConfig):
    """Where RoboTwin episodes lie and how they are read."""

    repo_id: str = "etude/robotwin"
    """Name of the dataset; its last part begins every task id."""
    fps: float = 15.0
    """Frames in a second, where files do not say it themselves."""

    def __post_init__(self) -> None:
        LeRobotConfig.__post_init__(self)
        require_over("fps", self.fps, 0)


PLUGIN = Plugin(config=RoboTwinConfig, build="etude.datasets.robotwin:open_dataset")
