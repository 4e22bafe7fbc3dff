"""Looks at short episodes in the simulator, the only ones that measure success."""

from collections.abc import Mapping, Sequence

import numpy as np

from etude.core.errors import ConfigError
from etude.core.protocols import Policy, Ranks
from etude.core.types import DataSpec, EpisodeEnd, Observation, Task, TaskId
from etude.curriculum.states import EvidenceKind, TaskEvidence
from etude.evaluate.kept_environments import KeptEnvironments, Played
from etude.evaluate.rollout import Job, Rules
from etude.runs.adaptive_config import SEED_OFFSET, SEEDS
from etude.runs.build import benchmark_builder, build_benchmark
from etude.runs.looks import Moment, share_out
from etude.runs.run_config import RunConfig


class RolloutLooks:
    """Plays a few episodes of each task, from seeds that nothing else uses."""

    kind: EvidenceKind = "rollout"

    def __init__(
        self,
        environments: KeptEnvironments,
        tasks: Sequence[Task],
        *,
        spec: DataSpec,
        episodes: int,
        first_seed: int,
        ranks: Ranks,
    ) -> None:
        self._environments = environments
        self._known = {task.id: task for task in tasks}
        self._homes = {task.id: place for place, task in enumerate(tasks)}
        self._state_dim = spec.state_dim
        self._first_seed = first_seed
        self._ranks = ranks
        self.sizes: tuple[int, int] = (episodes, episodes)

    @property
    def tasks(self) -> tuple[TaskId, ...]:
        """All tasks of the run."""
        return tuple(self._known)

    def look(
        self, policy: Policy, tasks: Sequence[TaskId], *, each: int, moment: Moment
    ) -> dict[TaskId, TaskEvidence | None]:
        """Play `each` episodes of each task.

        Raises:
            ScanError: A task came twice or not at all.
            EtudeError: The simulator cannot be built.
        """
        ranks = self._ranks

        def work(own: Sequence[TaskId]) -> dict[TaskId, TaskEvidence | None]:
            played = self._environments.play(
                policy,
                {task: self._jobs(task, each, moment.turn) for task in own},
                homes={task: self._homes[task] // ranks.size for task in own},
                idle=Observation(task=tasks[0], state=np.zeros(self._state_dim, np.float32)),
                ranks=ranks,
            )
            return _evidence(own, played, moment)

        # A task stays with one rank, so that its environment is made once.
        own = [task for task in tasks if self._homes[task] % ranks.size == ranks.rank]
        return share_out(ranks, tasks, own, work)

    def close(self) -> None:
        """End the environment processes."""
        self._environments.close()

    def _jobs(self, task: TaskId, each: int, turn: int) -> list[Job]:
        """Return episodes that no other look has played, until the seeds are used up."""
        numbers = [(turn * each + number) % SEEDS for number in range(each)]
        return [
            Job(task=self._known[task], episode=number, seed=self._first_seed + number)
            for number in numbers
        ]


def open_rollout_looks(config: RunConfig, spec: DataSpec, *, ranks: Ranks) -> RolloutLooks:
    """Return looks at the tasks of a dataset in the simulator that the configuration names.

    Raises:
        ConfigError: The simulator lacks some of them.
    """
    by_name: Mapping[str, Task] = {task.name: task for task in build_benchmark(config).tasks}
    strange = [task.name for task in spec.tasks if task.name not in by_name]
    if strange:
        raise ConfigError(
            f"score.kind is {config.score.kind!r}, but the simulator lacks {len(strange)} of "
            f"{len(spec.tasks)} tasks of the dataset: {', '.join(strange[:5])}",
            hint="Set score.kind to open_loop, or simulator.tasks to those of the dataset.",
        )
    steps = config.score.max_steps or config.eval.max_steps
    return RolloutLooks(
        KeptEnvironments(
            benchmark_builder(config),
            rules=Rules(max_steps=steps, to_the_end=False),
            processes=config.score.processes,
        ),
        [_known_as(task, by_name[task.name]) for task in spec.tasks],
        spec=spec,
        episodes=config.score.episodes,
        first_seed=config.eval.first_seed + SEED_OFFSET,
        ranks=ranks,
    )


def _known_as(task: Task, played: Task) -> Task:
    """Return a task of the benchmark under the id that the dataset has for it."""
    return Task(id=task.id, index=played.index, name=played.name, text=played.text)


def _evidence(
    own: Sequence[TaskId], played: Played, moment: Moment
) -> dict[TaskId, TaskEvidence | None]:
    found: dict[TaskId, TaskEvidence | None] = {}
    for task in own:
        results = [each.result for each in played.episodes if each.result.task == task]
        # An episode that broke says nothing of the policy.
        whole = [each for each in results if each.end is not EpisodeEnd.ERROR]
        passed = sum(each.success for each in whole)
        found[task] = None
        if whole and task not in played.refused:
            found[task] = TaskEvidence(
                step=moment.step,
                weights=moment.weights,
                kind="rollout",
                passed=float(passed),
                trials=float(len(whole)),
                episodes=len(whole),
                score=1.0 - passed / len(whole),
            )
    return found
