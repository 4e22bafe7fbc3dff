"""The record of a scan: what was looked at, why, and how far off the policy was, window by window.

It is made of lines of JSON: first the head, then the windows, ordered by task, episode and frame.
Nothing in it says when, where or by how many processes the scan was made, so the same scan gives
the same bytes.
"""

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import FiniteFloat, TypeAdapter, ValidationError

from etude.core.protocols import Dataset
from etude.core.types import ContentKey, EpisodeSpan, TaskId, WindowScore
from etude.scan.measure import Measure, told
from etude.scan.scan_config import ScanConfig
from etude.store.atomic import encode_json
from etude.store.content import content_key

SCHEMA = "scan-record/1"

Kind = Literal["tasks", "samples"]
Setting = bool | int | FiniteFloat | str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTask:
    """One task of a scan."""

    id: TaskId
    name: str
    windows: int
    """Windows that were scored."""
    of: int
    """Windows that could have been."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHead:
    """What was scanned, and with which settings; the first line of a record."""

    schema: Literal["scan-record/1"] = SCHEMA
    kind: Kind
    dataset: str
    """Its `repo_id`."""
    policy: ContentKey
    """Identity of the weights."""
    step: int
    """Steps that the policy was trained for."""
    horizon: int
    """Actions of a chunk that were judged."""
    groups: Mapping[str, tuple[int, ...]]
    """Action dimensions that are judged together, by name."""
    units: ContentKey
    """Identity of the training episodes that errors are measured by: ratios of two scans mean the
    same only where these are equal."""
    settings: Mapping[str, Setting]
    """Every setting that decides which windows are looked at and what passes."""
    complete: bool
    """False if a limit ended the scan before its plan was done."""
    windows: int
    tasks: tuple[RecordedTask, ...]
    """In the dataset's order."""

    @property
    def measure(self) -> Measure:
        """What errors of the scan are measured by."""
        return Measure(
            dataset=self.dataset,
            horizon=self.horizon,
            groups=self.groups,
            actions=str(self.settings.get("actions", ScanConfig().actions)),
            units=self.units,
        )

    def summary(self) -> dict[str, object]:
        """Return what tells one scan from another at a glance."""
        names = ("kind", "dataset", "policy", "step", "complete", "windows")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedWindow:
    """One window that was scored; every line of a record but the first."""

    task: TaskId
    episode: int
    """The dataset's number of the episode."""
    content: ContentKey
    """Identity of the episode's content."""
    frame: int
    """Place of the anchor within the episode."""
    stratum: str
    """Why it was chosen."""
    weight: FiniteFloat
    """How many windows of the task it stands for."""
    seed: int
    groups: Mapping[str, FiniteFloat]
    """Error over the recorded motion, by action group."""
    mse: FiniteFloat
    mae: FiniteFloat

    @property
    def gmse(self) -> float:
        """That of `WindowScore`: the mean of the groups."""
        return math.fsum(self.groups.values()) / len(self.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRecord:
    """A whole record. `scan_record` makes one of a scan."""

    head: RecordHead
    windows: tuple[RecordedWindow, ...]
    """By task in the order of the head, then by episode and frame."""

    def __post_init__(self) -> None:
        """Refuse a record whose head and windows contradict each other.

        Raises:
            ValueError: Always, unless they agree.
        """
        if len(self.windows) != self.head.windows:
            raise ValueError(f"it has {len(self.windows)} of {self.head.windows} windows")
        counts = Counter(window.task for window in self.windows)
        said = Counter({task.id: task.windows for task in self.head.tasks})
        if counts != said or len(said) != len(self.head.tasks):
            raise ValueError("its windows are not those that the tasks of its head count")
        places = list(map(_places(self.head.tasks), self.windows))
        if any(one >= other for one, other in itertools.pairwise(places)):
            raise ValueError("its windows are out of order, or one comes twice")
        # A group that never moves stands in the head, but is not judged.
        names = list(self.windows[0].groups) if self.windows else []
        if any(not names or list(window.groups) != names for window in self.windows):
            raise ValueError("a window has other action groups than the first one, or none")
        if not set(names) <= set(self.head.groups):
            raise ValueError("a window has an action group that its head does not name")

    def to_lines(self) -> list[bytes]:
        """Return the lines of the record, each with its line end."""
        head = encode_json(dataclasses.asdict(self.head))
        return [head, *(encode_json(_fields(window)) for window in self.windows)]

    @staticmethod
    def from_lines(lines: Sequence[bytes]) -> "ScanRecord":
        """Return the record that `to_lines` wrote.

        Raises:
            ValueError: The lines are no whole record; the text says why.
        """
        if not lines:
            raise ValueError("it has no line")
        try:
            return ScanRecord(
                head=_HEAD.validate_json(lines[0], strict=True, extra="forbid"),
                windows=tuple(
                    _WINDOW.validate_json(line, strict=True, extra="forbid") for line in lines[1:]
                ),
            )
        except ValidationError as error:
            raise ValueError(_complaint(error)) from error


def _fields(window: RecordedWindow) -> dict[str, object]:
    # Not `asdict`, which takes four times as long, and there may be a million windows.
    return {name: getattr(window, name) for name in _NAMES}


_NAMES = tuple(field.name for field in dataclasses.fields(RecordedWindow))
_HEAD = TypeAdapter(RecordHead)
_WINDOW = TypeAdapter(RecordedWindow)


def scan_record(
    scores: Sequence[WindowScore],
    *,
    kind: Kind,
    dataset: Dataset,
    measure: Measure,
    policy: ContentKey,
    step: int,
    settings: Mapping[str, Setting],
    of: Mapping[TaskId, int],
    complete: bool,
) -> ScanRecord:
    """Return the record of a scan.

    Args:
        scores: Every window that was scored, in any order, each once.
        kind: Of the scan.
        dataset: What was scanned.
        measure: What errors are measured by.
        policy: Identity of the weights.
        step: Steps that the policy was trained for.
        settings: Every setting that decides which windows are looked at and what passes.
        of: How many windows each task has; tasks that are not in it were not scanned.
        complete: Whether the scan did all that it planned.
    """
    spans = {span.index: span for span in dataset.episodes}
    counts = Counter(score.choice.task for score in scores)
    tasks = tuple(
        RecordedTask(
            id=TaskId(told(task.id)),
            name=told(task.name),
            windows=counts[task.id],
            of=of[task.id],
        )
        for task in dataset.spec.tasks
        if task.id in of
    )
    windows = [_window(score, dataset, spans, list(measure.groups)) for score in scores]
    return ScanRecord(
        head=RecordHead(
            kind=kind,
            dataset=measure.dataset,
            policy=policy,
            step=step,
            horizon=measure.horizon,
            groups=measure.groups,
            units=measure.units,
            settings=dict(settings),
            complete=complete,
            windows=len(windows),
            tasks=tasks,
        ),
        windows=tuple(sorted(windows, key=_places(tasks))),
    )


def record_id(record: ScanRecord) -> str:
    """Return the name of a record: that of the scan, whatever came out of it.

    For example "tasks-step-00001000-0f3a5c7e91". So a scan that is made again replaces its record.
    """
    head = record.head
    scanned = dataclasses.replace(head, complete=True, windows=0, tasks=())
    key = content_key("scan-id/1", scanned, [[task.id, task.name] for task in head.tasks])
    return f"{head.kind}-step-{head.step:08d}-{key[:10]}"


def _window(
    score: WindowScore,
    dataset: Dataset,
    spans: Mapping[int, EpisodeSpan],
    groups: Sequence[str],
) -> RecordedWindow:
    choice = score.choice
    return RecordedWindow(
        task=TaskId(told(choice.task)),
        episode=choice.episode,
        content=dataset.identity(spans[choice.episode]),
        frame=choice.frame,
        stratum=choice.stratum,
        weight=choice.weight,
        seed=choice.seed,
        groups={name: score.groups[name] for name in groups if name in score.groups},
        mse=score.mse,
        mae=score.mae,
    )


def _places(
    tasks: Sequence[RecordedTask],
) -> Callable[[RecordedWindow], tuple[int, int, int]]:
    order = {task.id: place for place, task in enumerate(tasks)}
    return lambda window: (order[window.task], window.episode, window.frame)


def _complaint(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where} is {first['input']!r:.60}: {first['msg']}" if where else first["msg"]
