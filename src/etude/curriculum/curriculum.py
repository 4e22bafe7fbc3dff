"""The whole curriculum as one object, for trainers that are not Etude's own."""

from collections.abc import Mapping, Sequence
from typing import Any

from etude.core.errors import ConfigError, StateError
from etude.core.types import EpisodeSpan, SamplingPlan, Task, TaskId
from etude.curriculum.drop_in_config import DropInConfig
from etude.curriculum.feeds import CountedBatches
from etude.curriculum.lifecycle import advance, due, task_budget
from etude.curriculum.plan import uniform_plan
from etude.curriculum.rule_config import LearnabilityConfig
from etude.curriculum.rules import LearnabilityRule
from etude.curriculum.rules_planning import next_plan
from etude.curriculum.rules_view import CurriculumRule, RuleView
from etude.curriculum.sampler import CurriculumSampler
from etude.curriculum.score import Score
from etude.curriculum.states import TaskState, Transition, untried_states
from etude.curriculum.task_state import DatasetMark, TaskStateDocument, make_document
from etude.curriculum.task_state_adopt import adopt
from etude.curriculum.task_state_reading import document_from_text
from etude.curriculum.window_weights import FrameStrata, Multipliers

SCHEMA = "curriculum/1"


class Curriculum:
    """Says which frames to train on next, and learns from the scores that it is told.

    Everything is equal on every rank as long as all are told the same at the same steps. It saves
    and loads as torch's distributed checkpoints expect.
    """

    def __init__(
        self,
        episodes: Sequence[EpisodeSpan],
        *,
        batch_size: int,
        seed: int = 0,
        rank: int = 0,
        ranks: int = 1,
        rule: CurriculumRule | None = None,
        config: DropInConfig | None = None,
        epoch_batches: int | None = None,
        strata: FrameStrata | None = None,
        run_id: str = "run",
    ) -> None:
        """Prepare to draw from `episodes`, all tasks alike until scores come.

        Args:
            episodes: Those to train on.
            batch_size: Rows of a global batch, over all ranks.
            seed: Names the stream.
            rank: Whose rows `batches` yields.
            ranks: How many share a batch.
            rule: Weighs the tasks; `learnability` if left out.
            config: How it runs.
            epoch_batches: Batches of an epoch; None for as many as there are frames for.
            strata: What window weights can tell apart.
            run_id: Names the weights that scores are of: "run_id@step".

        Raises:
            ConfigError: There are no episodes, or a number is out of range.
        """
        self.config = config or DropInConfig()
        self._rule = rule or LearnabilityRule(LearnabilityConfig())
        self._run_id = run_id
        tasks = tuple(dict.fromkeys(span.task for span in episodes if span.length))
        if not tasks:
            raise ConfigError("there are no episodes to train on", hint="Record some.")
        self._plan = uniform_plan(tasks)
        self.sampler = CurriculumSampler(
            episodes,
            self._plan,
            batch_size=batch_size,
            seed=seed,
            rank=rank,
            ranks=ranks,
            epoch_batches=epoch_batches,
            lag=self.config.lag,
            strata=strata,
        )
        draws = batch_size * self.config.steps
        self._budget = task_budget(draws, len(tasks), self.config.lifecycle)
        self._states = untried_states(tasks, budget=self._budget)
        self._counted: dict[TaskId, int] = dict.fromkeys(tasks, 0)
        self._planned_at: int | None = None
        self._step: int = 0
        self._warning = ""
        self.batches = CountedBatches(self.sampler, lambda: self._step)
        """What a loader takes as its `batch_sampler`."""

    @property
    def step(self) -> int:
        """Batches that were trained on."""
        return self._step

    @property
    def plan(self) -> SamplingPlan:
        """The newest plan, which may still wait for the step from which it holds."""
        return self._plan

    @property
    def warning(self) -> str:
        """Why the rule's weights could not be used for the newest plan; empty if they were."""
        return self._warning

    @property
    def states(self) -> Mapping[TaskId, TaskState]:
        """Where every task stands."""
        return self._states

    @property
    def due(self) -> tuple[TaskId, ...]:
        """The tasks that are to be scored next; passed ones are not among them every time."""
        return due(self._states)

    def trained(self) -> None:
        """Count one more batch that was trained on."""
        self._step += 1

    def observe(self, scores: Mapping[TaskId, Score | None], *, step: int) -> list[Transition]:
        """Take in scores of the weights after `step` batches, and plan anew if it is time.

        Every rank has to be told the same. Scores of step 0 make the plan of the first batch, if
        they come before a loader draws it.

        Args:
            scores: By task; None where scoring failed. Tasks that were not due may be missing.
            step: Batches that were trained on.

        Raises:
            ScanError: A task is unknown.
            StateError: The loader stands at another step, or has drawn further ahead than `lag`.
        """
        if step != self._step:
            raise StateError(
                f"scores are of step {step}, but {self._step} batches were trained on",
                hint="Call `trained` once for each batch.",
            )
        weights = self._live_weights()
        evidence = {
            task: [score.evidence(step=step, weights=weights)] if score else []
            for task, score in scores.items()
        }
        uncounted = self._uncounted(step)
        self._states, transitions = advance(
            self._states,
            evidence,
            {task: float(count) for task, count in uncounted.items()},
            step=step,
            config=self.config.lifecycle,
        )
        self._counted = self.sampler.draws(step=step)
        if self._planned_at is None or step - self._planned_at >= self.config.plan_every:
            self._replan(step)
        return transitions

    def weigh_windows(self, weights: Multipliers) -> None:
        """Draw frames inside tasks by other multipliers of their strata, as soon as that can be.

        Every rank has to be told the same.

        Args:
            weights: By task and stratum; a task that is not named draws all its frames alike.

        Raises:
            ConfigError: A task or stratum is unknown, or nothing is left of a task.
            StateError: No strata are known.
        """
        self.sampler.set_window_weights(weights, from_step=self._begins(), trained=self._step)

    def document(self, *, weights: str | None = None) -> TaskStateDocument:
        """Return where all tasks stand as a document that a person can read.

        Args:
            weights: Identity of the weights beside which it is saved; those in training if None.
        """
        return make_document(
            self._states,
            self._tasks(),
            self._plan,
            run_id=self._run_id,
            step=self._step,
            weights=weights or self._live_weights(),
            dataset=DatasetMark(),
            rule=type(self._rule).__name__,
        )

    def state_dict(self) -> dict[str, Any]:
        """Return what `load_state_dict` needs to go on behind the last batch trained on.

        The document is text, because distributed checkpoints take lists of objects apart, and put
        back together only those that are as long as before.

        Raises:
            StateError: The loader has drawn further ahead than `lag`.
        """
        return {
            "schema": SCHEMA,
            "sampler": self.sampler.state_dict(step=self._step),
            "uncounted": list(self._uncounted(self._step).values()),
            "planned_at": self._planned_at,
            "document": self.document().to_text(),
        }

    def load_state_dict(
        self, state: Mapping[str, Any], *, accept_data_change: bool = False
    ) -> None:
        """Go on where `state` was taken, with any number of ranks and workers.

        Args:
            state: What `state_dict` returned.
            accept_data_change: Go on although tasks or frames differ: new tasks are untried, and
                all tasks are drawn alike until the next scores.

        Raises:
            StateError: It is of other data or settings, or of another version.
        """
        if state.get("schema") != SCHEMA:
            raise StateError(
                f"the saved curriculum has schema {state.get('schema')!r}, not {SCHEMA!r}",
                hint="Resume with the version of Etude that saved it.",
            )
        self.sampler.load_state_dict(state["sampler"], accept_data_change=accept_data_change)
        document = document_from_text(state["document"], source="the saved curriculum")
        adopted = adopt(
            document,
            self._tasks(),
            weights=document.weights,
            accept_data_change=accept_data_change,
            budget=self._budget,
        )
        self._states = adopted.states
        self._step = self.sampler.step
        same = tuple(document.states) == self.sampler.tasks
        drawn = self.sampler.draws()
        uncounted = state["uncounted"] if same else [0] * len(drawn)
        self._counted = {
            task: count - int(rest)
            for (task, count), rest in zip(drawn.items(), uncounted, strict=True)
        }
        self._planned_at = state["planned_at"] if same else None
        if adopted.plan is not None:
            self._plan = adopted.plan

    def _replan(self, step: int) -> None:
        view = RuleView(states=self._states, frames=self.sampler.frames, plan=self._plan.weights)
        initial = self._planned_at is None
        planned = next_plan(self._rule, view, self.config.plan, initial=initial)
        self._plan, self._warning = planned.plan, planned.warning
        self.sampler.set_plan(self._plan, from_step=self._begins(), trained=step)
        self._planned_at = step

    def _begins(self) -> int:
        """Return the first step whose batch no rank can have drawn yet."""
        return self._step + self.config.lag if self._step else 0

    def _uncounted(self, step: int) -> dict[TaskId, int]:
        """Return the draws that no task has been charged with yet."""
        drawn = self.sampler.draws(step=step)
        return {task: count - self._counted[task] for task, count in drawn.items()}

    def _tasks(self) -> list[Task]:
        names = enumerate(self.sampler.tasks)
        return [Task(id=task, index=place, name="", text="") for place, task in names]

    def _live_weights(self) -> str:
        return f"{self._run_id}@{self._step}"
