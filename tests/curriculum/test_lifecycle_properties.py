from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.core.types import TaskId
from etude.curriculum.lifecycle import advance
from etude.curriculum.states import (
    EvidenceKind,
    TaskEvidence,
    TaskState,
    Transition,
    untried_states,
)
from task_looks import CONFIG, TASK, OneTask, look, noisy_looks

CHANGES = {
    ("untried", "training"),
    ("training", "passed"),
    ("passed", "passed"),
    ("passed", "training"),
    ("training", "exhausted"),
    ("exhausted", "training"),
    ("exhausted", "passed"),
}

looks = st.builds(
    lambda share, trials, kind, episodes, score: look(
        share * trials, trials, kind=kind, episodes=episodes, score=score
    ),
    st.floats(0, 1),
    st.integers(1, 40),
    st.sampled_from(["rollout", "open_loop"]),
    st.integers(1, 10),
    st.floats(0, 2),
)
scans = st.lists(st.lists(looks, max_size=2) | st.none(), max_size=25)


def changes_of(
    rate: float, *, trials: int, count: int, seed: int, kind: EvidenceKind = "rollout"
) -> list[Transition]:
    run = OneTask()
    return [
        change
        for each in noisy_looks(rate, trials=trials, looks=count, seed=seed, kind=kind)
        for change in run.scan(each)
    ]


@pytest.mark.parametrize(("trials", "kind"), [(10, "rollout"), (20, "rollout"), (28, "open_loop")])
def test_a_task_of_rate_0_80_hardly_ever_passes_in_20_looks(trials: int, kind: EvidenceKind):
    passed = sum(
        any(change.after == "passed" for change in made)
        for made in (
            changes_of(0.80, trials=trials, count=20, seed=seed, kind=kind) for seed in range(80)
        )
    )

    assert passed <= 1


def test_a_task_of_rate_0_98_nearly_always_passes_in_20_looks():
    passed = sum(
        any(change.after == "passed" for change in changes_of(0.98, trials=20, count=20, seed=seed))
        for seed in range(30)
    )

    assert passed >= 29


@pytest.mark.parametrize("rate", [0.80, 0.85, 0.92])
def test_tasks_near_the_bands_do_not_go_back_and_forth(rate: float):
    counts = [len(changes_of(rate, trials=20, count=40, seed=seed)) for seed in range(15)]

    # The first look, a pass, and now and then one fall and another pass.
    assert max(counts) <= 4
    assert sum(counts) / len(counts) <= 2.2


@settings(max_examples=60, deadline=None)
@given(made=scans, budget=st.sampled_from([0.0, 20.0]), decide=st.sampled_from(["rollout", ""]))
def test_transitions_happen_on_evidence_only_and_facts_never_shrink(
    made: list[list[TaskEvidence] | None], budget: float, decide: str
):
    run = OneTask(state=TaskState(task=TASK, budget=budget), rollouts_decide=bool(decide))
    seen = [run.state]
    for each in made:
        changes = run.skip() if each is None else run.scan(*each)
        assert len(changes) <= 1
        for change in changes:
            assert each
            assert change.evidence in run.state.history
            assert (change.before, change.after) in CHANGES
            assert change.reason
        seen.append(run.state)

    for before, after in pairwise(seen):
        assert after.spent == before.spent + 10.0
        assert after.since_step >= before.since_step
        assert after.budget >= before.budget
        assert before.boost <= after.boost <= CONFIG.most_boost
        assert len(after.history) <= CONFIG.history
        assert after.recheck_in >= 1
        assert not (after.proxy and after.status != "passed")
        if decide:
            assert not after.proxy


@given(st.permutations(range(4)))
def test_tasks_do_not_depend_on_each_other_or_on_their_order(order: list[int]):
    tasks = [TaskId(f"d/{number}") for number in range(4)]
    evidence = {task: [look(5 * place, 20)] for place, task in enumerate(tasks)}
    straight, _ = advance(untried_states(tasks), evidence, {}, step=50, config=CONFIG)

    shuffled = [tasks[place] for place in order]
    mixed, changes = advance(untried_states(shuffled), evidence, {}, step=50, config=CONFIG)

    assert mixed == straight
    assert [change.task for change in changes] == shuffled


def test_a_task_whose_scans_always_fail_stays_untried_and_says_how_often():
    tasks = [TaskId(name) for name in ("d/a", "d/b", "d/c", "d/d")]
    states = untried_states(tasks)
    for step in range(50, 300, 50):
        evidence = {task: [look(3, 10, step=step)] for task in tasks[:3]}
        states, _ = advance(states, {**evidence, tasks[3]: []}, {}, step=step, config=CONFIG)

    failing = states[tasks[3]]
    assert (failing.status, failing.failures, failing.history) == ("untried", 5, ())
    assert {states[task].status for task in tasks[:3]} == {"training"}
