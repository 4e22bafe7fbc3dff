"""What a sampler saves, how older forms of it are read, and whether it fits a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64

from etude.core.errors import StateError
from etude.core.types import TaskId
from etude.curriculum.draws import WHOLE, Material, Position

SCHEMA = "sampler/2"

Hundredths = list[list[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSampler:
    """The state of a sampler, ready for JSON; its size grows with the tasks only."""

    step: int
    seed: int
    batch_size: int
    tasks: tuple[TaskId, ...]
    frames: tuple[int, ...]
    strata: str
    """Identity of the frames' strata; empty where none are known."""
    residuals: tuple[float, ...]
    cursors: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[int, tuple[float, ...]], ...]
    """Plans that are still needed, each with the step from which it holds."""
    windows: tuple[tuple[int, Hundredths], ...]

    @classmethod
    def of(
        cls,
        position: Position,
        material: Material,
        *,
        batch_size: int,
        plans: Sequence[tuple[int, Float64[np.ndarray, " tasks"]]],
        windows: Sequence[tuple[int, Hundredths]],
    ) -> "SavedSampler":
        """Describe a sampler at `position`."""
        return cls(
            step=position.step,
            seed=material.seed,
            batch_size=batch_size,
            tasks=material.layout.tasks,
            frames=tuple(material.layout.sizes.tolist()),
            strata="" if material.index is None else material.index.identity,
            residuals=tuple(position.residuals.tolist()),
            cursors=tuple(map(tuple, position.cursors.tolist())),
            weights=tuple((step, tuple(weights.tolist())) for step, weights in plans),
            windows=tuple(windows),
        )

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "SavedSampler":
        """Read what `to_dict` returned, in this version or an older one.

        Raises:
            StateError: The schema is unknown.
        """
        if state.get("schema") == "sampler/1":
            state = _migrate_1_to_2(state)
        if state.get("schema") != SCHEMA:
            raise StateError(
                f"the saved sampler has schema {state.get('schema')!r}, not {SCHEMA!r}",
                hint="Resume with the version of Etude that saved it.",
            )
        return cls(
            step=int(state["step"]),
            seed=int(state["seed"]),
            batch_size=int(state["batch_size"]),
            tasks=tuple(state["tasks"]),
            frames=tuple(state["frames"]),
            strata=state["strata"],
            residuals=tuple(state["residuals"]),
            cursors=tuple(map(tuple, state["cursors"])),
            weights=tuple((int(step), tuple(weights)) for step, weights in state["plans"]),
            windows=tuple((int(step), list(rows)) for step, rows in state["windows"]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers."""
        return {
            "schema": SCHEMA,
            "step": self.step,
            "seed": self.seed,
            "batch_size": self.batch_size,
            "tasks": list(self.tasks),
            "frames": list(self.frames),
            "strata": self.strata,
            "residuals": list(self.residuals),
            "cursors": [list(row) for row in self.cursors],
            "plans": [[step, list(weights)] for step, weights in self.weights],
            "windows": [[step, [list(row) for row in rows]] for step, rows in self.windows],
        }

    def position(self, material: Material) -> Position:
        """Return where the stream stands; strata that are new begin with their first pass."""
        cursors = np.array(self.cursors, dtype=np.int64)
        new = material.cells - cursors.shape[1]
        return Position(
            step=self.step,
            residuals=np.array(self.residuals, dtype=np.float64),
            cursors=np.pad(cursors, ((0, 0), (0, new))) if new else cursors,
        )

    def plans(self) -> list[tuple[int, Float64[np.ndarray, " tasks"]]]:
        """Return the plans that are still needed."""
        return [(step, np.array(weights, dtype=np.float64)) for step, weights in self.weights]

    def plans_fit(self, material: Material) -> bool:
        """Return whether other data have the same tasks, and frames of each that is drawn."""
        drawn = [any(weights[i] for _, weights in self.weights) for i in range(len(self.tasks))]
        same = self.tasks == material.layout.tasks
        return same and bool(np.all(material.layout.sizes[np.array(drawn)] > 0))

    def moved_to(self, material: Material) -> Position:
        """Return where the stream stands over other data.

        A task with as many frames as before goes on where it was, one with more or fewer begins
        its next pass, and a new one its first. Nothing is owed to any.
        """
        tasks, frames = material.layout.tasks, material.layout.sizes.tolist()
        cursors = np.zeros((len(tasks), material.cells), dtype=np.int64)
        places = {task: place for place, task in enumerate(self.tasks)}
        for number, task in enumerate(tasks):
            place = places.get(task)
            if place is None:
                continue
            visits, before, now = (
                self.cursors[place][WHOLE],
                self.frames[place],
                int(frames[number]),
            )
            passes = -(-visits // max(before, 1))
            cursors[number, WHOLE] = visits if now == before else passes * now
        return Position(step=self.step, residuals=np.zeros(len(tasks)), cursors=cursors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """In what a saved sampler differs from the one that is to go on."""

    settings: tuple[str, ...]
    """Nothing can be continued if any of these is another."""
    data: tuple[str, ...]
    """Parts of the data that differ."""
    details: tuple[str, ...]

    @classmethod
    def between(cls, saved: SavedSampler, mine: SavedSampler) -> "Differences":
        """Compare what does not change while a run lasts."""
        settings = ("seed", "batch_size")
        # A sampler may learn of strata, but not forget what it has drawn by them.
        data = ("tasks", "frames", *(("strata",) if saved.strata else ()))
        return cls(
            settings=tuple(n for n in settings if getattr(saved, n) != getattr(mine, n)),
            data=tuple(n for n in data if getattr(saved, n) != getattr(mine, n)),
            details=_details(saved, mine),
        )

    def refuse(self, *, accept_data_change: bool) -> None:
        """Refuse to go on, unless what differs is accepted.

        Raises:
            StateError: Always, unless nothing differs or only data that may.
        """
        names = (*self.settings, *(() if accept_data_change else self.data))
        if names:
            details = f": {'; '.join(self.details)}" if self.details else ""
            raise StateError(
                f"the saved sampler has other {', '.join(names)} than this run{details}",
                hint="Resume with the data and settings that the run began with.",
            )


def _details(saved: SavedSampler, mine: SavedSampler) -> tuple[str, ...]:
    before = dict(zip(saved.tasks, saved.frames, strict=True))
    now = dict(zip(mine.tasks, mine.frames, strict=True))
    gone = [str(task) for task in before if task not in now]
    new = [str(task) for task in now if task not in before]
    changed = [
        f"{task} had {before[task]} frames, now {now[task]}"
        for task in now
        if task in before and before[task] != now[task]
    ]
    found = (("tasks gone: ", gone), ("tasks new: ", new), ("", changed))
    return tuple(f"{title}{_few(names)}" for title, names in found if names)


def _few(names: Sequence[str], most: int = 5) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def _migrate_1_to_2(state: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the one plan of the first version into a list, and its counts into cursors."""
    kept = ("step", "seed", "batch_size", "tasks", "frames", "residuals")
    return {
        "schema": "sampler/2",
        **{name: state[name] for name in kept},
        "strata": "",
        "cursors": [[drawn] for drawn in state["drawn"]],
        "plans": [[0, state["weights"]]],
        "windows": [[0, []]],
    }
