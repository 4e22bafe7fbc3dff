"""The four difficulty groups under which results on Meta-World MT50 are published.

Source: LeRobot 0.4.4, `envs/metaworld_config.json`, the grouping behind the tables of SmolVLA and
TinyVLA (28, 11, 6 and 5 tasks).
"""

from typing import Final

DIFFICULTY_GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "easy": (
        "button-press-topdown-v3",
        "button-press-topdown-wall-v3",
        "button-press-v3",
        "button-press-wall-v3",
        "coffee-button-v3",
        "dial-turn-v3",
        "door-close-v3",
        "door-lock-v3",
        "door-open-v3",
        "door-unlock-v3",
        "drawer-close-v3",
        "drawer-open-v3",
        "faucet-close-v3",
        "faucet-open-v3",
        "handle-press-side-v3",
        "handle-press-v3",
        "handle-pull-side-v3",
        "handle-pull-v3",
        "lever-pull-v3",
        "peg-unplug-side-v3",
        "plate-slide-back-side-v3",
        "plate-slide-back-v3",
        "plate-slide-side-v3",
        "plate-slide-v3",
        "reach-v3",
        "reach-wall-v3",
        "window-close-v3",
        "window-open-v3",
    ),
    "medium": (
        "basketball-v3",
        "bin-picking-v3",
        "box-close-v3",
        "coffee-pull-v3",
        "coffee-push-v3",
        "hammer-v3",
        "peg-insert-side-v3",
        "push-wall-v3",
        "soccer-v3",
        "sweep-into-v3",
        "sweep-v3",
    ),
    "hard": (
        "assembly-v3",
        "hand-insert-v3",
        "pick-out-of-hole-v3",
        "pick-place-v3",
        "push-back-v3",
        "push-v3",
    ),
    "very_hard": (
        "disassemble-v3",
        "pick-place-wall-v3",
        "shelf-place-v3",
        "stick-pull-v3",
        "stick-push-v3",
    ),
}
"""Task names by group, easiest group first."""
