import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from etude.core.errors import DataError
from etude.core.types import WindowSpec
from etude.datasets.windows import EpisodeFrames, cut_windows


def frames_of(lengths: list[int]) -> EpisodeFrames:
    """Frames that name themselves: state and action[0] are 100 * episode + frame."""
    stops = np.cumsum(lengths, dtype=np.int64)
    numbers = np.concatenate([100 * e + np.arange(n) for e, n in enumerate(lengths)])
    values = numbers.astype(np.float32)[:, None]
    return EpisodeFrames(
        states=values,
        actions=np.hstack([values, values + 0.5]),
        starts=stops - np.array(lengths),
        stops=stops,
        tasks=np.arange(len(lengths)) % 3,
    )


def rows_of(*rows: int) -> np.ndarray:
    return np.array(rows, np.int64)


def test_a_window_never_crosses_into_another_episode():
    frames = frames_of([4, 5, 6])

    batch = cut_windows(frames, rows_of(12, 14), WindowSpec(action_offsets=(0, 1, 2)))

    assert batch.actions[:, :, 0].tolist() == [[203, 204, 205], [205, 205, 205]]
    assert batch.actions_valid.tolist() == [[True, True, True], [True, False, False]]
    assert batch.tasks.tolist() == [2, 2]


def test_a_short_episode_is_used_as_far_as_it_goes():
    batch = cut_windows(
        frames_of([3]), rows_of(0, 1, 2), WindowSpec(action_offsets=tuple(range(50)))
    )

    assert batch.actions_valid.sum(axis=1).tolist() == [3, 2, 1]
    real = batch.actions[:, :, 0][batch.actions_valid]
    assert real.tolist() == [0, 1, 2, 1, 2, 2]
    assert (batch.actions[:, 3:, 0] == 2).all()


def test_the_past_before_an_episode_repeats_its_first_frame():
    spec = WindowSpec(action_offsets=(0,), observation_offsets=(-2, -1, 0))

    batch = cut_windows(frames_of([4, 5]), rows_of(5), spec)

    assert batch.states[0, :, 0].tolist() == [100, 100, 101]
    assert batch.states_valid.tolist() == [[False, True, True]]


@pytest.mark.parametrize("row", [-1, 3, 9], ids=["before", "gap", "after"])
def test_a_row_of_no_episode_is_refused(row: int):
    frames = EpisodeFrames(
        states=np.zeros((9, 1), np.float32),
        actions=np.zeros((9, 1), np.float32),
        starts=rows_of(0, 5),
        stops=rows_of(3, 9),
        tasks=rows_of(0, 0),
    )

    with pytest.raises(DataError, match=f"row {row} lies in no usable episode"):
        cut_windows(frames, rows_of(0, row), WindowSpec(action_offsets=(0,)))


offset_lists = st.lists(st.integers(-30, 30), min_size=1, max_size=6).map(tuple)


@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    actions=offset_lists,
    observations=offset_lists,
    data=st.data(),
)
def test_windows_equal_those_cut_one_by_one(
    lengths: list[int],
    actions: tuple[int, ...],
    observations: tuple[int, ...],
    data: st.DataObject,
):
    rows = data.draw(st.lists(st.integers(0, sum(lengths) - 1), max_size=20))
    frames = frames_of(lengths)

    batch = cut_windows(
        frames,
        np.array(rows, np.int64),
        WindowSpec(action_offsets=actions, observation_offsets=observations),
    )

    addresses = [(e, f) for e, n in enumerate(lengths) for f in range(n)]
    for sample, row in enumerate(rows):
        episode, frame = addresses[row]
        for values, valid, offsets in (
            (batch.actions, batch.actions_valid, actions),
            (batch.states, batch.states_valid, observations),
        ):
            for slot, offset in enumerate(offsets):
                wanted = frame + offset
                held = min(max(wanted, 0), lengths[episode] - 1)
                assert values[sample, slot, 0] == 100 * episode + held
                assert valid[sample, slot] == (0 <= wanted < lengths[episode])
    assert batch.tasks.tolist() == [addresses[row][0] % 3 for row in rows]
    assert batch.states.dtype == batch.actions.dtype == np.float32
