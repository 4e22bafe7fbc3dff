"""The contracts between packages. Every implementation passes `etude.testing.conformance`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float32, Int64

from etude.core.types import (
    ActionChunk,
    Columns,
    ContentKey,
    DataSpec,
    EpisodeSpan,
    Observation,
    Task,
    WindowBatch,
    WindowSpec,
    WorkItem,
)

T = TypeVar("T")


@runtime_checkable
class Policy(Protocol):
    """Turns observations into action chunks; keeps nothing between calls."""

    @property
    def key(self) -> ContentKey:
        """Identity of the weights and settings; equal keys give equal actions."""
        ...

    @property
    def horizon(self) -> int:
        """Number of actions in every chunk it returns."""
        ...

    @property
    def execute(self) -> int:
        """How many actions of a chunk are to be played before the next call."""
        ...

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        """Return one chunk for each observation, in order.

        Raises:
            PolicyError: An observation does not fit the policy.
        """
        ...


@runtime_checkable
class Dataset(Protocol):
    """Random access to recorded demonstrations."""

    @property
    def spec(self) -> DataSpec: ...

    @property
    def episodes(self) -> Sequence[EpisodeSpan]:
        """Every usable episode, in recorded order."""
        ...

    def windows(self, rows: Int64[np.ndarray, " batch"], spec: WindowSpec) -> WindowBatch:
        """Return the windows anchored at `rows`, each cut at its own episode's ends.

        Raises:
            DataError: A row lies in no usable episode, or its file cannot be read.
        """
        ...

    def columns(self, episode: EpisodeSpan) -> Columns:
        """Return all states and actions of one episode."""
        ...

    def identity(self, episode: EpisodeSpan, *, cameras: Sequence[str] = ()) -> ContentKey:
        """Return what identifies an episode's content, wherever it lies and beside whatever.

        Args:
            episode: One of `episodes`.
            cameras: Those whose pictures are part of the content.

        Raises:
            DataError: A camera is none of the dataset's, or its file cannot be read.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SimulatorStep:
    """What an environment says after one action."""

    state: Float32[np.ndarray, " state"]
    reward: float
    success: bool
    terminated: bool
    """The environment itself ended the episode (never the step limit)."""


@runtime_checkable
class Simulator(Protocol):
    """One environment in which a policy can be tried. Equal seeds give equal episodes."""

    def reset(self, *, seed: int) -> Float32[np.ndarray, " state"]:
        """Start a new episode; nothing of an earlier one may show in it.

        Raises:
            SimulatorError: The environment cannot be started.
        """
        ...

    def step(self, action: Float32[np.ndarray, " action"]) -> SimulatorStep:
        """Apply one action.

        Raises:
            SimulatorError: The environment broke.
        """
        ...

    def close(self) -> None: ...


@runtime_checkable
class Benchmark(Protocol):
    """A family of simulated tasks: what the `etude.simulators` entry points build."""

    @property
    def tasks(self) -> Sequence[Task]: ...

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Published difficulty groups: group name to task names. Empty if there are none."""
        ...

    @property
    def action_dim(self) -> int: ...

    @property
    def state_dim(self) -> int: ...

    @property
    def fps(self) -> int: ...

    def make(self, task: Task) -> Simulator:
        """Build one environment of `task`; costs up to a second."""
        ...

    def expert(self, task: Task) -> "Expert":
        """Return the scripted expert of `task`.

        Raises:
            SimulatorError: The benchmark has none.
        """
        ...


@runtime_checkable
class Expert(Protocol):
    """A scripted policy of one task."""

    def action(self, state: Float32[np.ndarray, " state"]) -> Float32[np.ndarray, " action"]:
        """Return the action at `state`, which is left unchanged, clipped to the action range."""
        ...


@runtime_checkable
class Progress(Protocol):
    """Where long work says how far it is; a console, a log, or nothing."""

    def __call__(self, phase: str, done: int, total: int, note: str = "", /) -> None:
        """Report that `done` of `total` units of `phase` are finished."""
        ...


@runtime_checkable
class Ranks(Protocol):
    """The processes of a run, as seen from one of them."""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    def gather(self, value: T) -> list[T]:
        """Return every rank's value, in rank order, on every rank."""
        ...


@runtime_checkable
class WorkQueue(Protocol):
    """Deals work to ranks so that every item is done exactly once."""

    def items(self, work: Sequence[WorkItem]) -> Iterator[WorkItem]:
        """Yield this rank's share of `work`, which must be the same list on every rank."""
        ...


@runtime_checkable
class ScanCache(Protocol):
    """Results of windows by content key. A key is written once and never changes."""

    def key(self, *, episode: ContentKey, draw: Mapping[str, object]) -> ContentKey:
        """Return the key of one window, and remember what it stands for.

        Args:
            episode: Identity of the episode that the window lies in.
            draw: Which window of it, and the seed of the policy's noise, ready for JSON.
        """
        ...

    def get(self, key: ContentKey) -> dict[str, object] | None:
        """Return the result kept under `key`, or None."""
        ...

    def put(self, key: ContentKey, result: dict[str, object]) -> None:
        """Keep `result`, ready for JSON, under `key`.

        Raises:
            ValueError: A number is not finite, or this cache did not make the key.
        """
        ...
