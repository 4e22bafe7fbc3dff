import pytest

from etude.core.errors import ConfigError
from etude.core.types import DataSpec
from etude.scan.groups import action_groups, gripper_dims, named_moves


def spec(*names: str, dims: int = 0) -> DataSpec:
    return DataSpec(
        repo_id="me/robot",
        fps=10,
        tasks=(),
        state_dim=3,
        action_dim=dims or len(names),
        action_names=names,
    )


def found(*names: str) -> dict[str, tuple[int, ...]]:
    return {group.name: group.dims for group in action_groups(spec(*names))}


def test_the_gripper_is_found_by_its_name():
    assert found("shoulder_pan.pos", "elbow_flex.pos", "gripper.pos") == {
        "arm": (0, 1),
        "gripper": (2,),
    }


def test_two_arms_are_two_groups_and_so_are_their_grippers():
    assert found("left_waist", "left_gripper", "right_waist", "rightGripper", "base_x") == {
        "left_arm": (0,),
        "left_gripper": (1,),
        "right_arm": (2,),
        "right_gripper": (3,),
        "base": (4,),
    }


def test_the_two_fingers_of_one_arm_are_one_gripper():
    assert found("x", "y", "left_finger", "right_finger") == {"arm": (0, 1), "gripper": (2, 3)}


def test_a_name_that_only_contains_the_letters_of_another_word_is_not_taken_for_it():
    assert found("brightness", "griped", "baseline") == {"arm": (0, 1, 2)}


def test_actions_without_names_are_one_group():
    (group,) = action_groups(spec(dims=3))

    assert (group.name, group.dims) == ("arm", (0, 1, 2))


def test_configured_groups_win_and_may_leave_dimensions_out():
    groups = action_groups(spec("x", "y", "gripper"), [("hand", (1,)), ("gripper", (2,))])

    assert [(group.name, group.dims) for group in groups] == [("hand", (1,)), ("gripper", (2,))]
    assert gripper_dims(groups) == (2,)


def test_a_configured_dimension_that_no_action_has_is_refused():
    with pytest.raises(
        ConfigError,
        match=r"^group 'arm' has action dimension 3, and me/robot has 3, counted from 0$",
    ):
        action_groups(spec("x", "y", "z"), [("arm", (0, 3))])


def test_a_name_says_how_to_move_or_where_to_be_or_neither():
    assert named_moves(spec("delta_x", "wheelVel", "elbow.pos", "joint_3")) == (
        True,
        True,
        False,
        None,
    )
    assert named_moves(spec(dims=2)) == (None, None)
