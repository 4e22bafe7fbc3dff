"""The fifty tasks of Meta-World MT50: their order, and one English instruction for each.

Meta-World has no instructions of its own; these sentences are ours. The order is alphabetical and
fixed here, because a task's place in it is part of its id.

Source: Yu et al., "Meta-World: A Benchmark and Evaluation for Multi-Task and Meta Reinforcement
Learning", arXiv:1910.10897, section 4; names as in Meta-World 3.1.1.
"""

from typing import Final

INSTRUCTIONS: Final[dict[str, str]] = {
    "assembly-v3": "Pick up the ring by its handle and slide it over the peg.",
    "basketball-v3": "Pick up the ball and drop it through the hoop.",
    "bin-picking-v3": "Take the block out of one bin and put it into the other bin.",
    "box-close-v3": "Pick up the lid and place it on the box.",
    "button-press-topdown-v3": "Press the button down from above.",
    "button-press-topdown-wall-v3": "Reach over the wall and press the button down from above.",
    "button-press-v3": "Push the button in from the front.",
    "button-press-wall-v3": "Reach around the wall and push the button in from the front.",
    "coffee-button-v3": "Push the button of the coffee machine.",
    "coffee-pull-v3": "Pull the mug away from the coffee machine to the goal.",
    "coffee-push-v3": "Push the mug under the spout of the coffee machine.",
    "dial-turn-v3": "Turn the dial by half a turn.",
    "disassemble-v3": "Lift the ring off the peg.",
    "door-close-v3": "Push the door shut.",
    "door-lock-v3": "Turn the handle of the door to lock it.",
    "door-open-v3": "Pull the door open by its handle.",
    "door-unlock-v3": "Turn the handle of the door to unlock it.",
    "drawer-close-v3": "Push the drawer shut.",
    "drawer-open-v3": "Pull the drawer open by its handle.",
    "faucet-close-v3": "Turn the lever of the faucet clockwise to close it.",
    "faucet-open-v3": "Turn the lever of the faucet counter-clockwise to open it.",
    "hammer-v3": "Pick up the hammer and drive the nail into the wall.",
    "hand-insert-v3": "Put the hand into the hole of the table.",
    "handle-press-side-v3": "Press the handle down from its side.",
    "handle-press-v3": "Press the handle down from its front.",
    "handle-pull-side-v3": "Pull the handle up from its side.",
    "handle-pull-v3": "Pull the handle up from its front.",
    "lever-pull-v3": "Pull the lever up until it stands upright.",
    "peg-insert-side-v3": "Pick up the peg and insert it into the hole from the side.",
    "peg-unplug-side-v3": "Unplug the peg from its socket, sideways.",
    "pick-out-of-hole-v3": "Pick the puck out of the hole and hold it at the goal.",
    "pick-place-v3": "Pick up the puck and hold it at the goal in the air.",
    "pick-place-wall-v3": "Pick up the puck, lift it over the wall and hold it at the goal.",
    "plate-slide-back-side-v3": "Slide the plate sideways out of the cabinet.",
    "plate-slide-back-v3": "Slide the plate backwards out of the cabinet.",
    "plate-slide-side-v3": "Slide the plate sideways into the cabinet.",
    "plate-slide-v3": "Slide the plate forwards into the cabinet.",
    "push-back-v3": "Pull the puck backwards along the table to the goal.",
    "push-v3": "Push the puck along the table to the goal.",
    "push-wall-v3": "Push the puck around the wall to the goal.",
    "reach-v3": "Move the gripper to the goal.",
    "reach-wall-v3": "Move the gripper around the wall to the goal.",
    "shelf-place-v3": "Pick up the block and place it on the shelf.",
    "soccer-v3": "Push the ball into the soccer goal.",
    "stick-pull-v3": "Pick up the stick and pull the thermos with it to the goal.",
    "stick-push-v3": "Pick up the stick and push the thermos with it to the goal.",
    "sweep-into-v3": "Sweep the block into the hole of the table.",
    "sweep-v3": "Sweep the block off the table.",
    "window-close-v3": "Slide the window shut by its handle.",
    "window-open-v3": "Slide the window open by its handle.",
}
"""Instruction by task name, in the order of the task indices."""
