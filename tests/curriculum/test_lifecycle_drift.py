import math
import random

from hypothesis import given
from hypothesis import strategies as st

from etude.curriculum.lifecycle_config import DriftConfig
from etude.curriculum.lifecycle_drift import LossDrift

CONFIG = DriftConfig()


def after(*losses: float) -> LossDrift:
    test = LossDrift()
    for loss in losses:
        test = test.observe(loss, CONFIG)
    return test


STEADY = (1.0, 1.2, 0.8, 1.0, 1.2, 0.8, 1.0, 1.0)
"""Mean 1, squares 4 * 0.04 = 0.16, deviation sqrt(0.16 / 7) = 0.1512."""


def test_the_excess_is_what_is_over_the_slack_added_up():
    # (1.3 - 1) / 0.151186 - 0.5 = 1.484313.
    once = after(*STEADY, 1.3)

    assert math.isclose(once.excess, 1.484313, abs_tol=1e-6)
    assert not once.drifted(CONFIG)


def test_a_loss_that_stays_higher_is_a_drift():
    assert after(*STEADY, 1.4, 1.4, 1.4, 1.4).drifted(CONFIG)
    assert after(*STEADY, 1.8).drifted(CONFIG)


def test_a_falling_loss_and_a_loss_before_the_warm_up_are_none():
    assert not after(*STEADY, *(0.5,) * 50).drifted(CONFIG)
    assert not after(1.0, 1.1, 9.0, 9.0).drifted(CONFIG)


def test_a_loss_that_never_varied_needs_a_rise_by_percents():
    assert not after(*(1.0,) * 8, 1.001, 1.001).drifted(CONFIG)
    assert after(*(1.0,) * 8, 1.1).drifted(CONFIG)


def test_steady_noise_is_seldom_taken_for_drift():
    alarms = 0
    for seed in range(50):
        draw = random.Random(seed)
        test = LossDrift()
        for _ in range(60):
            test = test.observe(draw.gauss(1.0, 0.1), CONFIG)
            if test.drifted(CONFIG):
                alarms += 1
                break

    assert alarms <= 15


@given(st.lists(st.floats(allow_nan=True), max_size=40))
def test_whatever_is_observed_the_test_stays_a_number(losses: list[float]):
    finite = [loss for loss in losses if math.isfinite(loss) and abs(loss) < 1e100]
    test = after(*(loss for loss in losses if not math.isfinite(loss)), *finite)

    assert test.seen == len(finite)
    assert math.isfinite(test.mean)
    assert test.excess >= 0.0
