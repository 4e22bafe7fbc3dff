"""Everything a run can say about itself. Adding a kind is safe; changing one needs a new name.

Values that belong to every task stand in one wide row, an array in the order of the run's task
list, because a thousand wide rows are read twenty times faster than the same numbers one by one.
"""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of all events; `kind` is the name it has on disk."""

    kind: ClassVar[str]

    def fields(self) -> dict[str, object]:
        """Return the event's own fields, ready for JSON."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStarted(Event):
    """A process has begun to work on the run, for the first time or after a stop."""

    kind: ClassVar[str] = "attempt_started"
    command: str
    step: int
    """Steps that earlier attempts have committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseStarted(Event):
    """A part of the run's life has begun."""

    kind: ClassVar[str] = "phase_started"
    phase: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseFinished(Event):
    """A part of the run's life is done."""

    kind: ClassVar[str] = "phase_finished"
    phase: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsFinished(Event):
    """Some optimiser steps are done; the numbers are means over them."""

    kind: ClassVar[str] = "steps_finished"
    step: int
    """Steps done since the beginning of the run."""
    steps: int
    """How many steps this row covers."""
    loss: float
    grad_norm: float
    """Before clipping."""
    lr: float
    """Of the last of these steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLosses(Event):
    """Mean training loss of every task over some steps; null where none was drawn."""

    kind: ClassVar[str] = "task_losses"
    step: int
    losses: list[float | None]
    samples: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutErrors(Event):
    """Open-loop error on held-out episodes, a proxy of success; null where a task has none."""

    kind: ClassVar[str] = "held_out_errors"
    step: int
    errors: list[float | None]
    """Mean squared error of normalised actions over valid entries."""
    episodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSkipped(Event):
    """A step was left out because its loss was not finite."""

    kind: ClassVar[str] = "step_skipped"
    step: int
    rows: list[int]
    """The dataset rows whose loss was not finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointCommitted(Event):
    """A checkpoint is on disk, whole."""

    kind: ClassVar[str] = "checkpoint_committed"
    step: int
    folder: str
    weights: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationFinished(Event):
    """A closed-loop evaluation is done."""

    kind: ClassVar[str] = "evaluation_finished"
    eval_id: str
    step: int | None
    successes: list[int]
    trials: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsAsked(Event):
    """This rank has asked the policy about windows; the last answers may not be on disk yet."""

    kind: ClassVar[str] = "windows_asked"
    scan: str
    """The kind of scan, e.g. "task-scan"."""
    windows: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanFinished(Event):
    """A scan has ended, with all that was planned or without; errors are a proxy of success."""

    kind: ClassVar[str] = "scan_finished"
    scan: str
    record: str
    """Its file in the run folder; empty where it could not be written."""
    step: int
    """Training steps behind the policy."""
    policy: str
    """Identity of the policy's weights."""
    tasks: list[str]
    windows: list[int]
    """Scored, by task; the task list of this row is `tasks`."""
    of: list[int]
    gmse: list[float]
    inferences: int
    recalled: int
    complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScores(Event):
    """The weights in training were tried on tasks; null where a task was not looked at."""

    kind: ClassVar[str] = "task_scores"
    step: int
    by: str
    """"open_loop": windows of recorded episodes; "rollout": episodes that were played."""
    weights: str
    """Which weights: "run_id@step" while they are in training."""
    due: int
    """Tasks that were to be looked at; fewer are where the time for it is up."""
    each: int
    """Windows or episodes of each task that was looked at."""
    scores: list[float | None]
    """Error, lower is better; also null where a look gave no score."""
    passed: list[float | None]
    trials: list[float | None]
    """Effective counts; 0 where a look gave no score."""
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTransition(Event):
    """A task has changed its status."""

    kind: ClassVar[str] = "task_transition"
    step: int
    task: str
    before: str
    after: str
    proxy: bool
    """It has passed on windows only."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChosen(Event):
    """How often each task is drawn from a step on."""

    kind: ClassVar[str] = "plan_chosen"
    step: int
    from_step: int
    rule: str
    weights: list[float]
    """Shares; they sum to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsWeighed(Event):
    """Frames inside tasks are drawn by what a sample scan has found, as soon as that can be."""

    kind: ClassVar[str] = "windows_weighed"
    step: int
    record: str
    """Of the scan."""
    policy: str
    """Identity of the weights that were scanned."""
    strata: list[str]
    weights: list[list[float | None] | None]
    """By task, then by stratum: draws of a frame, relative to drawing all frames of the task
    alike. Null for a stratum that a task does not have, and for a task that was not scanned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterfactualPlans(Event):
    """What every rule would aim at, for what is known at this step."""

    kind: ClassVar[str] = "counterfactual_plans"
    step: int
    rules: list[str]
    weights: list[list[float]]
    """One row of shares for each rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkFailed(Event):
    """A view of the events has failed and gets no more of them."""

    kind: ClassVar[str] = "sink_failed"
    sink: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned(Event):
    """Something the user should look at, though the run goes on."""

    kind: ClassVar[str] = "warned"
    message: str


EVENTS: tuple[type[Event], ...] = (
    AttemptStarted,
    PhaseStarted,
    PhaseFinished,
    StepsFinished,
    TaskLosses,
    HeldOutErrors,
    StepSkipped,
    CheckpointCommitted,
    EvaluationFinished,
    WindowsAsked,
    ScanFinished,
    TaskScores,
    TaskTransition,
    PlanChosen,
    WindowsWeighed,
    CounterfactualPlans,
    SinkFailed,
    Warned,
)
