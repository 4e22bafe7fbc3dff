from typing import Any

import numpy as np
import pytest

from etude.core.errors import ConfigError, PolicyError
from etude.core.types import Observation, TaskId
from etude.serving.key_map import KeyMap, columns
from etude.serving.wire_config import WireConfig

STATE = np.arange(14, dtype=np.float32)
PICTURE = np.arange(2 * 4 * 3, dtype=np.uint8).reshape(2, 4, 3)
SEEN = Observation(
    task=TaskId("toy/1"), state=STATE, instruction="put it down", images={"cam_high": PICTURE}
)


def plain(message: Any) -> Any:
    if isinstance(message, dict):
        return {name: plain(value) for name, value in message.items()}
    return message.tolist() if isinstance(message, np.ndarray) else message


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            WireConfig(dialect="openpi", cameras=("cam_high",)),
            {
                "state": STATE.tolist(),
                "images": {"cam_high": np.moveaxis(PICTURE, -1, 0).tolist()},
                "prompt": "put it down",
            },
        ),
        (
            WireConfig(dialect="lingbot", cameras=("cam_high",)),
            {
                "observation.state": STATE.tolist(),
                "observation.images.cam_high": PICTURE.tolist(),
                "task": "put it down",
            },
        ),
        (
            WireConfig(dialect="xpolicylab", cameras=("cam_high",)),
            {
                "state": STATE.tolist(),
                "vision": {"cam_high": {"color": PICTURE.tolist()}},
                "instruction": "put it down",
            },
        ),
        (
            WireConfig(
                dialect="openpi",
                state_keys=("observation/joint_position=0-5", "observation/gripper_position=6"),
                cameras=("observation/image=cam_high",),
                image_layout="hwc",
            ),
            {
                "observation/joint_position": [0, 1, 2, 3, 4, 5],
                "observation/gripper_position": [6],
                "observation/image": PICTURE.tolist(),
                "prompt": "put it down",
            },
        ),
    ],
    ids=["openpi", "lingbot", "xpolicylab", "own keys"],
)
def test_an_observation_is_laid_out_as_the_servers_of_a_dialect_want_it(
    config: WireConfig, message: dict[str, Any]
):
    assert plain(KeyMap(config).write(SEEN)) == message


@pytest.mark.parametrize("dialect", ["openpi", "lingbot", "xpolicylab"])
def test_what_is_written_is_read_back(dialect: Any):
    keys = KeyMap(
        WireConfig(
            dialect=dialect,
            cameras=("cam_high",),
            state_keys=("state>right=7-13", "state>left=0-6"),
        )
    )

    message = keys.write(SEEN)

    np.testing.assert_array_equal(keys.read_state(message), STATE)
    np.testing.assert_array_equal(keys.read_images(message)["cam_high"], PICTURE)
    assert keys.read_prompt(message) == "put it down"


@pytest.mark.parametrize(
    ("answer", "keys", "actions"),
    [
        ({"actions": [[1, 2], [3, 4]]}, (), [[1, 2], [3, 4]]),
        ({"actions": np.array([[1, 2]], ">f8")}, (), [[1, 2]]),
        ({"arm": [[1, 2], [3, 4]], "hand": [[5], [6]]}, ("hand", "arm"), [[5, 1, 2], [6, 3, 4]]),
        ({"out": {"a": [[[1], [2]]]}}, ("out>a",), [[[1], [2]]]),
    ],
)
def test_actions_are_found_and_joined(answer: Any, keys: tuple[str, ...], actions: Any):
    found = KeyMap(WireConfig(action_keys=keys)).read_actions(answer)

    assert found.dtype == np.float32
    assert found.tolist() == actions


@pytest.mark.parametrize(
    ("answer", "keys", "said"),
    [
        ({"action": [[1]]}, (), "an answer has no 'actions'; its keys are action"),
        ({}, (), "an answer has no 'actions'; its keys are none"),
        ({"actions": [1, 2]}, (), "'actions' of the answer has shape (2,)"),
        ({"actions": [["a"]]}, (), "which is no chunk of actions"),
        ({"a": [[1]], "b": [[1], [2]]}, ("a", "b"), "(1, 1), (2, 1), which cannot be joined"),
    ],
)
def test_an_answer_without_actions_is_refused(answer: Any, keys: tuple[str, ...], said: str):
    with pytest.raises(PolicyError) as caught:
        KeyMap(WireConfig(action_keys=keys)).read_actions(answer)

    assert said in str(caught.value)


def test_a_chunk_that_comes_step_by_step_is_turned_into_parts():
    steps = [{"arm": np.array([1.0, 2.0]), "hand": 0.5}, {"arm": [3.0, 4.0], "hand": 1.0}]

    assert plain(columns(steps)) == {"arm": [[1, 2], [3, 4]], "hand": [[0.5], [1]]}
    assert columns([[1, 2]]) == [[1, 2]]
    assert columns([]) == []


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (
            WireConfig(cameras=("top",)),
            "an observation of toy/1 has no image of 'top', only of cam",
        ),
        (
            WireConfig(state_keys=("a=0-14",)),
            "a state of toy/1 has 14 numbers, but policy.state_keys names dimension 14",
        ),
    ],
)
def test_an_observation_that_lacks_what_is_to_be_sent_is_refused(config: WireConfig, said: str):
    with pytest.raises(PolicyError) as caught:
        KeyMap(config).write(SEEN)

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({}, "an observation has no 'state'; its keys are none"),
        ({"state": [[1.0]]}, "'state' has shape (1, 1)"),
        ({"state": "abc"}, "which is no row of numbers"),
        ({"state": [1.0, float("nan")]}, "'state' holds nan"),
        ({"state": [1.0], "images": 3}, "an observation has no 'images>top'"),
        ({"state": [1.0], "images": {"top": np.zeros((4, 4, 3))}}, "float64, which is no image"),
        ({"state": [1.0], "images": {"top": np.zeros((4, 4), np.uint8)}}, "shape (4, 4)"),
        ({"state": [1.0], "images": {"top": PICTURE}, "prompt": 7}, "'prompt' is a int, not text"),
    ],
)
def test_a_message_that_is_no_observation_is_refused(message: Any, said: str):
    keys = KeyMap(WireConfig(cameras=("top",)))

    with pytest.raises(PolicyError) as caught:
        keys.read_state(message), keys.read_images(message), keys.read_prompt(message)

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"state_keys": ("a>",)}, "state_keys has 'a>', in which a key is empty"),
        ({"cameras": ("a=",)}, "cameras has 'a=', which names no camera"),
        ({"action_keys": ("a", "a")}, "action_keys has 'a' 2 times, not once"),
        ({"state_keys": ("a=1-",)}, "'1-' names no dimensions"),
    ],
)
def test_keys_that_cannot_be_meant_are_refused(settings: dict[str, Any], said: str):
    with pytest.raises(ConfigError) as caught:
        WireConfig(**settings)

    assert said in str(caught.value)
