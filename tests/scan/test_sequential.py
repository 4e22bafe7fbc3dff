import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.types import TaskId
from etude.scan.sequential import (
    Evidence,
    effective_count,
    evidence_of,
    next_windows,
    pass_interval,
)

A, B, C, D = (TaskId(f"toy/{i}") for i in range(4))


def evidence(passed: float, trials: float) -> Evidence:
    return Evidence(passed=passed, trials=trials)


@pytest.mark.parametrize(
    ("passed", "trials", "verdict"),
    [
        # ln(0.95 / 0.80) = 0.17185, ln(0.05 / 0.20) = -1.38629, bounds +-ln 19 = +-2.94444.
        (17, 17, "undecided"),  # 2.921
        (18, 18, "pass"),  # 3.093
        (25, 26, "undecided"),  # 4.296 - 1.386 = 2.910
        (26, 27, "pass"),  # 3.082
        (0, 2, "undecided"),  # -2.773
        (0, 3, "fail"),  # -4.159
        (7, 10, "fail"),  # 1.203 - 4.159 = -2.956
        (8, 11, "undecided"),  # 1.375 - 4.159 = -2.784
        (0, 0, "undecided"),
    ],
)
def test_the_test_decides_where_the_ratio_worked_out_by_hand_does(
    passed: int, trials: int, verdict: str
):
    assert evidence(passed, trials).verdict == verdict


@pytest.mark.parametrize(("rate", "wrong"), [(0.80, "pass"), (0.95, "fail")])
def test_wrong_decisions_are_as_rare_as_promised(rate: float, wrong: str):
    random = np.random.default_rng(7)
    decided: list[str] = []
    for _ in range(400):
        passed = trials = 0
        while (verdict := evidence(passed, trials).verdict) == "undecided":
            passed, trials = passed + int(random.random() < rate), trials + 1
        decided.append(verdict)

    assert decided.count(wrong) / len(decided) <= 0.07


def test_windows_of_different_episodes_count_in_full():
    assert effective_count([1.0] * 5, [0, 1, 2, 3, 4]) == 5.0


def test_windows_of_one_episode_count_less():
    # 21 windows of one episode: 21 / (1 + 20 * 0.05) = 10.5.
    assert effective_count([1.0] * 21, [4] * 21) == pytest.approx(10.5)


def test_windows_of_unequal_weight_count_less():
    # (1 + 1 + 2)^2 / (1 + 1 + 4) = 16 / 6, each of its own episode.
    assert effective_count([1.0, 1.0, 2.0], [0, 1, 2]) == pytest.approx(16 / 6)


@given(
    st.lists(
        st.tuples(st.floats(0.01, 100), st.integers(0, 3), st.booleans()), min_size=1, max_size=30
    )
)
def test_effective_counts_never_exceed_the_windows(drawn: list[tuple[float, int, bool]]):
    weights, episodes, passed = (list(each) for each in zip(*drawn, strict=True))

    found = evidence_of(passed, weights=weights, episodes=episodes)
    interval = pass_interval(found, passed=sum(passed), windows=len(passed))

    assert 0 <= found.passed <= found.trials * (1 + 1e-12)
    assert 0 < found.trials <= len(passed) * (1 + 1e-12)
    assert interval.rate is not None
    assert 0 <= interval.low <= interval.rate + 1e-12
    assert interval.rate - 1e-12 <= interval.high <= 1


def test_passes_count_by_their_weights():
    found = evidence_of([True, False], weights=[3.0, 1.0], episodes=[0, 1])

    assert found.rate == pytest.approx(0.75)
    assert found.trials == pytest.approx(16 / 10)


def test_the_interval_is_that_of_the_effective_counts():
    # Newcombe 1998, table I: 81 of 263 is 0.2553 to 0.3662; 526 windows say as much here.
    interval = pass_interval(evidence(81, 263), passed=162, windows=526)

    assert (interval.successes, interval.trials) == (162, 526)
    assert interval.rate == pytest.approx(81 / 263)
    assert interval.low == pytest.approx(0.2553, abs=5.1e-5)
    assert interval.high == pytest.approx(0.3662, abs=5.1e-5)


def test_nothing_scored_is_nothing_known():
    interval = pass_interval(evidence_of([], weights=[], episodes=[]), passed=0, windows=0)

    assert (interval.rate, interval.low, interval.high) == (None, 0.0, 1.0)


def test_the_rest_of_the_budget_goes_to_the_tasks_most_in_doubt():
    known = {
        A: evidence(18, 18),  # passed
        B: evidence(16, 16),  # 2.75, nearly passed
        C: evidence(8, 9),  # -0.01, could be anything
        D: evidence(0, 3),  # failed
    }

    assert next_windows(known, room=dict.fromkeys(known, 100), budget=6) == {C: 4, B: 2}


def test_a_task_without_windows_left_stays_undecided():
    assert next_windows({A: evidence(8, 9), B: evidence(8, 8)}, room={A: 0, B: 3}, budget=9) == {
        B: 3
    }


@given(
    st.dictionaries(
        st.integers(0, 20).map(lambda i: TaskId(f"toy/{i}")),
        st.tuples(st.integers(0, 30), st.integers(0, 5), st.integers(0, 9)),
    ),
    st.integers(0, 50),
)
def test_no_more_is_given_than_there_is(drawn: dict[TaskId, tuple[int, int, int]], budget: int):
    known = {task: evidence(good, good + bad) for task, (good, bad, _) in drawn.items()}
    room = {task: left for task, (_, _, left) in drawn.items()}

    given_out = next_windows(known, room=room, budget=budget)

    assert sum(given_out.values()) <= budget
    assert all(0 < count <= room[task] for task, count in given_out.items())
    assert all(known[task].verdict == "undecided" for task in given_out)
    assert given_out == next_windows(dict(reversed(known.items())), room=room, budget=budget)
