"""Saving a training run on all of its ranks, at once or beside the training that goes on."""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from torch import Tensor
from torch.distributed.checkpoint.storage import WriteResult
from torch.distributed.tensor import DTensor

from etude.checkpoints.card import model_card
from etude.checkpoints.commit import CheckpointStore, Draft, SealedFile, seal
from etude.checkpoints.copies import Copies, Take, themselves
from etude.checkpoints.dcp import DcpWrite
from etude.checkpoints.hf import save_hf
from etude.checkpoints.save_config import SaveConfig
from etude.checkpoints.weights_id import weights_id
from etude.core.kill_points import kill_point
from etude.core.ranks import together
from etude.core.types import CheckpointRef, ContentKey
from etude.curriculum.sampler import CurriculumSampler
from etude.store.atomic import encode_json, storage_errors, write_bytes
from etude.train.steering import Filed, Steering
from etude.train.step import Optimisation
from etude.train.training_state import TRAIN_STATE, tensor_state, train_state

ROOM = 1.1
"""Free space wanted before a save, as a multiple of the tensors' own bytes."""
DCP, HF = "dcp", "hf"
TASK_STATE = "task_state.json"
"""The one file of a steering that also travels with the export."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frozen:
    """What belongs into a checkpoint, as it was when the save began."""

    step: int
    tensors: Mapping[str, Tensor]
    """Of the export: on rank 0 all of them whole, on other ranks none."""
    config: Mapping[str, Any]
    export: bool
    train_state: bytes
    filed: Filed
    extra: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Written:
    """What one rank has written."""

    results: list[WriteResult]
    sealed: list[SealedFile]
    weights: ContentKey | None
    """Of rank 0."""


class Saves:
    """The checkpoints of a run, one after another; all ranks call every method alike."""

    def __init__(
        self,
        store: CheckpointStore,
        optimisation: Optimisation,
        sampler: CurriculumSampler,
        config: SaveConfig,
        *,
        steering: Steering | None = None,
    ) -> None:
        self._store = store
        self._optimisation = optimisation
        self._sampler = sampler
        self._config = config
        self._steering = steering
        self._ranks = optimisation.ranks
        self._copies = Copies() if config.mode == "async" else None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="save")
        self._pending: _Pending | None = None
        self._retired: Future[None] | None = None

    @property
    def pending(self) -> bool:
        """Whether a save has begun that is not committed."""
        return self._pending is not None

    @property
    def busy(self) -> bool:
        """Whether this rank is still writing."""
        return self._pending is not None and not self._pending.written.done()

    def begin(self, step: int, *, final: bool = False) -> None:
        """Freeze everything and have it written; in synchronous mode, wait until it is.

        Args:
            step: Steps done.
            final: This checkpoint is the last of the run, which always has an export.

        Raises:
            StorageError: There is no room; earlier checkpoints are intact.
        """
        if self._copies:
            self._copies.new_instant()
        take = self._copies.take if self._copies else themselves
        state = tensor_state(self._optimisation, self._config)
        every = self._config.hf_every
        frozen = self._freeze(step, take, export=final or every == 0 or step % every == 0)
        room = int(ROOM * (tensor_bytes(state) + tensor_bytes(frozen.tensors)))
        draft = together(self._ranks, lambda: self._new_draft(step, room))[0]
        assert draft is not None
        write = DcpWrite(draft.folder / DCP, state, self._ranks, take=take)
        written = self._worker.submit(_write, draft, write, frozen)
        self._pending = _Pending(draft=draft, write=write, frozen=frozen, written=written)
        if self._copies is None:
            written.exception()

    def commit(self) -> CheckpointRef:
        """Wait until all ranks have written, and make the checkpoint count.

        Raises:
            StorageError: A file could not be written, on whatever rank; earlier ones are intact.
        """
        pending, self._pending = self._pending, None
        assert pending is not None
        try:
            all_written = together(self._ranks, pending.written.result)
            ref = together(self._ranks, lambda: self._finish(pending, all_written))[0]
        finally:
            if self._ranks.rank == 0:
                self._store.abandon(pending.draft)
        assert ref is not None
        if self._steering:
            self._steering.committed(ref)
        if self._ranks.rank == 0:
            self._retired = self._worker.submit(self._store.retire)
        if self._copies is None:
            self.close()
        return ref

    def close(self) -> None:
        """Wait until checkpoints beyond those that stay are gone.

        Raises:
            StorageError: One could not be deleted.
        """
        together(self._ranks, self._wait_for_retired)

    def _wait_for_retired(self) -> None:
        retired, self._retired = self._retired, None
        if retired:
            retired.result()

    def _new_draft(self, step: int, room: int) -> Draft | None:
        if self._ranks.rank != 0:
            return None
        self._wait_for_retired()
        return self._store.begin(step, needed_bytes=room)

    def _freeze(self, step: int, take: Take, *, export: bool) -> Frozen:
        steering = self._steering
        return Frozen(
            step=step,
            tensors=self._export(take),
            config=self._optimisation.average.describe(),
            export=export,
            train_state=encode_json(
                train_state(step, self._sampler.state_dict(), self._config), indent=1
            ),
            filed=steering.capture(step) if steering else _nothing,
            extra=steering.extra(step) if steering else {},  # noqa: S610 - no query
        )

    def _export(self, take: Take) -> dict[str, Tensor]:
        """Return on rank 0 the whole tensors that inference uses; all ranks help to gather them."""
        average = self._optimisation.average
        part = "model" if average is self._optimisation.module else "average"
        whole: dict[str, Tensor] = {}
        for name, tensor in average.state_dict().items():
            if isinstance(tensor, DTensor):
                gathered = tensor.full_tensor()
                if self._ranks.rank == 0:
                    whole[name] = gathered.cpu()
            elif self._ranks.rank == 0:
                whole[name] = take(f"{part}.{name}", tensor)
        return whole

    def _finish(self, pending: "_Pending", written: list[Written]) -> CheckpointRef | None:
        if self._ranks.rank != 0:
            return None
        weights = written[0].weights
        assert weights is not None
        with storage_errors(pending.draft.target):
            pending.write.finish([each.results for each in written])
        return self._store.commit(
            pending.draft,
            weights=weights,
            topology={
                "world_size": self._ranks.size,
                "strategy": self._optimisation.strategy.name,
            },
            extra=pending.frozen.extra,
            sealed=[file for each in written for file in each.sealed],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pending:
    """A save between its two halves."""

    draft: Draft
    write: DcpWrite
    frozen: Frozen
    written: "Future[Written]"


def _write(draft: Draft, write: DcpWrite, frozen: Frozen) -> Written:
    """Write what one rank has to, and make it survive a power cut."""
    with storage_errors(draft.target):
        results = write.write()
        kill_point("save.dcp_written")
        paths = write.files(results)
        weights = None
        if frozen.tensors:
            weights = weights_id(frozen.tensors)
            paths += _write_beside(draft.folder, frozen, weights)
        return Written(results=results, sealed=seal(draft.folder, paths), weights=weights)


def _write_beside(folder: Path, frozen: Frozen, weights: ContentKey) -> list[Path]:
    """Write what is not in the DCP folder, and return the paths."""
    files = {TRAIN_STATE: frozen.train_state, **frozen.filed(weights)}
    if frozen.export:
        save_hf(
            folder / HF,
            config=frozen.config,
            tensors=frozen.tensors,
            card=model_card(frozen.config, step=frozen.step, weights=weights),
        )
        if TASK_STATE in files:
            files[f"{HF}/{TASK_STATE}"] = files[TASK_STATE]
    kill_point("save.hf_written")
    for name, content in files.items():
        write_bytes(folder / name, content)
    exported = list((folder / HF).iterdir()) if frozen.export else []
    return [*(folder / name for name in files if "/" not in name), *exported]


def _nothing(weights: ContentKey) -> Mapping[str, bytes]:
    del weights
    return {}


def tensor_bytes(state: Mapping[str, Any]) -> int:
    """Return the bytes of all tensors in a nested state, over all ranks."""
    total = 0
    for value in state.values():
        if isinstance(value, Tensor):
            total += value.numel() * value.element_size()
        elif isinstance(value, Mapping):
            total += tensor_bytes(cast("Mapping[str, Any]", value))
    return total
