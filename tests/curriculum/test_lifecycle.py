from dataclasses import replace

import pytest

from etude.core.errors import ScanError
from etude.core.types import TaskId
from etude.curriculum.lifecycle import advance, due, look_soon, revive, task_budget
from etude.curriculum.states import TaskState, untried_states
from task_looks import CONFIG, TASK, OneTask, look, passed_task


def test_the_first_look_takes_a_task_into_training_with_its_evidence():
    run = OneTask()

    (change,) = run.scan(look(3, 10))

    assert (change.before, change.after, change.step) == ("untried", "training", 50)
    assert change.reason == "first look at it: 3.0 of 10.0 passed"
    assert change.evidence == run.state.history[-1]
    assert change.evidence is not None
    assert change.evidence.spent == 10.0


def test_a_task_passes_on_the_second_passing_look_in_a_row():
    # 1 - 0.85^21 = 0.967 on the first look, and more on the second.
    run = OneTask()

    (first,) = run.scan(look(20, 20))
    (second,) = run.scan(look(20, 20))

    assert (first.after, second.after) == ("training", "passed")
    assert run.state.label == "passed"
    assert second.reason == (
        "32.0 of 32.0 episodes passed: a rate of at least 0.85 has chance 0.995, "
        "on 2 looks in a row"
    )


def test_seventeen_of_seventeen_are_not_enough_and_nineteen_are():
    # 1 - 0.85^18 = 0.946, 1 - 0.85^20 = 0.961.
    few, enough = OneTask(), OneTask()

    few.scan(look(17, 17))
    enough.scan(look(19, 19))

    assert (few.state.streak, enough.state.streak) == (0, 1)


def test_looks_that_are_closer_than_50_steps_count_once():
    states = untried_states([TASK])
    for step in (100, 130, 149):
        states, _ = advance(states, {TASK: [look(20, 20, step=step)]}, {}, step=step, config=CONFIG)
    early = states[TASK]

    states, _ = advance(states, {TASK: [look(20, 20, step=150)]}, {}, step=150, config=CONFIG)

    assert (early.status, early.streak) == ("training", 1)
    assert states[TASK].status == "passed"


def test_a_look_that_does_not_pass_ends_the_row():
    run = OneTask()
    run.scan(look(20, 20))

    run.scan(look(12, 20))
    run.scan(look(20, 20))

    assert run.state.status == "training"


def test_windows_of_two_episodes_never_pass_a_task_however_many_there_are():
    run = OneTask()

    for _ in range(5):
        run.scan(look(200, 200, kind="open_loop", episodes=2))

    assert run.state.status == "training"


def test_windows_pass_a_task_as_a_proxy():
    run = OneTask()

    run.scan(look(25, 25, kind="open_loop"))
    (change,) = run.scan(look(25, 25, kind="open_loop"))

    assert run.state.label == "passed (proxy)"
    assert "windows passed" in change.reason


def test_windows_pass_nothing_where_a_simulator_decides():
    run = OneTask(rollouts_decide=True)

    for _ in range(5):
        run.scan(look(200, 200, kind="open_loop"))

    assert (run.state.status, run.state.streak) == ("training", 0)
    run.scan(look(20, 20), look(5, 200, kind="open_loop"))
    run.scan(look(20, 20), look(5, 200, kind="open_loop"))
    assert run.state.label == "passed"


def test_episodes_confirm_a_proxy_or_refute_it_at_once():
    confirmed, refuted = passed_task("open_loop"), passed_task("open_loop")

    first = confirmed.scan(look(20, 20))
    (second,) = confirmed.scan(look(20, 20))
    # Under 0.80 with chance 0.95: of 11 throws at 0.8 at least 7 are heads.
    (change,) = refuted.scan(look(6, 10))

    assert first == []
    assert (second.before, second.after, confirmed.state.proxy) == ("passed", "passed", False)
    assert second.evidence is not None
    assert second.evidence.kind == "rollout"
    assert change.after == "training"
    assert refuted.state.label == "training"


def test_two_failing_looks_in_a_row_send_a_task_back_with_a_larger_share():
    run = passed_task("open_loop")

    first = run.scan(look(16, 28, kind="open_loop"))
    doubted = run.state
    (second,) = run.scan(look(16, 28, kind="open_loop"))

    assert (first, doubted.doubts, doubted.recheck_in) == ([], 1, 1)
    assert (second.before, second.after) == ("passed", "training")
    assert second.reason.endswith("on 2 looks in a row")
    assert (run.state.boost, run.state.streak, run.state.doubts) == (1.6, 0, 0)


def test_a_good_look_between_two_failing_ones_saves_a_task():
    run = passed_task("open_loop")

    for passed in (16, 28, 16, 28):
        run.scan(look(passed, 28, kind="open_loop"))

    assert run.state.status == "passed"


def test_a_collapse_of_episodes_needs_no_second_look():
    run = passed_task()

    (change,) = run.scan(look(3, 10))

    assert change.after == "training"
    assert change.reason.endswith("on one look")


def test_a_share_grows_to_four_times_at_most():
    run = OneTask()
    boosts: list[float] = []
    for _ in range(5):
        for _ in range(6):
            run.scan(look(30, 30))
        run.scan(look(0, 30))
        boosts.append(run.state.boost)

    assert boosts == pytest.approx([1.6, 2.56, 4.0, 4.0, 4.0])


def test_a_passed_task_is_looked_at_after_1_2_4_8_16_scans_and_at_once_in_doubt():
    run = passed_task()
    gaps: list[int] = []
    for _ in range(6):
        gap = 1
        while not due({TASK: run.state}):
            run.skip()
            gap += 1
        run.scan(look(20, 20))
        gaps.append(gap)

    run.scan(look(14, 20))

    assert gaps == [1, 2, 4, 8, 16, 16]
    assert (run.state.status, run.state.recheck_in, run.state.recheck_every) == ("passed", 1, 1)


def test_a_proxy_is_looked_at_ever_less_often_too():
    run = passed_task("open_loop")
    since = run.state.since_step

    for _ in range(3):
        run.scan(look(25, 25, kind="open_loop"))

    assert (run.state.recheck_in, run.state.since_step) == (8, since)


def test_a_row_of_looks_at_other_weights_counts_for_nothing():
    run = OneTask()
    run.scan(look(20, 20))
    stale = tuple(replace(each, stale=True) for each in run.state.history)
    run.state = replace(run.state, history=stale)

    assert run.scan(look(20, 20)) == []
    (change,) = run.scan(look(20, 20))
    assert change.after == "passed"


def test_forty_passed_tasks_cost_two_and_a_half_scans_each_time():
    run = passed_task()
    for _ in range(5):
        run.scan(look(20, 20))

    assert 40 / run.state.recheck_every == 2.5


def test_windows_are_no_re_check_of_what_episodes_have_passed():
    run = passed_task()
    run.scan(look(20, 20))

    run.scan(look(0, 28, kind="open_loop"))

    assert (run.state.status, run.state.doubts, run.state.recheck_in) == ("passed", 0, 1)


def test_a_drifting_task_is_looked_at_in_the_next_scan():
    run = passed_task()
    for _ in range(3):
        run.scan(look(20, 20))

    states = look_soon({TASK: run.state}, [TASK])

    assert due({TASK: run.state}) == ()
    assert due(states) == (TASK,)
    assert states[TASK].recheck_every == 1


@pytest.mark.parametrize(
    "looks",
    [
        (),
        (look(float("nan"), 10, score=0.1),),
        (look(3, 10, score=float("nan")),),
        (replace(look(10, 10), stale=True),),
    ],
)
def test_scans_that_give_no_score_are_counted_and_change_nothing_else(looks: tuple):
    run = OneTask()

    changes = [run.scan(*looks) for _ in range(3)]

    assert changes == [[], [], []]
    assert (run.state.status, run.state.failures, run.state.history) == ("untried", 3, ())
    run.scan(look(3, 10))
    assert (run.state.status, run.state.failures) == ("training", 0)


def test_scores_of_a_future_that_was_rolled_back_pass_nothing():
    ahead = passed_task().state
    back = replace(ahead, status="training", streak=0, history=(look(20, 20, step=1000),))

    states, changes = advance(
        {TASK: back}, {TASK: [look(17, 17, step=900)]}, {}, step=900, config=CONFIG
    )

    assert changes == []
    assert states[TASK].streak == 0


def test_a_user_revives_a_task_with_half_as_much_budget_again():
    state = TaskState(task=TASK, status="exhausted", budget=100.0, spent=120.0)

    revived, change = revive(state, step=300, config=CONFIG)

    assert (revived.status, revived.budget, revived.since_step) == ("training", 180.0, 300)
    assert (change.before, change.after, change.evidence) == ("exhausted", "training", None)
    assert change.reason == "revived by the user"


def test_a_budget_is_half_of_an_even_share_of_the_run():
    assert task_budget(1000, 10, CONFIG) == 50.0


def test_a_score_of_a_strange_task_is_an_error():
    with pytest.raises(ScanError, match="task d/9 was scanned or drawn"):
        advance(untried_states([TASK]), {TaskId("d/9"): []}, {}, step=0, config=CONFIG)
