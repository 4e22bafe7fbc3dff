"""What a checkpoint holds of a training run, and how it comes back."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from torch import Tensor
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)

from etude.checkpoints.card import model_card
from etude.checkpoints.commit import CheckpointStore
from etude.checkpoints.dcp import load_dcp, save_dcp
from etude.checkpoints.hf import save_hf
from etude.checkpoints.weights_id import weights_id
from etude.core.errors import StateError
from etude.core.kill_points import kill_point
from etude.core.types import CheckpointRef
from etude.curriculum.sampler import CurriculumSampler
from etude.store.atomic import read_json, write_json
from etude.train.step import Optimisation, as_module

TRAIN_STATE = "train_state.json"
SCHEMA = "train/1"
FLAT = StateDictOptions(flatten_optimizer_state_dict=True)
"""One entry for each parameter, so that a checkpoint says by name what it lacks."""
ROOM = 1.1
"""Free space wanted before a save, as a multiple of the tensors' own bytes."""


def save_snapshot(
    store: CheckpointStore, optimisation: Optimisation, sampler: CurriculumSampler, *, step: int
) -> CheckpointRef:
    """Commit weights, averages, optimiser, sampler and step as one checkpoint.

    Raises:
        StorageError: There is no room; earlier checkpoints are intact.
    """
    tensors = optimisation.average.state_dict()
    config = optimisation.average.describe()
    weights = weights_id(tensors)
    state = _tensor_state(optimisation)

    def write(folder: Path) -> None:
        save_dcp(folder / "dcp", state)
        kill_point("save.dcp_written")
        save_hf(
            folder / "hf",
            config=config,
            tensors=tensors,
            card=model_card(config, step=step, weights=weights),
        )
        kill_point("save.hf_written")
        write_json(
            folder / TRAIN_STATE,
            {"schema": SCHEMA, "step": step, "sampler": sampler.state_dict()},
        )

    return store.save(
        step,
        write,
        weights=weights,
        needed_bytes=int(ROOM * (_bytes(state) + _bytes(tensors))),
        topology={"world_size": 1, "strategy": "single"},
    )


def load_snapshot(
    store: CheckpointStore,
    ref: CheckpointRef,
    optimisation: Optimisation,
    sampler: CurriculumSampler,
) -> int:
    """Put a checkpoint back into the parts of a run, and return its step.

    Raises:
        StateError: The checkpoint was made by another kind of run.
    """
    folder = store.path(ref)
    document = read_json(folder / TRAIN_STATE)
    if document.get("schema") != SCHEMA:
        raise StateError(
            f"{folder / TRAIN_STATE} has schema {document.get('schema')!r}, not {SCHEMA!r}",
            hint="Resume with the version of Etude that saved it.",
        )
    sampler.load_state_dict(document["sampler"])
    state = _tensor_state(optimisation)
    load_dcp(folder / "dcp", state)
    optimisation.module.load_state_dict(state["model"])
    if optimisation.average is not optimisation.module:
        optimisation.average.load_state_dict(state["average"])
    set_optimizer_state_dict(
        as_module(optimisation.module),
        optimisation.optimizer,
        state["optimizer"],
        options=FLAT,
    )
    return int(document["step"])


def _tensor_state(optimisation: Optimisation) -> dict[str, Any]:
    state: dict[str, Any] = {
        "model": optimisation.module.state_dict(),
        "optimizer": get_optimizer_state_dict(
            as_module(optimisation.module), optimisation.optimizer, options=FLAT
        ),
    }
    if optimisation.average is not optimisation.module:
        state["average"] = optimisation.average.state_dict()
    return state


def _bytes(state: Mapping[str, Any]) -> int:
    total = 0
    for value in state.values():
        if isinstance(value, Tensor):
            total += value.numel() * value.element_size()
        elif isinstance(value, Mapping):
            total += _bytes(cast("Mapping[str, Any]", value))
    return total
