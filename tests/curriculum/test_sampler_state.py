import json

import pytest

from etude.core.errors import StateError
from streams import batches, sampler, spans


@pytest.mark.parametrize("stop", [1, 2, 3, 4, 5])
def test_a_resumed_stream_equals_the_uninterrupted_one(stop: int):
    episodes = spans((5, 3), (4,))
    straight = sampler(episodes, 0.7, 0.3, batch_size=4)
    wanted = [straight.next_rows().tolist() for _ in range(12)]
    first = sampler(episodes, 0.7, 0.3, batch_size=4)
    before = [first.next_rows().tolist() for _ in range(stop)]

    second = sampler(episodes, 0.7, 0.3, batch_size=4)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))

    assert second.step == stop
    assert before + [second.next_rows().tolist() for _ in range(12 - stop)] == wanted


def test_a_saved_state_of_other_data_is_refused():
    state = sampler(spans((5,), (4,)), 0.5, 0.5).state_dict()

    with pytest.raises(StateError, match="other seed, frames than this run"):
        sampler(spans((5,), (6,)), 0.5, 0.5, seed=1).load_state_dict(state)


def test_the_state_of_fifty_tasks_is_small():
    state = sampler(spans(*[(30,)] * 50), *[0.02] * 50, batch_size=512).state_dict()

    assert len(json.dumps(state)) < 10_000


FIVE_BATCHES = [
    [7, 0, 4, 11, 36, 51],
    [3, 5, 6, 9, 48, 32],
    [1, 2, 6, 10, 8, 26],
    [4, 5, 3, 8, 53, 20],
    [7, 0, 1, 9, 33, 37],
]
"""Of seed 11, as the first version drew them."""
VERSION_1 = {
    "schema": "sampler/1",
    "step": 3,
    "seed": 11,
    "batch_size": 6,
    "tasks": ["d/0", "d/1", "d/2"],
    "weights": [0.5, 0.2, 0.3],
    "frames": [8, 4, 50],
    "residuals": [0.0, -0.39999999999999947, 0.39999999999999947],
    "drawn": [9, 4, 5],
}
"""What it saved after three of them."""


def test_a_seed_keeps_its_meaning():
    drawn = sampler(spans((5, 3), (4,), (50,)), 0.5, 0.2, 0.3, batch_size=6, seed=11)

    assert batches(drawn, 5) == FIVE_BATCHES


def test_a_state_of_the_first_version_goes_on_as_it_would_have():
    drawn = sampler(spans((5, 3), (4,), (50,)), 0.1, 0.8, 0.1, batch_size=6, seed=11)

    drawn.load_state_dict(VERSION_1)

    assert batches(drawn, 2) == FIVE_BATCHES[3:]


def test_a_state_of_a_newer_version_is_refused():
    with pytest.raises(StateError, match="schema 'sampler/9', not 'sampler/2'"):
        sampler(spans((5,)), 1.0).load_state_dict({"schema": "sampler/9"})


def test_a_refused_state_says_what_is_different_about_the_data():
    state = sampler(spans((5,), (4,)), 0.5, 0.5).state_dict()

    with pytest.raises(StateError) as caught:
        sampler(spans((5,), (6,), (1,)), 0.5, 0.25, 0.25).load_state_dict(state)

    assert str(caught.value) == (
        "the saved sampler has other tasks, frames than this run: "
        "tasks new: d/2; d/1 had 4 frames, now 6"
    )


def test_changed_data_can_be_accepted():
    old = sampler(spans((5,), (4,)), 0.5, 0.5)
    seen = batches(old, 1)
    new = sampler(spans((5,), (6,), (3,)), 0.4, 0.4, 0.2, batch_size=4)

    new.load_state_dict(old.state_dict(), accept_data_change=True)
    rows = [row for batch in batches(new, 5) for row in batch]

    assert new.step == 6
    assert {row for row in rows[:20] if 5 <= row < 11} == {5, 6, 7, 8, 9, 10}
    assert {row for row in rows if row < 5} | {row for row in seen[0] if row < 5} == set(range(5))


def test_other_settings_are_never_accepted():
    state = sampler(spans((5,)), 1.0).state_dict()

    with pytest.raises(StateError, match="other seed than this run"):
        sampler(spans((5,)), 1.0, seed=1).load_state_dict(state, accept_data_change=True)


@pytest.mark.parametrize("step", [6, 7, 8, 9, 10])
def test_a_state_of_some_steps_back_is_what_was_saved_then(step: int):
    straight = sampler(spans((9,), (5,)), 0.6, 0.4)
    batches(straight, step)
    ahead = sampler(spans((9,), (5,)), 0.6, 0.4, lag=4)
    batches(ahead, 10)

    assert ahead.state_dict(step=step) == straight.state_dict()


def test_a_state_of_too_many_steps_back_is_refused():
    ahead = sampler(spans((9,)), 1.0, lag=2)
    batches(ahead, 10)

    with pytest.raises(StateError, match="step 7 is not among 8 to 10"):
        ahead.state_dict(step=7)


def test_going_back_draws_the_same_rows_again():
    drawn = sampler(spans((9,), (5,)), 0.6, 0.4, lag=3)
    rows = batches(drawn, 10)

    drawn.rewind(7)

    assert batches(drawn, 3) == rows[7:]
