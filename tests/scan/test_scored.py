from pathlib import Path

import pytest

from etude.core.errors import PolicyUnavailable
from etude.core.types import TaskId
from etude.scan.episodes import episodes_to_scan
from etude.scan.plan import TaskPlan
from etude.scan.scan_config import ScanConfig
from etude.scan.scored import Scored
from etude.scan.subject import prepare
from toy_scan import BAD, GOOD, WORSE, CopyPolicy, late, scanning

CONFIG = ScanConfig(batch_size=8, time_limit_s=10, retries=0)


def firsts(plans: dict[TaskId, TaskPlan], count: int, *, of: int = 3):
    """Return the first windows of the first `of` tasks."""
    return [choice for plan in list(plans.values())[:of] for choice in plan.choices[:count]]


def test_scores_are_known_by_task_and_told_with_what_they_stand_for(tmp_path: Path):
    with scanning(tmp_path, CONFIG) as (subject, scorer):
        episodes, _ = episodes_to_scan(subject.train, subject.held_out)
        judge, plans = prepare(subject, CONFIG, episodes, most=4)
        scored = Scored(scorer, judge, plans)

        assert scored.add(firsts(plans, 2, of=2), limited=False)
        assert not scored.every_task
        assert scored.add(firsts(plans, 2)[4:], limited=False)

        assert [len(scored.of[task]) for task in (GOOD, BAD, WORSE)] == [2, 2, 2]
        assert scored.every_task
        found = scored.finish()

    assert [score.choice.task for score in found] == [GOOD] * 2 + [BAD] * 2 + [WORSE] * 2
    # Three held-out episodes of 40 frames each; two of them were looked at.
    for task in (GOOD, BAD, WORSE):
        weights = [score.choice.weight for score in found if score.choice.task == task]
        assert sum(weights) == pytest.approx(120)


def test_time_that_is_up_stops_where_it_is_a_limit(tmp_path: Path):
    with scanning(tmp_path, CONFIG, clock=late()) as (subject, scorer):
        episodes, _ = episodes_to_scan(subject.train, subject.held_out)
        judge, plans = prepare(subject, CONFIG, episodes, most=4)
        scored = Scored(scorer, judge, plans)

        assert scored.add(firsts(plans, 1), limited=False)
        assert not scored.add([plan.choices[1] for plan in plans.values()], limited=True)

        assert scored.stopped
        assert [len(scored.of[task]) for task in (GOOD, BAD, WORSE)] == [1, 1, 1]


class Gone(CopyPolicy):
    """Answers nothing."""

    def act(self, observations: object, *, seed: int):
        raise PolicyUnavailable("nobody there")


def test_a_policy_that_never_answered_is_an_error_in_the_end(tmp_path: Path):
    with scanning(tmp_path, CONFIG, load=Gone) as (subject, scorer):
        episodes, _ = episodes_to_scan(subject.train, subject.held_out)
        judge, plans = prepare(subject, CONFIG, episodes, most=4)
        scored = Scored(scorer, judge, plans)

        assert not scored.add(firsts(plans, 1), limited=False)
        with pytest.raises(PolicyUnavailable, match="nobody there"):
            scored.finish()
