"""The scripted experts of Meta-World, made safe to call."""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import warnings
from typing import Any, cast

import numpy as np
from jaxtyping import Float32
from metaworld.policies import ENV_POLICY_MAP

# Said at nearly every action; what it warns of, actions outside the range, is clipped here.
warnings.filterwarnings("ignore", message=r"Constant\(s\) may be too high", category=UserWarning)


class MetaworldExpert:
    """The scripted policy of one task."""

    def __init__(self, name: str) -> None:
        self._policy: Any = cast("dict[str, Any]", ENV_POLICY_MAP)[name]()

    def action(self, state: Float32[np.ndarray, " state"]) -> Float32[np.ndarray, " action"]:
        """Return the expert's action at `state`, clipped to [-1, 1]."""
        # A copy, because the experts of door-open-v3 and door-close-v3 write into what they read.
        wanted = self._policy.get_action(np.array(state, dtype=np.float64))
        return np.clip(wanted, -1, 1).astype(np.float32)
