"""Several datasets as one: each keeps its own task ids, and robots are brought to one size."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from etude.core.errors import DataError
from etude.core.protocols import Dataset
from etude.core.task_table import robot_sizes
from etude.core.types import (
    Columns,
    ContentKey,
    DataSpec,
    EpisodeSpan,
    SamplingPlan,
    TaskId,
    WindowBatch,
    WindowSpec,
)
from etude.datasets.formats import open_dataset as open_any
from etude.datasets.identity import IdentityMemo
from etude.datasets.mixture_config import MixtureConfig
from etude.datasets.task_files import text_warnings


class MixedDataset:
    """The frames of several datasets behind each other, the states and actions padded with 0.

    Rows and numbers of episodes count on from dataset to dataset, so that the first one's stay.
    """

    def __init__(self, parts: Sequence[Dataset], shares: Sequence[float]) -> None:
        """Join `parts`, of which each is to have a share of what is drawn; shares sum to 1.

        Raises:
            DataError: Two parts have a task of the same id.
        """
        self.parts = tuple(parts)
        self.shares = tuple(shares)
        self._rows = _offsets(part.episodes[-1].stop for part in parts)
        self._numbers = _offsets(max(e.index for e in part.episodes) + 1 for part in parts)
        self._tasks = _offsets(len(part.spec.tasks) for part in parts)
        self.spec = _joined(parts)
        self.episodes = tuple(
            replace(
                span,
                index=span.index + int(self._numbers[place]),
                start=span.start + int(self._rows[place]),
                stop=span.stop + int(self._rows[place]),
            )
            for place, part in enumerate(parts)
            for span in part.episodes
        )
        self._part_of = {
            task.id: place for place, part in enumerate(parts) for task in part.spec.tasks
        }
        self._sizes = np.array(self.spec.action_sizes, np.int64)
        self.skipped = tuple(skipped for part in parts for skipped in getattr(part, "skipped", ()))
        self.warnings = _warnings(parts, self.spec)
        """What a person should know about the data although it can be used."""

    def windows(self, rows: Int64[np.ndarray, " batch"], spec: WindowSpec) -> WindowBatch:
        """Return the windows anchored at `rows`, each cut at its own episode's ends.

        Raises:
            DataError: A row lies in no usable episode, or a picture cannot be read.
        """
        owner = np.clip(np.searchsorted(self._rows, rows, side="right") - 1, 0, None)
        cut: dict[int, WindowBatch] = {}
        for place, part in enumerate(self.parts):
            own = rows[owner == place]
            if len(own):
                cut[place] = part.windows(own - self._rows[place], spec)
        order = np.argsort(np.argsort(owner, kind="stable"))
        tasks = _stacked([batch.tasks + self._tasks[place] for place, batch in cut.items()], order)
        used = np.arange(self.spec.action_dim) < self._sizes[tasks][:, None]
        return WindowBatch(
            rows=rows,
            tasks=tasks,
            states=_stacked([self._wide_states(b.states) for b in cut.values()], order),
            states_valid=_stacked([batch.states_valid for batch in cut.values()], order),
            actions=_stacked([self._wide_actions(b.actions) for b in cut.values()], order),
            actions_valid=_stacked([batch.actions_valid for batch in cut.values()], order),
            actions_used=used,
            images={
                name: self._pictures(name, [b.images[name] for b in cut.values()], order)
                for name in spec.cameras
            },
        )

    def columns(self, episode: EpisodeSpan) -> Columns:
        """Return all states and actions of one episode, in the common size."""
        columns = self._part(episode).columns(self.own_span(episode))
        return Columns(
            states=self._wide_states(columns.states), actions=self._wide_actions(columns.actions)
        )

    def identity(self, episode: EpisodeSpan, *, cameras: Sequence[str] = ()) -> ContentKey:
        """Return what identifies an episode's content, wherever it lies and beside whatever."""
        return self._part(episode).identity(self.own_span(episode), cameras=cameras)

    def own_span(self, episode: EpisodeSpan) -> EpisodeSpan:
        """Return an episode as the dataset that it comes from counts it."""
        place = self._part_of[episode.task]
        first = int(self._rows[place])
        return replace(
            episode,
            index=episode.index - int(self._numbers[place]),
            start=episode.start - first,
            stop=episode.stop - first,
        )

    def weighted(self, plan: SamplingPlan) -> SamplingPlan:
        """Return a plan in which each dataset has its share, divided among its tasks as in `plan`.

        A dataset of whose tasks none is drawn leaves its share to the others.
        """
        totals = [0.0] * len(self.parts)
        for task, weight in plan.weights.items():
            totals[self._part_of[task]] += weight
        drawn = sum(share for share, total in zip(self.shares, totals, strict=True) if total)
        factors = [
            share / drawn / total if total else 0.0
            for share, total in zip(self.shares, totals, strict=True)
        ]
        return SamplingPlan(
            weights={
                task: weight * factors[self._part_of[task]] for task, weight in plan.weights.items()
            }
        )

    def use_memo(self, memo: IdentityMemo) -> int:
        """Take identities from a memo where files have not changed; return how many were hashed."""
        readers: list[Any] = [part for part in self.parts if hasattr(part, "use_memo")]
        return sum(int(part.use_memo(memo)) for part in readers)

    def _part(self, episode: EpisodeSpan) -> Dataset:
        return self.parts[self._part_of[episode.task]]

    def _wide_states(
        self, states: Float32[np.ndarray, "*shape own"]
    ) -> Float32[np.ndarray, "*shape state"]:
        return _padded(states, self.spec.state_dim)

    def _wide_actions(
        self, actions: Float32[np.ndarray, "*shape own"]
    ) -> Float32[np.ndarray, "*shape action"]:
        return _padded(actions, self.spec.action_dim)

    def _pictures(
        self, name: str, parts: Sequence[np.ndarray], order: Int64[np.ndarray, " batch"]
    ) -> np.ndarray:
        sizes = {pictures.shape[2:4] for pictures in parts}
        if len(sizes) > 1:
            found = ", ".join(f"{width} x {height}" for height, width in sorted(sizes))
            raise DataError(
                f"{name} has pictures of different sizes in {self.spec.repo_id}: {found}",
                hint="Convert the datasets to one size, or train on one of them.",
            )
        return _stacked(parts, order)


def open_dataset(config: MixtureConfig) -> MixedDataset:
    """Read and check all datasets of a mixture, each in whatever format it is.

    Raises:
        DataError: One of them cannot be used.
    """
    return MixedDataset([open_any(part) for part in config.parts], config.shares)


def _joined(parts: Sequence[Dataset]) -> DataSpec:
    specs = [part.spec for part in parts]
    tasks = tuple(task for spec in specs for task in spec.tasks)
    seen: set[TaskId] = set()
    for task in tasks:
        if task.id in seen:
            raise DataError(
                f"task {task.id} is in two datasets of one run",
                hint="Give each dataset a name of its own with dataset.repo_ids.",
            )
        seen.add(task.id)
    sizes = [robot_sizes(spec)[task.id] for spec in specs for task in spec.tasks]
    longest = max((spec.action_names for spec in specs), key=len)
    agreed = all(
        len(spec.action_names) == spec.action_dim
        and spec.action_names == longest[: spec.action_dim]
        for spec in specs
    )
    return DataSpec(
        repo_id="+".join(spec.repo_id for spec in specs),
        fps=specs[0].fps,
        tasks=tasks,
        state_dim=max(spec.state_dim for spec in specs),
        action_dim=max(spec.action_dim for spec in specs),
        cameras=tuple(
            name for name in specs[0].cameras if all(name in spec.cameras for spec in specs)
        ),
        # Limit: robots that call a dimension differently leave it without a name.
        action_names=longest if agreed else (),
        state_sizes=tuple(states for states, _ in sizes),
        action_sizes=tuple(actions for _, actions in sizes),
    )


def _warnings(parts: Sequence[Dataset], spec: DataSpec) -> list[str]:
    own = [f"{part.spec.repo_id}: {w}" for part in parts for w in getattr(part, "warnings", ())]
    rates = {part.spec.repo_id: part.spec.fps for part in parts}
    if len(set(rates.values())) > 1:
        shown = ", ".join(f"{name} {fps:g}" for name, fps in rates.items())
        own.append(f"frames per second differ ({shown}); an action chunk covers different times")
    families = {task.id.rpartition("/")[0] for task in spec.tasks}
    told = [w for part in parts for w in text_warnings(part.spec.tasks)]
    across = [w for w in text_warnings(spec.tasks) if w not in told]
    return own + (across if len(families) > 1 else [])


def _offsets(sizes: Iterable[int]) -> Int64[np.ndarray, " parts"]:
    counts = list(sizes)
    return np.cumsum([0, *counts[:-1]], dtype=np.int64)


def _padded(
    values: Float32[np.ndarray, "*shape own"], size: int
) -> Float32[np.ndarray, "*shape size"]:
    missing = size - values.shape[-1]
    if not missing:
        return values
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)])


def _stacked(parts: Sequence[np.ndarray], order: Int64[np.ndarray, " batch"]) -> np.ndarray:
    """Return the examples of all parts in the order in which they were asked for."""
    return np.concatenate(parts)[order]
