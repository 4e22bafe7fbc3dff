"""The `chunk` policy for inference, from an export or a checkpoint."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from etude.checkpoints.hf import CONFIG, load_hf
from etude.checkpoints.weights_id import weights_id
from etude.core.errors import PolicyError
from etude.core.task_table import tasks_from_json
from etude.core.types import ActionChunk, ContentKey, DataSpec, Observation, Task
from etude.policies.chunk_config import ChunkConfig
from etude.policies.chunk_module import ChunkModule
from etude.store.content import content_key


class ChunkPolicy:
    """Stateless and batched; one row's actions never depend on the other rows' content."""

    def __init__(self, module: ChunkModule) -> None:
        self._module = module.eval()
        self._places = {task.id: place for place, task in enumerate(module.spec.tasks)}
        self._ones = np.ones(module.config.horizon, dtype=np.bool_)
        self._ones.flags.writeable = False  # all chunks share it
        self.key: ContentKey = content_key(
            "policy/1",
            weights_id(module.state_dict()),
            module.config.horizon,
            module.config.execute,
            module.config.differences,
            module.config.scales,
            [task.id for task in module.spec.tasks],
        )

    @property
    def config(self) -> ChunkConfig:
        """The settings it was trained with."""
        return self._module.config

    @property
    def horizon(self) -> int:
        """Number of actions in every chunk."""
        return self._module.config.horizon

    @property
    def execute(self) -> int:
        """How many actions of a chunk are played."""
        return self._module.config.execute

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks it was trained on."""
        return self._module.spec.tasks

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        """Return one chunk for each observation; `seed` has no effect, since nothing is drawn.

        Raises:
            PolicyError: A task was not trained, or a state has another size.
        """
        del seed
        if not observations:
            return []
        states = torch.from_numpy(np.stack([self._state(seen) for seen in observations]))
        tasks = torch.tensor([self._place(seen) for seen in observations])
        chunks = self._module.predict(states, tasks).numpy()
        return [ActionChunk(actions=chunk, valid=self._ones) for chunk in chunks]

    def _place(self, seen: Observation) -> int:
        if seen.task not in self._places:
            raise PolicyError(
                f"task {seen.task} is none of the {len(self._places)} tasks of this policy",
                hint="Evaluate the tasks that it was trained on, or train it on this one.",
            )
        return self._places[seen.task]

    def _state(self, seen: Observation) -> np.ndarray:
        if seen.state.shape != (self._module.spec.state_dim,):
            raise PolicyError(
                f"a state of {seen.task} has shape {seen.state.shape}, "
                f"not ({self._module.spec.state_dim},)",
                hint="Evaluate with the simulator that the demonstrations came from.",
            )
        return seen.state.astype(np.float32, copy=False)


def load_chunk_policy(path: Path) -> ChunkPolicy:
    """Return the policy that an export folder, or the checkpoint around it, holds.

    The checkpoint alone says how the policy is shaped and played.

    Raises:
        PolicyError: The folder holds no chunk policy, or tensors are missing, not wanted, or of
            another shape.
        DataError: The config is no JSON object.
    """
    folder = path / "hf" if (path / "hf").is_dir() else path
    described, tensors = load_hf(folder)
    if described.get("schema") != "chunk/1":
        raise PolicyError(
            f"{folder} holds a policy of schema {described.get('schema')!r}, not 'chunk/1'",
            hint="Choose the plug-in that saved it with --policy.use.",
        )
    module = _module(described, folder)
    _require_names(module.state_dict(), tensors, folder)
    _require_shapes(module.state_dict(), tensors, folder)
    module.load_state_dict(tensors)
    return ChunkPolicy(module)


def _module(described: Mapping[str, Any], folder: Path) -> ChunkModule:
    try:
        return ChunkModule(_config(described["config"]), _spec(described))
    except KeyError as error:
        raise PolicyError(
            f"{folder / CONFIG} does not say {error}",
            hint="Restore the file from a copy, or use another checkpoint.",
        ) from error
    except (TypeError, ValueError) as error:
        raise PolicyError(
            f"{folder / CONFIG} has settings that this version does not know: {error}",
            hint="Use the version of Etude that saved it.",
        ) from error


def _config(saved: Mapping[str, Any]) -> ChunkConfig:
    differences = tuple((int(a), int(b), int(n)) for a, b, n in saved["differences"])
    scales = tuple(float(scale) for scale in saved["scales"])
    settings: dict[str, Any] = {**saved, "differences": differences, "scales": scales}
    return ChunkConfig(**settings)


def _spec(described: Mapping[str, Any]) -> DataSpec:
    return DataSpec(
        repo_id=str(described["dataset"]),
        fps=float(described["fps"]),
        tasks=tasks_from_json(described["tasks"]),
        state_dim=int(described["state_dim"]),
        action_dim=int(described["action_dim"]),
    )


def _require_names(wanted: Mapping[str, Tensor], found: Mapping[str, Tensor], folder: Path) -> None:
    missing, extra = sorted(wanted.keys() - found.keys()), sorted(found.keys() - wanted.keys())
    if missing or extra:
        raise PolicyError(
            f"{folder} lacks {len(missing)} tensors ({', '.join(missing[:4]) or 'none'}) and has "
            f"{len(extra)} that are not wanted ({', '.join(extra[:4]) or 'none'})",
            hint="Use the version of Etude that saved it.",
        )


def _require_shapes(
    wanted: Mapping[str, Tensor], found: Mapping[str, Tensor], folder: Path
) -> None:
    other = [
        f"{name} {list(found[name].shape)}, not {list(wanted[name].shape)}"
        for name in sorted(wanted)
        if found[name].shape != wanted[name].shape
    ]
    if other:
        raise PolicyError(
            f"{folder} has {len(other)} tensors of another shape ({'; '.join(other[:4])})",
            hint="Restore the folder from a copy, or use another checkpoint.",
        )
