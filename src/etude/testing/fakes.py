"""Small real parts for tests: data in memory, a policy of three lines, views that remember."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from etude.core.errors import DataError, PolicyError
from etude.core.types import (
    ActionChunk,
    Columns,
    ContentKey,
    DataSpec,
    EpisodeSpan,
    Observation,
    Task,
    TaskId,
    WindowBatch,
    WindowSpec,
)
from etude.datasets.identity import EpisodeIdentities
from etude.store.content import content_key
from etude.testing.toy_benchmark import ToyBenchmark

__all__ = [
    "MemoryDataset",
    "MemoryEpisode",
    "MemorySink",
    "ToyBenchmark",
    "ToyPolicy",
    "toy_tasks",
    "walk_dataset",
]


def toy_tasks(count: int, *, dataset: str = "toy") -> tuple[Task, ...]:
    """Return `count` tasks with ids "toy/0", names "task-0" and texts "do task 0"."""
    return tuple(
        Task(id=TaskId(f"{dataset}/{i}"), index=i, name=f"task-{i}", text=f"do task {i}")
        for i in range(count)
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MemoryEpisode:
    """One demonstration, given as arrays."""

    task: TaskId
    states: Float32[np.ndarray, "frames state"]
    actions: Float32[np.ndarray, "frames action"]


class MemoryDataset:
    """A `Dataset` over arrays. Its rows count through the episodes in the order given."""

    def __init__(
        self,
        episodes: Sequence[MemoryEpisode],
        *,
        tasks: Sequence[Task],
        fps: float = 10.0,
        repo_id: str = "memory/toy",
    ) -> None:
        stops = np.cumsum([len(episode.states) for episode in episodes])
        self._episodes = tuple(
            EpisodeSpan(index=i, task=e.task, start=int(stop) - len(e.states), stop=int(stop))
            for i, (e, stop) in enumerate(zip(episodes, stops, strict=True))
        )
        self._states = np.concatenate([e.states for e in episodes]).astype(np.float32)
        self._actions = np.concatenate([e.actions for e in episodes]).astype(np.float32)
        self._starts = np.array([span.start for span in self._episodes], np.int64)
        self._stops = np.array([span.stop for span in self._episodes], np.int64)
        places = {task.id: place for place, task in enumerate(tasks)}
        self._places = np.array([places[e.task] for e in episodes], np.int64)
        self._spec = DataSpec(
            repo_id=repo_id,
            fps=fps,
            tasks=tuple(tasks),
            state_dim=self._states.shape[1],
            action_dim=self._actions.shape[1],
        )
        frames = np.arange(len(self._states)) - np.repeat(self._starts, self._stops - self._starts)
        self._identities = EpisodeIdentities(
            spec=self._spec,
            states=self._states,
            actions=self._actions,
            timestamps=frames / fps,
        )

    @property
    def spec(self) -> DataSpec:
        """What a policy must know about the data."""
        return self._spec

    @property
    def episodes(self) -> Sequence[EpisodeSpan]:
        """Every episode, in the order given."""
        return self._episodes

    def windows(self, rows: Int64[np.ndarray, " batch"], spec: WindowSpec) -> WindowBatch:
        """Return the windows anchored at `rows`, each cut at its own episode's ends.

        Raises:
            DataError: A row lies in no episode, or a camera is asked for.
        """
        outside = rows[(rows < 0) | (rows >= len(self._states))]
        if len(outside):
            raise DataError(f"row {outside[0]} lies in none of the {len(self._states)} frames")
        if spec.cameras:
            raise DataError(f"{self._spec.repo_id} has no camera {spec.cameras[0]!r}")
        owners = np.searchsorted(self._stops, rows, side="right")
        seen, seen_valid = self._cut(rows, owners, spec.observation_offsets)
        played, played_valid = self._cut(rows, owners, spec.action_offsets)
        return WindowBatch(
            rows=rows.astype(np.int64),
            tasks=self._places[owners],
            states=self._states[seen],
            states_valid=seen_valid,
            actions=self._actions[played],
            actions_valid=played_valid,
        )

    def columns(self, episode: EpisodeSpan) -> Columns:
        """Return all states and actions of one episode."""
        rows = slice(episode.start, episode.stop)
        return Columns(states=self._states[rows], actions=self._actions[rows])

    def identity(self, episode: EpisodeSpan, *, cameras: Sequence[str] = ()) -> ContentKey:
        """Return what identifies an episode's content.

        Raises:
            DataError: A camera is asked for.
        """
        if cameras:
            raise DataError(f"{self._spec.repo_id} has no camera {cameras[0]!r}")
        return self._identities.of(episode)

    def _cut(
        self, rows: np.ndarray, owners: np.ndarray, offsets: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        wanted = rows[:, None] + np.asarray(offsets, np.int64)[None, :]
        first, last = self._starts[owners][:, None], self._stops[owners][:, None] - 1
        return np.clip(wanted, first, last), (wanted >= first) & (wanted <= last)


def walk_dataset(
    lengths: Mapping[TaskId, Sequence[int]],
    *,
    tasks: Sequence[Task],
    state_dim: int = 3,
    action_dim: int = 2,
    seed: int = 0,
) -> MemoryDataset:
    """Return demonstrations in which the action is a fixed linear map of state and task.

    So it can be learned, and learned to almost zero error. `lengths` gives the frames of each
    episode, by task.
    """
    random = np.random.default_rng(seed)
    maps = random.normal(size=(len(tasks), state_dim, action_dim)) / np.sqrt(state_dim)
    places = {task.id: place for place, task in enumerate(tasks)}
    episodes: list[MemoryEpisode] = []
    for task, frames_of in lengths.items():
        for frames in frames_of:
            states = random.normal(size=(frames, state_dim)).astype(np.float32)
            actions = (states @ maps[places[task]]).astype(np.float32)
            episodes.append(MemoryEpisode(task=task, states=states, actions=actions))
    return MemoryDataset(episodes, tasks=tasks)


class ToyPolicy:
    """A `Policy` whose action is the mean of the state plus `push`; it counts what it is asked."""

    def __init__(
        self, *, action_dim: int = 2, horizon: int = 4, execute: int = 2, push: float = 0.0
    ) -> None:
        self._action_dim = action_dim
        self._horizon = horizon
        self._execute = execute
        self._push = push
        self.batch_sizes: list[int] = []
        """How many observations each call held."""

    @property
    def key(self) -> ContentKey:
        """Identity of the settings."""
        return content_key("toy-policy/1", self._action_dim, self._horizon, self._push)

    @property
    def horizon(self) -> int:
        """Number of actions in every chunk."""
        return self._horizon

    @property
    def execute(self) -> int:
        """How many of them are to be played."""
        return self._execute

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.batch_sizes)

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        """Return one chunk for each observation, whatever the seed.

        Raises:
            PolicyError: An observation has an empty state.
        """
        del seed
        self.batch_sizes.append(len(observations))
        return [self._chunk(observation) for observation in observations]

    def _chunk(self, observation: Observation) -> ActionChunk:
        if observation.state.size == 0:
            raise PolicyError(f"{observation.task} has a state of 0 numbers")
        value = np.float32(observation.state.mean() + self._push)
        return ActionChunk(
            actions=np.full((self._horizon, self._action_dim), value, np.float32),
            valid=np.ones(self._horizon, np.bool_),
        )


class MemorySink:
    """A view of the event stream that remembers every record."""

    def __init__(self) -> None:
        self.records: list[dict[str, object]] = []

    def write(self, record: Mapping[str, object]) -> None:
        """Remember `record`."""
        self.records.append(dict(record))

    def of(self, kind: str) -> list[dict[str, object]]:
        """Return the records of one kind."""
        return [record for record in self.records if record["kind"] == kind]
