import numpy as np
import pytest

from etude.core.types import ActionChunk, Observation, TaskId
from etude.testing.conformance import check_policy
from etude.testing.fakes import ToyPolicy

SEEN = [Observation(task=TaskId("toy/0"), state=np.ones(3, np.float32))]


class Restless(ToyPolicy):
    """Answers the same question differently each time."""

    def act(self, observations, *, seed):
        chunks = super().act(observations, seed=seed)
        return [ActionChunk(actions=c.actions + self.calls, valid=c.valid) for c in chunks]


class Meddling(ToyPolicy):
    """Changes what it was shown."""

    def act(self, observations, *, seed):
        chunks = super().act(observations, seed=seed)
        for observation in observations:
            observation.state[0] += 0
            observation.state[-1] = -1
        return chunks


class Silent(ToyPolicy):
    """Forgets all but the first observation."""

    def act(self, observations, *, seed):
        return super().act(observations[:1], seed=seed)


@pytest.mark.parametrize(
    "policy", [Restless(), Meddling(), Silent(), ToyPolicy(horizon=1, execute=2)]
)
def test_conformance_finds_a_policy_that_breaks_its_contract(policy: ToyPolicy):
    copies = [Observation(task=s.task, state=s.state.copy()) for s in SEEN * 2]

    with pytest.raises(AssertionError):
        check_policy(policy, copies)
