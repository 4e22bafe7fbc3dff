"""The adaptive loop: look at the tasks, move their states, plan what is practised next."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from etude.checkpoints.commit import MANIFEST
from etude.core.kill_points import kill_point
from etude.core.protocols import Ranks
from etude.core.types import CheckpointRef, ContentKey, DataSpec, SamplingPlan, TaskId
from etude.curriculum.lifecycle import advance, due, look_soon
from etude.curriculum.lifecycle_config import LifecycleConfig
from etude.curriculum.plan import uniform_plan
from etude.curriculum.rule_config import PlanConfig
from etude.curriculum.rules import built_in_rules
from etude.curriculum.rules_planning import counterfactuals, next_plan
from etude.curriculum.rules_view import CurriculumRule, RuleView
from etude.curriculum.sampler import CurriculumSampler
from etude.curriculum.states import TaskEvidence, TaskState, untried_states
from etude.curriculum.task_state import FILE_NAME, make_document
from etude.runs.adaptive_config import StartConfig
from etude.runs.adaptive_start import AUTO, Beginning, Grounds, beginning
from etude.runs.chronicle import Chronicle, require_history
from etude.runs.look_sizes import LookClock, Size
from etude.runs.looks import Looker, Moment
from etude.runs.loss_watch import LossWatch
from etude.store.atomic import encode_json, read_json
from etude.train.live_policy import LivePolicy
from etude.train.trainable import Trainable

STATE = "steering.json"
SCHEMA = "steering/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """When something is done, and how far it may go."""

    look_every: int
    plan_every: int
    lag: int
    """Steps after which a plan takes effect."""
    lifecycle: LifecycleConfig
    plan: PlanConfig
    rollouts_decide: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AdaptiveParts:
    """What the adaptive loop works with."""

    run_id: str
    spec: DataSpec
    sampler: CurriculumSampler
    lookers: Sequence[Looker]
    rule: CurriculumRule
    rule_name: str
    grounds: Grounds
    chronicle: Chronicle
    ledger: Path
    losses: LossWatch
    clock: LookClock
    ranks: Ranks
    start: StartConfig
    weigh: Callable[[SamplingPlan], SamplingPlan] = lambda plan: plan
    """What is drawn where the rule wants a plan: several datasets keep their shares."""
    references: Mapping[TaskId, float] = field(default_factory=dict[TaskId, float])
    """Loss of each task that a rule may compare with; a task without is missing."""


class Adaptive:
    """A `Steering`. States change at looks only, and everything is equal on every rank."""

    def __init__(self, parts: AdaptiveParts, rhythm: Rhythm) -> None:
        self._parts = parts
        self._rhythm = rhythm
        tasks = [task.id for task in parts.grounds.tasks]
        self._states = untried_states(tasks, budget=parts.grounds.budget)
        self._plan = uniform_plan(tasks)
        self._counted: dict[TaskId, int] = dict.fromkeys(tasks, 0)
        self._found: Beginning | None = None
        self._weights = ""
        self._continued = False

    @property
    def states(self) -> Mapping[TaskId, TaskState]:
        """Where every task stands."""
        return self._states

    @property
    def plan(self) -> SamplingPlan:
        """The newest plan."""
        return self._plan

    def start(self, weights: str, *, beside: Path | None = None) -> None:
        """Take up what is known of weights that training begins with.

        Raises:
            StateError: The document that is asked for cannot be taken over.
        """
        self._adopt(beside, weights, step=0)

    def resume(self, folder: Path, step: int) -> None:
        """Continue with what `capture` returned for the checkpoint in `folder`.

        Raises:
            StateError: The document that is asked for cannot be taken over.
            DataError: The ledger does not hold the history of the checkpoint.
        """
        manifest = read_json(folder / MANIFEST)
        found = self._adopt(folder, str(manifest["weights"]), step=step)
        head: Mapping[str, Any] | None = manifest.get("ledger")
        if head is not None and not require_history(self._parts.ledger, head, folder=folder):
            self._parts.chronicle.warn(f"{self._parts.ledger} was lost; a new history begins")
        own = self._parts.start.task_state == AUTO and (folder / STATE).exists()
        if own and found.plan is not None and not found.stale and not found.moved:
            self._restore(read_json(folder / STATE))

    def begin(self, average: Trainable, *, step: int) -> None:
        """Look at the tasks and plan, unless that was done for just these weights.

        Args:
            average: The weights that inference would use.
            step: Steps that they have seen in this run.
        """
        parts, found = self._parts, self._found
        if found is not None:
            for note in found.notes:
                parts.chronicle.warn(note)
        parts.chronicle.began(
            step=step,
            weights=self._weights,
            source="" if found is None else found.source,
            stale=found is not None and found.stale,
        )
        if self._continued:
            parts.clock.skip()
            return
        self._counted = parts.sampler.draws(step=step)
        if found is not None and (found.source or step):
            self._look(step, average, self._weights, whole=True)
        self._replan(step, initial=True)
        parts.clock.skip()

    def after_step(self, step: int, average: Trainable) -> None:
        """Look at the weights if it is time to, and tell the sampler what follows."""
        looks = self._parts.lookers and step % self._rhythm.look_every == 0
        if looks:
            self._parts.clock.begin()
            self._look(step, average, f"{self._parts.run_id}@{step}")
        if step % self._rhythm.plan_every == 0:
            self._replan(step)

    def capture(self, step: int) -> Callable[[ContentKey], Mapping[str, bytes]]:
        """Freeze what belongs into the checkpoint of this step."""
        parts = self._parts
        document = functools.partial(
            make_document,
            dict(self._states),
            parts.grounds.tasks,
            self._plan,
            run_id=parts.run_id,
            step=step,
            dataset=parts.grounds.mark,
            rule=parts.rule_name,
        )
        state: dict[str, object] = {
            "schema": SCHEMA,
            "step": step,
            "counted": list(self._counted.values()),
            "losses": parts.losses.to_dict(),
            "clock": parts.clock.to_dict(),
        }
        told = encode_json(state, indent=1)

        def filed(weights: ContentKey) -> Mapping[str, bytes]:
            text = document(weights=weights).to_text()
            return {FILE_NAME: text.encode("utf-8", "backslashreplace"), STATE: told}

        return filed

    def extra(self, step: int) -> Mapping[str, Any]:
        """Return where the ledger ends, for the manifest."""
        del step
        head = self._parts.chronicle.head
        return {"ledger": {"seq": head.seq, "hash": head.hash}}

    def committed(self, ref: CheckpointRef) -> None:
        """Note that a checkpoint is on disk, whole."""
        self._parts.chronicle.committed(ref)

    def _adopt(self, beside: Path | None, weights: str, *, step: int) -> Beginning:
        parts = self._parts
        found = beginning(parts.start, parts.grounds, beside=beside, weights=weights, step=step)
        self._found, self._weights = found, weights
        self._states = found.states
        self._plan = found.plan or self._plan
        return found

    def _restore(self, saved: Mapping[str, Any]) -> None:
        self._counted = dict(zip(self._states, map(int, saved["counted"]), strict=True))
        self._parts.losses.restore(saved["losses"])
        self._parts.clock.restore(saved["clock"])
        self._continued = True

    def _look(self, step: int, average: Trainable, weights: str, *, whole: bool = False) -> None:
        """Let every looker look at the tasks that are due: all, or as far as there is time."""
        parts = self._parts
        risen = parts.ranks.gather(parts.losses.drifted())[0]
        self._states = look_soon(self._states, risen)
        wanted = due(self._states)
        moment = Moment(step=step, weights=weights, turn=step // self._rhythm.look_every)
        policy = LivePolicy(average, parts.spec, key=weights)
        evidence: dict[TaskId, list[TaskEvidence]] = {}
        for place, looker in enumerate(parts.lookers):
            found = self._one_look(
                looker, policy, wanted, moment, whole=whole, part=1 / (len(parts.lookers) - place)
            )
            for task, seen in found.items():
                evidence.setdefault(task, []).extend([] if seen is None else [seen])
        kill_point("steer.scored")
        if evidence:
            self._advance(step, evidence)

    def _one_look(
        self,
        looker: Looker,
        policy: LivePolicy,
        due_tasks: Sequence[TaskId],
        moment: Moment,
        *,
        whole: bool,
        part: float,
    ) -> dict[TaskId, TaskEvidence | None]:
        parts = self._parts
        wanted = [task for task in self._longest_ago(due_tasks, looker) if task in looker.tasks]
        least, most = looker.sizes
        size = Size(tasks=len(wanted), each=most)
        if not whole:
            fits = parts.clock.fit(
                looker.kind, tasks=len(wanted), least=least, most=most, part=part
            )
            # Clocks differ, so one rank speaks for all.
            size = parts.ranks.gather(fits)[0]
        chosen = wanted[: size.tasks]
        found = looker.look(policy, chosen, each=size.each, moment=moment) if chosen else {}
        seconds = parts.clock.end(looker.kind, len(chosen) * size.each)
        parts.chronicle.looked(
            looker, found, moment, due=len(wanted), each=size.each, seconds=seconds
        )
        return found

    def _longest_ago(self, tasks: Sequence[TaskId], looker: Looker) -> list[TaskId]:
        """Return tasks in the order of their last looks, those never looked at first."""

        def last(task: TaskId) -> int:
            looks = (each.step for each in self._states[task].history if each.kind == looker.kind)
            return max(looks, default=-1)

        return sorted(tasks, key=last)

    def _advance(self, step: int, evidence: Mapping[TaskId, Sequence[TaskEvidence]]) -> None:
        drawn = self._parts.sampler.draws(step=step)
        self._states, transitions = advance(
            self._states,
            evidence,
            {task: float(count - self._counted[task]) for task, count in drawn.items()},
            step=step,
            config=self._rhythm.lifecycle,
            rollouts_decide=self._rhythm.rollouts_decide,
        )
        self._counted = drawn
        self._parts.chronicle.changed(
            transitions, {task: state.proxy for task, state in self._states.items()}
        )

    def _replan(self, step: int, *, initial: bool = False) -> None:
        """Let a new plan hold as soon as no batch of it can be drawn already."""
        parts, rhythm = self._parts, self._rhythm
        view = RuleView(
            states=self._states,
            frames=parts.sampler.frames,
            plan=self._plan.weights,
            losses=parts.losses.since_plan(),
            references=parts.references,
        )
        planned = parts.ranks.gather(next_plan(parts.rule, view, rhythm.plan, initial=initial))[0]
        if planned.warning:
            parts.chronicle.warn(f"step {step}: {planned.warning}")
        self._plan = planned.plan
        begins = step + rhythm.lag if parts.sampler.step else 0
        drawn = parts.weigh(self._plan)
        parts.sampler.set_plan(drawn, from_step=begins, trained=step)
        kill_point("steer.planned")
        parts.chronicle.planned(drawn.weights, step=step, from_step=begins, rule=parts.rule_name)
        rules = {**built_in_rules(), parts.rule_name: parts.rule}
        parts.chronicle.could_have(counterfactuals(view, rhythm.plan, rules), step=step)
