"""A small training run whose tasks are scored by a table, made anew or continued."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from etude.checkpoints.commit import CheckpointStore
from etude.checkpoints.save_config import SaveConfig
from etude.checkpoints.weights_id import weights_id
from etude.core.protocols import Policy
from etude.core.ranks import Solo
from etude.core.types import TaskId
from etude.curriculum.lifecycle_config import DriftConfig, LifecycleConfig
from etude.curriculum.plan import uniform_plan
from etude.curriculum.rule_config import LearnabilityConfig, PlanConfig
from etude.curriculum.rules import LearnabilityRule
from etude.curriculum.rules_view import CurriculumRule, RuleView
from etude.curriculum.sampler import CurriculumSampler
from etude.curriculum.states import EvidenceKind, TaskEvidence
from etude.events.reader import read_events
from etude.events.recorder import Recorder
from etude.policies.chunk_config import ChunkConfig
from etude.policies.chunk_module import build_chunk_module
from etude.runs.adaptive import Adaptive, AdaptiveParts, Rhythm
from etude.runs.adaptive_build import dataset_mark
from etude.runs.adaptive_config import StartConfig
from etude.runs.adaptive_start import Grounds
from etude.runs.chronicle import Chronicle
from etude.runs.look_sizes import LookClock
from etude.runs.looks import Moment
from etude.runs.loss_watch import LossWatch
from etude.store.ledger import Ledger
from etude.testing.fakes import MemoryDataset, toy_tasks
from etude.train.loader import Loader
from etude.train.loop import TrainingLoop, TrainingParts
from etude.train.step import Optimisation
from etude.train.stop import StopRequest
from etude.train.train_config import TrainConfig
from training_run import dataset, quiet

TASKS = toy_tasks(3)
EASY, HARD, BROKEN = (task.id for task in TASKS)
LOOK_EVERY, PLAN_EVERY, LAG, BATCH = 5, 10, 5, 12
RHYTHM = Rhythm(
    look_every=LOOK_EVERY,
    plan_every=PLAN_EVERY,
    lag=LAG,
    lifecycle=LifecycleConfig(look_steps=LOOK_EVERY),
    plan=PlanConfig(),
    rollouts_decide=False,
)


class TableLooks:
    """Scores tasks by a function of the step; None is a look that gave no score."""

    kind: EvidenceKind = "open_loop"
    sizes = (20, 20)

    def __init__(self, rate: Callable[[TaskId, int], float | None]) -> None:
        self._rate = rate
        self.looked: list[tuple[int, tuple[TaskId, ...]]] = []
        """Step and tasks of every look."""

    @property
    def tasks(self) -> tuple[TaskId, ...]:
        return (EASY, HARD, BROKEN)

    def look(
        self, policy: Policy, tasks: Sequence[TaskId], *, each: int, moment: Moment
    ) -> dict[TaskId, TaskEvidence | None]:
        self.looked.append((moment.step, tuple(tasks)))
        return {task: self._evidence(task, each, moment) for task in tasks}

    def close(self) -> None:
        pass

    def _evidence(self, task: TaskId, each: int, moment: Moment) -> TaskEvidence | None:
        rate = self._rate(task, moment.step)
        if rate is None:
            return None
        return TaskEvidence(
            step=moment.step,
            weights=moment.weights,
            kind=self.kind,
            passed=rate * each,
            trials=float(each),
            episodes=4,
            score=1.0 - rate,
        )


class FixedRule:
    """Gives every task a weight of a table, whatever is known of it."""

    shaped = True

    def __init__(self, weights: Sequence[float]) -> None:
        self._weights = weights

    def weights(self, view: RuleView) -> dict[TaskId, float]:
        return dict(zip(view.states, self._weights, strict=True))


def rates(task: TaskId, step: int) -> float | None:
    """The easy task passes from step 10 on, the hard one half of the time, the third never does."""
    if task == EASY:
        return 1.0 if step >= 10 else 0.5
    return 0.5 if task == HARD else None


def grounds_of(data: MemoryDataset) -> Grounds:
    return Grounds(tasks=TASKS, mark=dataset_mark(data.spec, data.episodes), budget=1000.0)


def make_run(
    folder: Path,
    *,
    steps: int = 40,
    save_every: int = 20,
    looks: TableLooks | None = None,
    start: StartConfig | None = None,
    data: MemoryDataset | None = None,
    max_share: float = 1.0,
    rule: CurriculumRule | None = None,
) -> tuple[TrainingLoop, TrainingParts, Adaptive]:
    """A run with one held-out episode a task, ready to begin or to resume."""
    data = data or dataset()
    train, held_out = data.episodes[::2], data.episodes[1::2]
    ids = [task.id for task in TASKS]
    torch.manual_seed(0)
    module, _ = build_chunk_module(
        ChunkConfig(width=16, blocks=1, task_dim=4, horizon=4, execute=2),
        dataset=data,
        episodes=train,
    )
    sampler = CurriculumSampler(train, uniform_plan(ids), batch_size=BATCH, seed=0, lag=LAG)
    losses = LossWatch(ids, DriftConfig())
    recorder = Recorder(folder / "events", sinks=[losses])
    adaptive = Adaptive(
        AdaptiveParts(
            run_id="toy-run",
            spec=data.spec,
            sampler=sampler,
            lookers=[looks or TableLooks(rates)],
            rule=rule or LearnabilityRule(LearnabilityConfig(look_steps=LOOK_EVERY)),
            rule_name="learnability",
            grounds=grounds_of(data),
            chronicle=Chronicle(ids, recorder.emit, Ledger(folder / "ledger.jsonl")),
            ledger=folder / "ledger.jsonl",
            losses=losses,
            clock=LookClock(max_share=max_share),
            ranks=Solo(),
            start=start or StartConfig(),
        ),
        RHYTHM,
    )
    config = TrainConfig(lr=1e-2, warmup_steps=3, log_every=5, held_out_every=0)
    parts = TrainingParts(
        dataset=data,
        held_out=held_out,
        loader=Loader(data, sampler, module.window),
        optimisation=Optimisation(module, config, steps=steps),
        store=CheckpointStore(folder / "checkpoints"),
        recorder=recorder,
        progress=quiet,
        steering=adaptive,
    )
    save = SaveConfig(every=save_every, keep_last=0)
    return TrainingLoop(parts, train=config, save=save, steps=steps), parts, adaptive


def train(folder: Path, **options: Any) -> tuple[TrainingParts, Adaptive]:
    """Train to the end, from the newest checkpoint in `folder` if there is one."""
    loop, parts, adaptive = make_run(folder, **options)
    parts.store.sweep()
    average, done = parts.optimisation.average, parts.store.latest()
    if done is None:
        adaptive.start(weights_id(average.state_dict()))
    else:
        loop.resume(done)
    adaptive.begin(average, step=done.step if done else 0)
    loop.run(StopRequest())
    return parts, adaptive


def told(folder: Path, kind: str) -> dict[Any, dict[str, Any]]:
    """The events of one kind by step and task, later attempts replacing earlier ones."""
    untimed = ("t", "seq", "attempt", "seconds")
    return {
        (record["step"], record.get("task")): {
            name: value for name, value in record.items() if name not in untimed
        }
        for record in read_events(folder / "events")
        if record["kind"] == kind
    }
