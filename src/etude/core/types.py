"""The values that flow between packages. No behaviour, no I/O, no torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType

import numpy as np
from jaxtyping import Bool, Float32, Int64, UInt8

TaskId = NewType("TaskId", str)
"""`<dataset>/<index>`, for example "metaworld-mt50/12". Neither name nor text identify a task."""

ContentKey = NewType("ContentKey", str)
"""Hex BLAKE3 digest of everything a result depends on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One thing a policy learns to do."""

    id: TaskId
    index: int
    """The dataset's own number for it; not necessarily its place in a list."""
    name: str
    """What the simulator calls it, for example "door-open-v3"; the id where nothing names it."""
    text: str
    """The instruction, byte for byte as recorded. Two tasks may share one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSpan:
    """One recorded episode: rows [start, stop) of the dataset's frame table."""

    index: int
    task: TaskId
    start: int
    stop: int

    @property
    def length(self) -> int:
        """Number of frames."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSpec:
    """What a policy must know about a dataset before it can be built."""

    repo_id: str
    fps: float
    tasks: tuple[Task, ...]
    """In the order in which `WindowBatch.tasks` counts them."""
    state_dim: int
    action_dim: int
    cameras: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()
    """What each action dimension is called; empty where the dataset does not say."""
    state_sizes: tuple[int, ...] = ()
    """How many of the state's numbers each task's robot has, in the order of `tasks`: the first
    ones, and the others are 0. Empty where every robot has all of them."""
    action_sizes: tuple[int, ...] = ()
    """How many of the action dimensions each task's robot has, likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSpec:
    """Which frames around an anchor row make up one training example."""

    action_offsets: tuple[int, ...]
    """Frames relative to the anchor whose actions are wanted, for example (0, 1, ..., 7)."""
    observation_offsets: tuple[int, ...] = (0,)
    """Frames relative to the anchor whose observations are wanted, for example (-1, 0)."""
    cameras: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Columns:
    """The low-dimensional columns of some consecutive frames, in the dataset's own units."""

    states: Float32[np.ndarray, "frames state"]
    actions: Float32[np.ndarray, "frames action"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowBatch:
    """A batch of training examples, in the dataset's own units, not normalised.

    Entries outside an episode repeat its first or last frame and are marked not valid.
    """

    rows: Int64[np.ndarray, " batch"]
    """Anchor rows of the dataset's frame table."""
    tasks: Int64[np.ndarray, " batch"]
    """Place of each example's task in `DataSpec.tasks`."""
    states: Float32[np.ndarray, "batch observations state"]
    states_valid: Bool[np.ndarray, "batch observations"]
    actions: Float32[np.ndarray, "batch horizon action"]
    actions_valid: Bool[np.ndarray, "batch horizon"]
    actions_used: Bool[np.ndarray, "batch action"] | None = None
    """Which action dimensions each example's robot has; None where all have all. The others carry
    no loss, no error and no statistics."""
    images: Mapping[str, UInt8[np.ndarray, "batch observations height width 3"]] = field(
        default_factory=dict[str, np.ndarray]
    )
    """RGB by camera name, for the cameras that the `WindowSpec` asked for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observation:
    """What a policy sees at one time step."""

    task: TaskId
    state: Float32[np.ndarray, " state"]
    """In the dataset's own units, not normalised."""
    instruction: str = ""
    images: Mapping[str, UInt8[np.ndarray, "height width 3"]] = field(
        default_factory=dict[str, np.ndarray]
    )
    """RGB in [0, 255] by camera name."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ActionChunk:
    """The next `horizon` actions, first one due now."""

    actions: Float32[np.ndarray, "horizon action"]
    """In the dataset's own units, not normalised."""
    valid: Bool[np.ndarray, " horizon"]
    """False for padding, which is never executed and carries no error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingPlan:
    """How often each task is drawn."""

    weights: Mapping[TaskId, float]
    """Non-negative and summing to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRef:
    """A complete checkpoint on disk."""

    step: int
    folder: str
    """Relative to the run folder, so that a run can be moved."""
    weights: ContentKey
    """Identity of the tensors that inference uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """One unit of work that exactly one rank does."""

    key: ContentKey
    task: TaskId
    cost: int
    """Expected effort; only ratios matter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowChoice:
    """One window that a scan looks at, and why."""

    task: TaskId
    episode: int
    """The dataset's number of the episode."""
    frame: int
    """Place of the anchor within the episode."""
    stratum: str
    """What makes the moment special, e.g. "gripper"; or the name of the strategy."""
    weight: float
    """How many windows of the task it stands for; 1 until a scan has weighed it."""
    seed: int
    """For policies that draw noise for each window by itself; the same in every scan."""

    @property
    def place(self) -> tuple[int, int]:
        """Episode and frame, which tell the windows of a task apart and put them in order."""
        return self.episode, self.frame


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowScore:
    """How far a policy is from the demonstrated actions of one window."""

    choice: WindowChoice
    groups: Mapping[str, float]
    """Error over the recorded motion, by action group."""
    mse: float
    """Plain mean squared error, in the dataset's own units."""
    mae: float
    """Plain mean absolute error, in the dataset's own units."""

    @property
    def gmse(self) -> float:
        """Grouped, motion-scaled error: 0 is perfect, 1 about no better than holding still."""
        return sum(self.groups.values()) / len(self.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A rate with its counts and 95 % interval; `rate` is None where nothing was tried."""

    successes: int
    trials: int
    rate: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScan:
    """What the scanned windows of one task say. A proxy of success, never success."""

    task: TaskId
    windows: int
    """Windows that were scored."""
    of: int
    """Windows that could have been."""
    gmse: float
    """Weighted mean over windows, of which none counts as more than 1."""
    gmse_p90: float
    groups: Mapping[str, float]
    """Weighted mean of each group's ratio."""
    passed: float
    """Effective number of windows that passed."""
    pass_rate: Interval
    mse: float
    mae: float
    verdict: str
    """"pass", "fail" or "undecided"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanReport:
    """The scans of one round, one for every task, and whose they are."""

    policy: ContentKey
    tasks: Mapping[TaskId, TaskScan]
    inferences: int
    """Windows that the policy was asked about."""
    recalled: int
    """Windows whose scores an earlier scan had kept."""
    complete: bool
    """False if a time limit or a cap ended the scan before its plan was done."""
    windows: tuple[WindowScore, ...] = ()
    """Every window that was scored, task by task, by episode and frame."""


class EpisodeEnd(StrEnum):
    """Why a closed-loop episode ended."""

    SUCCESS = "success"
    """The task was solved at some step; the episode may have ended there."""
    TIMEOUT = "timeout"
    """The step limit came first."""
    FAILURE = "failure"
    """The environment ended the episode without success."""
    ERROR = "error"
    """The simulator broke: neither success nor failure, and in no denominator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeResult:
    """The outcome of one closed-loop episode."""

    task: TaskId
    name: str
    seed: int
    end: EpisodeEnd
    success: bool
    """Solved at any step, which is the benchmark's rule."""
    success_at_end: bool
    """Solved at the last step that was played."""
    steps: int
    sum_reward: float
    max_reward: float
    instruction: str
    reseeded: int = 0
    """How many seeds were passed over because the task was already solved at reset."""
    error: str = ""
