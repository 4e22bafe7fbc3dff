from dataclasses import replace

from etude.curriculum.states import TaskEvidence, TaskState
from task_looks import CONFIG, TASK, OneTask, look


def windows(score: float, *, passed: float = 0.0) -> TaskEvidence:
    return look(passed, 40, kind="open_loop", score=score)


def hopeless() -> OneTask:
    """A run whose task stays as bad as it is until its budget of 40 draws is spent."""
    run = OneTask(state=TaskState(task=TASK, budget=40.0))
    while run.state.status != "exhausted":
        run.scan(windows(0.95))
        assert run.step <= 500
    return run


def test_a_task_that_does_not_get_better_is_exhausted_when_its_budget_is_spent():
    run = hopeless()

    # Every scan comes after 10 draws, and four looks make a trend: the fourth is at 40.
    assert (run.step, run.state.spent) == (200, 40.0)
    assert run.state.reason == (
        "spent 40 of 40 draws, and as many again would improve its score by at most 0.000, "
        "under 0.03"
    )


def test_a_task_that_gets_better_is_not_exhausted_however_much_it_has_taken():
    run = OneTask(state=TaskState(task=TASK, budget=40.0))

    for place in range(30):
        run.scan(windows(0.95 - 0.01 * place))

    assert (run.state.status, run.state.spent) == ("training", 300.0)


def test_a_task_without_a_budget_is_never_exhausted():
    run = OneTask()

    for _ in range(30):
        run.scan(windows(0.95))

    assert run.state.status == "training"


def test_a_task_about_to_pass_is_not_exhausted():
    run = OneTask(state=TaskState(task=TASK, budget=40.0))
    for _ in range(3):
        run.scan(windows(0.1, passed=34))

    run.scan(windows(0.1, passed=40))
    (change,) = run.scan(windows(0.1, passed=40))

    assert change.after == "passed"


def test_a_task_that_nearly_always_succeeds_is_not_given_up_for_want_of_progress():
    run = OneTask(state=TaskState(task=TASK, budget=40.0))

    # 7 of 7 windows: an expected rate of 8 / 9, and too few to prove it.
    for _ in range(10):
        run.scan(look(7, 7, kind="open_loop", score=0.1))

    assert (run.state.status, run.state.spent) == ("training", 100.0)


def test_an_exhausted_task_is_probed_ever_less_often():
    run = hopeless()
    waits: list[int] = []
    for _ in range(4):
        run.scan(windows(0.95))
        waits.append(run.state.recheck_in)

    assert run.state.status == "exhausted"
    assert waits == [2, 4, 8, 16]


def test_a_probe_that_gains_enough_revives_a_task_with_a_larger_budget():
    run = hopeless()

    small = run.scan(windows(0.93))
    (change,) = run.scan(windows(0.91))

    assert small == []
    assert (change.before, change.after) == ("exhausted", "training")
    assert change.reason.startswith("its score has improved by 0.040")
    # 60 draws were spent by then: 1.5 * 60.
    assert (run.state.spent, run.state.budget) == (60.0, 90.0)


def test_a_gain_within_three_standard_errors_revives_nothing():
    run = hopeless()
    noisy = tuple(
        replace(each, score=0.95 + (0.05 if place % 2 else -0.05))
        for place, each in enumerate(run.state.history)
    )
    run.state = replace(run.state, history=noisy)

    run.scan(windows(0.85))

    assert run.state.status == "exhausted"


def test_an_exhausted_task_that_passes_after_all_has_passed():
    run = OneTask(state=replace(hopeless().state, history=(), since_step=0))

    run.scan(windows(0.95, passed=40))
    (change,) = run.scan(windows(0.95, passed=40))

    assert (change.before, change.after) == ("exhausted", "passed")
    assert CONFIG.pass_looks == 2
