"""Settings of the `mixture` dataset."""

from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from etude.core.errors import ConfigError
from etude.core.limits import require_at_least, require_between, require_over
from etude.core.plugins import Plugin
from etude.datasets.lerobot_config import LeRobotConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureConfig:
    """Several datasets, of any format and of different robots, that are trained on together."""

    roots: tuple[str, ...]
    """Folders of the datasets."""
    repo_ids: tuple[str, ...] = ()
    """Names of the datasets, whose last parts begin their task ids; empty means the folders'."""
    weights: tuple[float, ...] = ()
    """Share of each dataset in what is drawn, in any unit; empty means the same for all."""
    hold_out_episodes: int = 1
    """Episodes of each task that are never trained on. A task keeps at least one for training."""
    on_bad: Literal["stop", "skip"] = "stop"
    """Whether an episode with a value that is not finite stops the run or is left out."""
    video_tolerance_frames: int = 0
    """1 lets a video lack the last frame of an episode: the one before it is shown twice."""

    def __post_init__(self) -> None:
        if not self.roots:
            raise ConfigError("roots is empty", hint="Name the folders of the datasets.")
        for name in ("repo_ids", "weights"):
            given = len(getattr(self, name))
            if given not in (0, len(self.roots)):
                raise ConfigError(
                    f"{name} has {given} entries, not one for each of {len(self.roots)} roots",
                    hint=f"Give {name} one entry for each root, or leave it out.",
                )
        for weight in self.weights:
            require_over("weights", weight, 0)
        families = [name.strip("/ ").rpartition("/")[2] for name in self.names]
        twice = next((name for name in families if families.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(
                f"repo_ids has two datasets called {twice!r}, whose task ids would be the same",
                hint="Give each a name of its own, e.g. repo_ids = ['me/left', 'me/right'].",
            )
        require_at_least("hold_out_episodes", self.hold_out_episodes, 0)
        require_between("video_tolerance_frames", self.video_tolerance_frames, 0, 1)

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each dataset."""
        return self.repo_ids or tuple(PurePath(root).name for root in self.roots)

    @property
    def shares(self) -> tuple[float, ...]:
        """Share of each dataset; they sum to 1."""
        weights = self.weights or (1.0,) * len(self.roots)
        return tuple(weight / sum(weights) for weight in weights)

    @property
    def folder(self) -> str:
        """Where the first dataset lies."""
        return self.roots[0]

    @property
    def parts(self) -> tuple[LeRobotConfig, ...]:
        """Settings of each dataset by itself."""
        return tuple(
            LeRobotConfig(
                repo_id=name,
                root=root,
                hold_out_episodes=self.hold_out_episodes,
                on_bad=self.on_bad,
                video_tolerance_frames=self.video_tolerance_frames,
            )
            for name, root in zip(self.names, self.roots, strict=True)
        )


PLUGIN = Plugin(config=MixtureConfig, build="etude.datasets.mixture:open_dataset")
