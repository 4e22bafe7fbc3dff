import numpy as np
import pytest

from etude.core.errors import StateError
from etude.core.types import TaskId
from etude.curriculum.window_weights import FrameStrata
from streams import batches, sampler, spans

EPISODES = spans((20,), (12,))
ROWS = 32
STRATA = FrameStrata(names=("hard", "easy"), labels=np.arange(ROWS, dtype=np.int8) % 2)
HARD = {TaskId("d/0"): {"hard": 1.5, "easy": 0.5}}


def test_a_stream_may_learn_of_strata_and_is_the_same_until_they_are_weighed():
    plain = sampler(EPISODES, 0.5, 0.5)
    batches(plain, 5)
    learned = sampler(EPISODES, 0.5, 0.5, strata=STRATA)

    learned.load_state_dict(plain.state_dict())

    assert batches(learned, 3) == batches(plain, 3)
    assert learned.set_window_weights(HARD)
    rows = np.array(batches(learned, 40)).ravel()
    hard = np.count_nonzero((rows < 20) & (rows % 2 == 0))
    assert abs(hard - 60) <= 2


def test_a_stream_does_not_forget_strata_that_it_drew_by():
    weighed = sampler(EPISODES, 0.5, 0.5, strata=STRATA)

    with pytest.raises(StateError, match="has other strata than this run"):
        sampler(EPISODES, 0.5, 0.5).load_state_dict(weighed.state_dict())


def test_weights_that_hold_already_change_nothing():
    drawn = sampler(EPISODES, 0.5, 0.5, strata=STRATA, lag=3)

    assert drawn.set_window_weights(HARD)
    batches(drawn, 5)
    before = drawn.state_dict()
    assert not drawn.set_window_weights(HARD)
    assert drawn.state_dict() == before
    assert drawn.set_window_weights({})
    assert [step for step, _ in drawn.state_dict()["windows"]] == [0, 8]
