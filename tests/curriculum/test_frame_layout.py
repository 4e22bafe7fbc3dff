import numpy as np

from etude.core.types import TaskId
from etude.curriculum.frame_layout import FrameLayout
from streams import spans

A, B = TaskId("d/0"), TaskId("d/1")


def test_the_frames_of_a_task_are_counted_episode_by_episode():
    episodes = spans((2,), (3,), (1,))
    episodes += [type(episodes[0])(index=9, task=A, start=20, stop=22)]

    layout = FrameLayout([B, A], episodes)

    assert layout.sizes.tolist() == [3, 4]
    assert layout.rows(np.array([1, 1, 1, 1, 0]), np.array([0, 1, 2, 3, 2])).tolist() == [
        *(0, 1, 20, 21),
        4,
    ]


def test_episodes_without_frames_and_of_other_tasks_are_left_out():
    layout = FrameLayout([A], spans((2, 0), (3,)))

    assert (layout.sizes.tolist(), layout.lengths.tolist()) == ([2], [2])
