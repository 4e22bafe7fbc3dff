"""Putting a checkpoint back into a run, on whatever number of ranks."""

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    set_model_state_dict,
    set_optimizer_state_dict,
)

from etude.checkpoints.commit import CheckpointStore
from etude.checkpoints.dcp import load_dcp
from etude.checkpoints.hf import load_hf
from etude.checkpoints.save_config import SaveConfig
from etude.core.errors import StateError
from etude.core.protocols import Ranks
from etude.core.ranks import together
from etude.core.types import CheckpointRef
from etude.curriculum.sampler import CurriculumSampler
from etude.store.atomic import read_json
from etude.train.step import Optimisation, as_module
from etude.train.training_state import (
    AVERAGE,
    FLAT,
    MODEL,
    OPTIMIZER,
    SCHEMA,
    TRAIN_STATE,
    tensor_state,
)

HF = "hf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """Where a run goes on."""

    step: int
    warnings: tuple[str, ...]
    """What begins anew because the checkpoint was saved without it."""


def newest(store: CheckpointStore, ranks: Ranks) -> CheckpointRef | None:
    """Return the checkpoint that all ranks resume from, chosen by rank 0; None if there is none.

    Raises:
        DataError: The newest checkpoint is damaged.
    """
    return together(ranks, lambda: store.latest() if ranks.rank == 0 else None)[0]


def load_snapshot(
    store: CheckpointStore,
    ref: CheckpointRef,
    optimisation: Optimisation,
    sampler: CurriculumSampler,
    *,
    accept_data_change: bool = False,
) -> Restored:
    """Put a checkpoint back into the parts of a run; a failure on one rank is one on all.

    Args:
        store: Where it lies.
        ref: The same on every rank.
        optimisation: Takes weights, averages and moments.
        sampler: Takes its position.
        accept_data_change: Go on although tasks or frames differ.

    Raises:
        StateError: The checkpoint was made by another kind of run.
        DataError: A file is missing or torn.
    """
    folder = store.path(ref)
    restored = together(
        optimisation.ranks,
        lambda: _load(folder, optimisation, sampler, accept_data_change=accept_data_change),
    )
    return restored[optimisation.ranks.rank]


def load_export(folder: Path, optimisation: Optimisation) -> None:
    """Begin with the weights of an export and nothing else: averages equal them, moments are new.

    Raises:
        PolicyError: The folder is no export.
        StateError: Its tensors are not those of the module.
    """

    def load() -> None:
        tensors = load_hf(folder)[1]
        _require_fit(folder, tensors, optimisation)
        for module in (optimisation.module, optimisation.average):
            set_model_state_dict(
                as_module(module),
                dict(tensors),
                options=StateDictOptions(full_state_dict=True),
            )

    together(optimisation.ranks, load)


def _load(
    folder: Path,
    optimisation: Optimisation,
    sampler: CurriculumSampler,
    *,
    accept_data_change: bool,
) -> Restored:
    document = read_json(folder / TRAIN_STATE)
    if document.get("schema") != SCHEMA:
        raise StateError(
            f"{folder / TRAIN_STATE} has schema {document.get('schema')!r}, not {SCHEMA!r}",
            hint="Resume with the version of Etude that saved it.",
        )
    sampler.load_state_dict(document["sampler"], accept_data_change=accept_data_change)
    left_out = set(document.get("left_out", ()))
    warnings = _load_tensors(folder, optimisation, left_out)
    return Restored(step=int(document["step"]), warnings=tuple(warnings))


def _load_tensors(folder: Path, optimisation: Optimisation, left_out: set[str]) -> list[str]:
    """Load what is there, and say what is not."""
    wanted = SaveConfig(optimizer=OPTIMIZER not in left_out, ema=AVERAGE not in left_out)
    state = tensor_state(optimisation, wanted)
    load_dcp(folder / "dcp", state)
    optimisation.module.load_state_dict(state[MODEL])
    warnings: list[str] = []
    if OPTIMIZER in state:
        set_optimizer_state_dict(
            as_module(optimisation.module),
            optimisation.optimizer,
            state[OPTIMIZER],
            options=FLAT,
        )
    else:
        warnings.append(f"{folder.name} has no optimiser state: its moments begin anew")
    if AVERAGE in state:
        optimisation.average.load_state_dict(state[AVERAGE])
    elif optimisation.average is not optimisation.module:
        warnings.append(_average_from_elsewhere(folder, optimisation))
    return warnings


def _average_from_elsewhere(folder: Path, optimisation: Optimisation) -> str:
    """Take the averaged weights from the export, or else from the live ones; say which."""
    if (folder / HF).is_dir():
        tensors = load_hf(folder / HF)[1]
        _require_fit(folder / HF, tensors, optimisation)
        set_model_state_dict(
            as_module(optimisation.average),
            dict(tensors),
            options=StateDictOptions(full_state_dict=True),
        )
        return f"{folder.name} has no averaged weights for training: those of its export go on"
    optimisation.average.load_state_dict(optimisation.module.state_dict())
    return f"{folder.name} has no averaged weights: they begin anew from the live ones"


def _require_fit(folder: Path, tensors: dict[str, Tensor], optimisation: Optimisation) -> None:
    wanted = {
        name: (tensor.dtype, tensor.shape)
        for name, tensor in optimisation.average.state_dict().items()
    }
    given = {name: (tensor.dtype, tensor.shape) for name, tensor in tensors.items()}
    differ = sorted(
        name for name in wanted.keys() | given.keys() if wanted.get(name) != given.get(name)
    )
    if differ:
        more = ", ..." if len(differ) > 4 else ""
        raise StateError(
            f"{folder} does not fit this run: {len(differ)} tensors are missing, unknown or of "
            f"another shape or type: {', '.join(differ[:4])}{more}",
            hint="Begin with the policy and settings that the export was saved with.",
        )
