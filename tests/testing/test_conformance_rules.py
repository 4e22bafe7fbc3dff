import math
from collections.abc import Mapping

import pytest

from etude.core.types import TaskId
from etude.curriculum.rules import built_in_rules
from etude.curriculum.rules_view import RuleView
from etude.testing.conformance import check_rule


@pytest.mark.parametrize("name", list(built_in_rules()))
def test_every_rule_that_comes_with_etude_keeps_the_contract(name: str):
    check_rule(built_in_rules()[name])


def test_there_are_seven():
    assert len(built_in_rules()) == 7


class Even:
    """A rule to be broken in one way at a time."""

    shaped = True

    def weights(self, view: RuleView) -> Mapping[TaskId, float]:
        return dict.fromkeys(view.states, 1.0)


class Nothing(Even):
    """No weight for anything, which means that all are drawn alike."""

    def weights(self, view: RuleView) -> Mapping[TaskId, float]:
        return dict.fromkeys(view.states, 0.0)


class Forgetful(Even):
    """Leaves the first task out."""

    def weights(self, view: RuleView) -> Mapping[TaskId, float]:
        return dict.fromkeys(list(view.states)[1:], 1.0)


class Inventive(Even):
    """Weighs a task that is not there."""

    def weights(self, view: RuleView) -> Mapping[TaskId, float]:
        return {**dict.fromkeys(view.states, 1.0), TaskId("rule/extra"): 1.0}


class Undefined(Even):
    """Divides nothing by nothing for a task without looks."""

    def weights(self, view: RuleView) -> Mapping[TaskId, float]:
        return {task: 1.0 if state.history else math.nan for task, state in view.states.items()}


class Negative(Even):
    """Draws passed tasks less than never."""

    def weights(self, view: RuleView) -> Mapping[TaskId, float]:
        return {
            task: -1.0 if state.status == "passed" else 1.0 for task, state in view.states.items()
        }


class Remembering(Even):
    """Answers by how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def weights(self, view: RuleView) -> Mapping[TaskId, float]:
        self.asked += 1
        return {task: float(self.asked) for task in view.states}


class Meddling(Even):
    """Changes the shares in force."""

    def weights(self, view: RuleView) -> Mapping[TaskId, float]:
        assert isinstance(view.plan, dict)
        view.plan.clear()
        return dict.fromkeys(view.states, 1.0)


def test_a_rule_of_ones_and_one_of_zeros_pass():
    check_rule(Even())
    check_rule(Nothing())


@pytest.mark.parametrize(
    "rule",
    [Forgetful(), Inventive(), Undefined(), Negative(), Remembering(), Meddling()],
)
def test_a_rule_that_breaks_its_contract_is_found(rule: Even):
    with pytest.raises(AssertionError):
        check_rule(rule)
