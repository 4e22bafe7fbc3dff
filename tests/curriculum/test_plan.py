import pytest

from etude.core.errors import ConfigError
from etude.core.types import SamplingPlan, TaskId
from etude.curriculum.plan import check_plan, uniform_plan

A, B = TaskId("d/0"), TaskId("d/1")


def test_a_uniform_plan_gives_every_task_the_same_weight():
    assert uniform_plan([A, B]).weights == {A: 0.5, B: 0.5}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({A: -0.5, B: 1.5}, "weight of task d/0 is -0.5"),
        ({A: float("nan"), B: 1.0}, "weight of task d/0 is nan"),
        ({A: 0.5, B: 0.25}, "weights of 2 tasks sum to 0.75, not to 1"),
    ],
)
def test_a_plan_that_is_no_distribution_is_refused(weights: dict[TaskId, float], message: str):
    with pytest.raises(ConfigError, match=message):
        check_plan(SamplingPlan(weights=weights))
