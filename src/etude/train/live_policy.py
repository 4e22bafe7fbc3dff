"""The weights in training as a policy that can be scanned and played."""

from collections.abc import Sequence
from typing import Protocol, cast, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from etude.core.errors import PolicyError
from etude.core.types import ActionChunk, ContentKey, DataSpec, Observation
from etude.train.step import as_module
from etude.train.trainable import Trainable


@runtime_checkable
class Playable(Trainable, Protocol):
    """A trainable module that answers states with actions."""

    def predict(
        self, states: Float[Tensor, "batch state"], tasks: Int64[Tensor, " batch"]
    ) -> Float[Tensor, "batch horizon action"]:
        """Return action chunks in the dataset's own units."""
        ...


class LivePolicy:
    """A `Policy` over a module that goes on to be trained; nothing of it changes.

    Every call is one call of the module, so that ranks that share it can keep in step.
    """

    def __init__(self, module: Trainable, spec: DataSpec, *, key: str) -> None:
        """Play `module`; `key` names its weights, which are not hashed.

        Raises:
            PolicyError: The module cannot be played, or does not say how many actions are.
        """
        if not isinstance(module, Playable):
            raise PolicyError(
                f"{type(module).__name__} has no predict(states, tasks), so it cannot be scored",
                hint="Give it one, or set score.kind to none.",
            )
        settings = module.describe().get("config")
        played: object = (
            cast("dict[str, object]", settings).get("execute")
            if isinstance(settings, dict)
            else None
        )
        if not isinstance(played, int) or played < 1:
            raise PolicyError(
                f"{type(module).__name__} does not say how many actions of a chunk are played",
                hint="Let describe() return a config with `execute`, or set score.kind to none.",
            )
        self._module = module
        self._places = {task.id: place for place, task in enumerate(spec.tasks)}
        self.key = ContentKey(key)
        self.horizon = len(module.window.action_offsets)
        self.execute = played

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        """Return one chunk for each observation; `seed` has no effect, since nothing is drawn.

        Raises:
            PolicyError: A task is none of those in training.
        """
        del seed
        strange = [seen.task for seen in observations if seen.task not in self._places]
        if strange:
            raise PolicyError(f"task {strange[0]} is none of the {len(self._places)} tasks")
        device = next(self._module.parameters()).device
        states = torch.from_numpy(np.stack([seen.state for seen in observations]))
        tasks = torch.tensor([self._places[seen.task] for seen in observations])
        chunks = self._predict(states.to(device), tasks.to(device)).float().cpu().numpy()
        valid = np.ones(chunks.shape[1], dtype=np.bool_)
        return [ActionChunk(actions=chunk, valid=valid) for chunk in chunks]

    @torch.no_grad()
    def _predict(self, states: Tensor, tasks: Tensor) -> Tensor:
        module = as_module(self._module)
        training = module.training
        module.eval()
        try:
            return self._module.predict(states, tasks)
        finally:
            module.train(training)
