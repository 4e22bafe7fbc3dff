from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from etude.core.types import EpisodeSpan, TaskId
from etude.datasets.split import hold_out


def spans(tasks: list[str]) -> list[EpisodeSpan]:
    return [
        EpisodeSpan(index=i, task=TaskId(task), start=10 * i, stop=10 * i + 10)
        for i, task in enumerate(tasks)
    ]


task_lists = st.lists(st.sampled_from(["set/0", "set/1", "set/2", "set/3"]), max_size=40)


@given(tasks=task_lists, per_task=st.integers(0, 5), seed=st.integers(0, 2**31))
def test_every_episode_is_in_one_part_and_no_task_loses_its_last_training_episode(
    tasks: list[str], per_task: int, seed: int
):
    episodes = spans(tasks)

    split = hold_out(episodes, per_task=per_task, seed=seed)

    assert sorted([*split.train, *split.held_out], key=lambda e: e.index) == episodes
    train, held = Counter(e.task for e in split.train), Counter(e.task for e in split.held_out)
    for task, count in Counter(tasks).items():
        assert train[TaskId(task)] >= 1
        assert held[TaskId(task)] == min(per_task, count - 1)


@given(tasks=task_lists, per_task=st.integers(0, 3), seed=st.integers(0, 9))
def test_another_task_changes_no_split(tasks: list[str], per_task: int, seed: int):
    alone = hold_out(spans(tasks), per_task=per_task, seed=seed)

    joined = hold_out(spans([*tasks, "new/0", "new/0"]), per_task=per_task, seed=seed)

    assert [e for e in joined.train if e.task != "new/0"] == list(alone.train)
    assert [e for e in joined.held_out if e.task != "new/0"] == list(alone.held_out)


def test_both_parts_keep_the_recorded_order():
    split = hold_out(spans(["set/0"] * 30), per_task=10, seed=1)

    assert [e.index for e in split.train] == sorted(e.index for e in split.train)
    assert [e.index for e in split.held_out] == sorted(e.index for e in split.held_out)


def test_the_draw_is_the_same_in_every_process_and_differs_between_seeds():
    episodes = spans(["set/0"] * 20)

    drawn = [
        tuple(e.index for e in hold_out(episodes, per_task=2, seed=s).held_out) for s in range(20)
    ]

    assert drawn[0] == (9, 15)
    assert len(set(drawn)) > 10
