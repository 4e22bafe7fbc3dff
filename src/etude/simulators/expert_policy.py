"""The `expert` policy: the benchmark's own scripted experts, as an upper line for evaluations."""

from collections.abc import Sequence

import numpy as np

from etude.core.errors import PolicyError
from etude.core.protocols import Benchmark, Expert
from etude.core.types import ActionChunk, ContentKey, Observation, TaskId
from etude.simulators.expert_config import ExpertConfig
from etude.simulators.versions import simulator_versions
from etude.store.content import content_key


class ExpertPolicy:
    """Asks each task's expert for one action at a time."""

    horizon = 1
    execute = 1

    def __init__(self, experts: dict[TaskId, Expert], *, key: ContentKey, state_dim: int) -> None:
        self.key = key
        self._experts = experts
        self._state_dim = state_dim

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        """Return the experts' actions; they follow no chance, so `seed` changes nothing.

        Raises:
            PolicyError: A task has no expert, or a state is not the benchmark's.
        """
        del seed
        return [self._chunk(observation) for observation in observations]

    def _chunk(self, observation: Observation) -> ActionChunk:
        expert = self._experts.get(observation.task)
        if expert is None:
            raise PolicyError(
                f"{observation.task} has no scripted expert",
                hint="Evaluate only tasks of the benchmark that the expert was built with.",
            )
        if observation.state.shape != (self._state_dim,):
            raise PolicyError(
                f"{observation.task} has a state of shape {observation.state.shape}, "
                f"not ({self._state_dim},)",
                hint="Give the expert the whole state of the simulator.",
            )
        actions = expert.action(observation.state)[None]
        return ActionChunk(actions=actions, valid=np.ones(1, dtype=np.bool_))


def build_expert_policy(config: ExpertConfig, *, benchmark: Benchmark) -> ExpertPolicy:
    """Build the policy for every task of `benchmark`.

    Raises:
        SimulatorError: The benchmark has no scripted experts.
    """
    return ExpertPolicy(
        {task.id: benchmark.expert(task) for task in benchmark.tasks},
        key=content_key("expert/1", config, simulator_versions()),
        state_dim=benchmark.state_dim,
    )
