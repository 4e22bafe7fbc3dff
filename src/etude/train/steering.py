"""What decides, between steps, what is trained on next."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from etude.core.types import CheckpointRef, ContentKey
from etude.train.trainable import Trainable

Filed = Callable[[ContentKey], Mapping[str, bytes]]
"""Turns the identity of the saved weights into files of the checkpoint, by name."""


@runtime_checkable
class Steering(Protocol):
    """Steers training and keeps what it knows in the checkpoints.

    All ranks call every method alike and at the same steps, from the thread that trains. An error
    on one rank must be one on all: use `together` for what may fail on one of them.
    """

    def after_step(self, step: int, average: Trainable) -> None:
        """Look at the weights if it is time to, and tell the sampler what follows.

        Args:
            step: Steps done so far.
            average: The weights that inference would use; sharded where the module is.
        """
        ...

    def capture(self, step: int) -> Filed:
        """Freeze what belongs into the checkpoint of this step.

        The identity of the weights is known only later, while training goes on: what is returned
        must not change with it. It is called on rank 0, maybe by another thread, and must neither
        talk to other ranks nor touch what `after_step` changes.
        """
        ...

    def extra(self, step: int) -> Mapping[str, Any]:
        """Return what the manifest says beside its own, by names of its own, ready for JSON.

        It is asked at the same instant as `capture`, on every rank; what rank 0 says counts.
        """
        ...

    def committed(self, ref: CheckpointRef) -> None:
        """Note that a checkpoint is on disk, whole; maybe some steps later than its own."""
        ...

    def resume(self, folder: Path, step: int) -> None:
        """Continue with what `capture` returned for the checkpoint in `folder`."""
        ...
