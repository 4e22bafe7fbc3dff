"""What two scans say about each other."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import ConfigError
from etude.core.types import ContentKey, TaskId
from etude.scan.change import FLOOR
from etude.scan.compare import Comparison, TaskComparison, compare
from etude.scan.record import RecordedTask, RecordedWindow, RecordHead, ScanRecord

Spot = tuple[int, int, int]
"""Task, episode and frame."""


def record(
    errors: dict[Spot, float],
    *,
    tasks: Sequence[int] = (0,),
    contents: dict[int, str] | None = None,
    weights: dict[Spot, float] | None = None,
    **fields: Any,
) -> ScanRecord:
    """Return a record of windows with these errors in both of their groups."""
    windows = tuple(
        RecordedWindow(
            task=TaskId(f"toy/{task}"),
            episode=episode,
            content=ContentKey((contents or {}).get(episode, f"episode-{episode}")),
            frame=frame,
            stratum="slow",
            weight=(weights or {}).get((task, episode, frame), 1.0),
            seed=0,
            groups={"arm": error, "gripper": error},
            mse=error,
            mae=error,
        )
        for (task, episode, frame), error in sorted(errors.items())
    )
    head = RecordHead(
        kind="tasks",
        dataset="memory/toy",
        policy=ContentKey("w"),
        step=1,
        horizon=4,
        groups={"arm": (0,), "gripper": (1,)},
        units=ContentKey("u"),
        settings={"tau": 0.25},
        complete=True,
        windows=len(windows),
        tasks=tuple(
            RecordedTask(
                id=TaskId(f"toy/{task}"),
                name=f"task-{task}",
                windows=sum(spot[0] == task for spot in errors),
                of=100,
            )
            for task in tasks
        ),
    )
    return ScanRecord(head=dataclasses.replace(head, **fields), windows=windows)


def only_task(comparison: Comparison) -> TaskComparison:
    (task,) = comparison.tasks
    return task


def spread(*errors: float, task: int = 0) -> dict[Spot, float]:
    """Return windows of as many episodes, one of each."""
    return {(task, 10 * task + episode, 5): error for episode, error in enumerate(errors)}


def test_a_task_is_compared_as_worked_out_by_hand():
    # Ratios 1/2, 1/2 and 1/8: see test_change for the interval. Passed: errors up to 0.25.
    before = record(spread(1 - FLOOR, 1 - FLOOR, 1 - FLOOR))
    after = record(spread(0.5 - FLOOR, 0.5 - FLOOR, 0.125 - FLOOR))

    found = only_task(compare(before, after))

    assert (found.task, found.name, found.pairs) == ("toy/0", "task-0", 3)
    assert (found.before, found.after) == (pytest.approx(1.0), pytest.approx(0.3149803, abs=1e-6))
    assert found.ratio == pytest.approx(0.3149803, abs=1e-6)
    assert found.interval == pytest.approx((0.043131, 2.300315), rel=1e-4)
    assert (found.passed_before, found.passed_after) == (0, 1)
    assert found.verdict == "unresolved"


@pytest.mark.parametrize(
    ("factors", "verdict"),
    [
        ((0.50, 0.52, 0.48, 0.51, 0.49), "better"),
        ((2.00, 2.10, 1.90, 2.05, 1.95), "worse"),
        ((0.50, 2.00, 0.50, 2.00, 1.00), "unresolved"),
    ],
)
def test_a_verdict_says_what_is_sure(factors: tuple[float, ...], verdict: str):
    found = compare(record(spread(*[0.4] * 5)), record(spread(*[0.4 * each for each in factors])))

    assert only_task(found).verdict == verdict
    counts = {name: getattr(found.overall, name) for name in ("better", "worse", "unresolved")}
    assert counts == {**dict.fromkeys(counts, 0), verdict: 1}


def test_one_of_many_tasks_is_judged_more_strictly_than_one_alone():
    # Of one task p = 0.02; among 20 that do not change, 20 * 0.02 is over 0.05.
    before, after = spread(*[1.0] * 5), spread(0.9, 0.8, 0.85, 0.95, 0.99)
    others = {spot: 0.5 for task in range(1, 20) for spot in spread(*[1.0] * 5, task=task)}
    tasks = range(20)

    alone = only_task(compare(record(before), record(after)))
    among = compare(
        record(before | others, tasks=tasks), record(after | others, tasks=tasks)
    ).tasks[0]

    assert alone.verdict == "better"
    assert among.verdict == "unresolved"
    assert among.interval == alone.interval


def test_only_windows_that_both_have_looked_at_are_compared():
    before = record({(0, 0, 5): 0.2, (0, 1, 5): 0.2, (0, 1, 9): 9.0})
    after = record({(0, 0, 5): 0.2, (0, 1, 5): 0.2, (0, 1, 7): 0.0, (0, 2, 5): 0.0})

    found = only_task(compare(before, after))

    assert (found.pairs, found.only_a, found.only_b) == (2, 1, 2)
    assert found.ratio == 1.0
    assert found.interval == (1.0, 1.0)


def test_an_episode_is_known_by_its_content_and_not_by_its_number():
    before = record(spread(0.2, 0.2), contents={0: "one", 1: "two"})
    moved = record(spread(0.2, 0.2), contents={0: "two", 1: "three"})

    found = only_task(compare(before, moved))

    assert (found.pairs, found.only_a, found.only_b) == (1, 1, 1)
    assert found.interval is None


def test_episodes_of_equal_content_count_once_with_their_weight():
    # Weights 2 and 1 of 3: log(2.0001 / 1.0001) * 2 / 3 = 0.462065, e^0.462065 = 1.587349.
    twice = {0: "one", 1: "one", 2: "two"}
    before = record(spread(1.0, 1.0, 1.0), contents=twice)
    after = record(spread(2.0, 2.0, 1.0), contents=twice)

    found = only_task(compare(before, after))

    assert found.pairs == 2
    assert found.ratio == pytest.approx(1.587349, abs=1e-5)


def test_the_weights_are_those_of_the_first_scan():
    weights = {(0, 0, 5): 3.0}
    before, after = spread(1.0, 1.0), spread(2.0, 1.0)

    # log(2.0001 / 1.0001) * 3 / 4 = 0.519824.
    found = only_task(compare(record(before, weights=weights), record(after)))

    assert found.ratio == pytest.approx(1.681731, abs=1e-5)


def test_all_tasks_together_count_alike():
    # Ratios 1/2 and 1/8 of a few and of many windows: the mean is 1/4.
    few, many = spread(*[1 - FLOOR] * 3), spread(*[1 - FLOOR] * 9, task=1)
    before = record(few | many, tasks=(0, 1))
    after = record(
        dict.fromkeys(few, 0.5 - FLOOR) | dict.fromkeys(many, 0.125 - FLOOR), tasks=(0, 1)
    )

    overall = compare(before, after).overall

    assert (overall.tasks, overall.pairs) == (2, 12)
    assert overall.ratio == pytest.approx(0.25)
    assert (overall.passed_before, overall.passed_after) == (0, 9)
    assert overall.better == 2


def test_tasks_of_one_scan_only_are_listed_without_numbers():
    before = record(spread(0.2, 0.2) | spread(0.2, task=1), tasks=(0, 1))
    after = record(spread(0.2, 0.2) | spread(0.2, 0.2, task=2), tasks=(0, 2))

    first, lost, new = compare(before, after).tasks

    assert first.pairs == 2
    assert (lost.name, lost.pairs, lost.only_a, lost.only_b) == ("task-1", 0, 1, 0)
    assert (new.name, new.pairs, new.only_a, new.only_b) == ("task-2", 0, 0, 2)
    assert (new.before, new.after, new.ratio, new.interval) == (None, None, None, None)
    assert new.verdict == "unresolved"


spots = st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 9))
windows = st.dictionaries(spots, st.floats(0, 1e3), min_size=1, max_size=30)


@given(windows)
def test_compared_with_itself_nothing_has_changed(errors: dict[Spot, float]):
    scan = record(errors, tasks=range(3))

    found = compare(scan, scan)

    for task in found.tasks:
        assert task.ratio in (None, 1.0)
        assert task.interval in (None, (1.0, 1.0))
        assert task.verdict == "unresolved"
        assert (task.only_a, task.only_b) == (0, 0)
    assert found.overall.ratio in (None, 1.0)


@given(windows, st.data())
def test_swapped_scans_have_the_inverse_ratio_and_verdict(
    errors: dict[Spot, float], data: st.DataObject
):
    others = {spot: data.draw(st.floats(0, 1e3)) for spot in errors}
    a, b = record(errors, tasks=range(3)), record(others, tasks=range(3))
    turned = {"better": "worse", "worse": "better", "unresolved": "unresolved"}

    for there, back in zip(compare(a, b).tasks, compare(b, a).tasks, strict=True):
        assert back.verdict == turned[there.verdict]
        assert (back.passed_before, back.passed_after) == (there.passed_after, there.passed_before)
        if there.ratio and back.ratio:
            assert there.ratio * back.ratio == pytest.approx(1.0)
        if there.interval and back.interval:
            assert there.interval[0] * back.interval[1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"dataset": "memory/other"}, "dataset memory/toy in the first and memory/other in the"),
        ({"horizon": 8}, "horizon 4 in the first and 8 in the second"),
        ({"groups": {"arm": (1,), "gripper": (0,)}}, "action groups arm=0, gripper=1 in the first"),
        (
            {"settings": {"tau": 0.25, "actions": "relative"}},
            "scan.actions auto in the first and relative in the second",
        ),
        ({"units": ContentKey("v")}, "training episodes, which are the unit of errors, u in the"),
    ],
)
def test_scans_of_different_things_are_refused_with_what_differs(fields: dict[str, Any], what: str):
    with pytest.raises(ConfigError) as caught:
        compare(record(spread(0.2, 0.2)), record(spread(0.2, 0.2), **fields))

    assert str(caught.value).startswith(f"the scans cannot be compared: {what}")
    assert caught.value.hint


def test_scans_that_share_no_window_are_refused():
    with pytest.raises(ConfigError, match="share no window: the first has 2 and the second 1"):
        compare(record(spread(0.2, 0.2)), record({(0, 0, 6): 0.2}))
