"""A policy on disk, known without loading it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from etude.checkpoints.commit import MANIFEST, faults
from etude.core.errors import ConfigError, DataError, PolicyError
from etude.core.plugins import find
from etude.core.protocols import Policy
from etude.core.types import ContentKey
from etude.runs.build import checkpoint_to_load
from etude.runs.run_config import RunConfig
from etude.store.atomic import read_json
from etude.store.layout import RunFolder

CONFIG = "config.json"
"""File of an export that describes the policy; `checkpoints.hf` writes it and needs torch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedPolicy:
    """What a checkpoint says of the policy in it."""

    use: str
    """Name of its plug-in."""
    folder: Path
    step: int
    """Steps that it was trained for."""
    weights: ContentKey
    described: dict[str, Any]
    """What its export says of it, beside the tensors."""
    named: bool = True
    """Always: weights identify themselves."""
    cameras: tuple[str, ...] = ()
    """Cameras whose pictures it sees; what Etude trains sees none."""

    @property
    def played_actions(self) -> int:
        """How many actions of a chunk the policy plays.

        Raises:
            PolicyError: Its export does not say.
        """
        settings = cast("Mapping[str, Any]", self.described.get("config") or {})
        played: Any = settings.get("execute")
        if not isinstance(played, int) or played < 1:
            raise PolicyError(
                f"{self.folder / 'hf' / CONFIG} does not say how many actions are played",
                hint="Set --scan.horizon to how many are to be judged.",
            )
        return played

    def load(self) -> Policy:
        """Load the policy.

        Raises:
            PolicyError: Its export is not what it says.
        """
        return find("etude.policies", self.use).builder()(self.folder)


def read_saved_policy(config: RunConfig) -> SavedPolicy:
    """Return what a checkpoint says of the policy in it.

    Raises:
        ConfigError: The policy is none that is trained.
        PolicyError: There is no such checkpoint.
        DataError: The checkpoint is damaged.
    """
    if not find("etude.policies", config.policy.use).trainable:
        raise ConfigError(
            f"policy.use is {config.policy.use!r}, which has no weights to scan",
            hint="Scan a policy that learns, such as --policy.use chunk.",
        )
    folder, _ = checkpoint_to_load(config, RunFolder(Path(config.output_dir)))
    if folder.name == "hf" and (folder.parent / MANIFEST).is_file():
        folder = folder.parent
    if found := faults(folder):
        raise DataError(
            f"{folder} is no whole checkpoint: {'; '.join(found[:3])}",
            hint="Name a checkpoint, e.g. --policy.path runs/mt50/checkpoints/step-00001000.",
        )
    manifest = read_json(folder / MANIFEST)
    return SavedPolicy(
        use=config.policy.use,
        folder=folder,
        step=int(manifest["step"]),
        weights=ContentKey(str(manifest["weights"])),
        described=read_json(folder / "hf" / CONFIG),
    )
