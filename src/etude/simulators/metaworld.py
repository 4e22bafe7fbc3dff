"""Meta-World MT50 as a benchmark: tasks, environments and their scripted experts."""

import difflib
import sys
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import mujoco
import numpy as np
from jaxtyping import Float32
from metaworld.env_dict import ENV_CLS_MAP

from etude.core.errors import ConfigError, SimulatorError
from etude.core.protocols import SimulatorStep
from etude.core.types import Task, TaskId
from etude.simulators.groups import DIFFICULTY_GROUPS
from etude.simulators.instructions import INSTRUCTIONS
from etude.simulators.metaworld_config import MetaworldConfig
from etude.simulators.metaworld_contacts import PadContacts
from etude.simulators.metaworld_experts import MetaworldExpert

STATE_DIM = 39
"""Hand, gripper and objects of this frame and of the one before (18 each), then the goal (3)."""
ACTION_DIM = 4
"""Hand motion in x, y, z in hundredths of a metre, and gripper effort, each in [-1, 1]."""
FPS = 80
"""An action lasts 5 physics steps of 2.5 ms."""

_mujoco: Any = mujoco  # its compiled half has no types
_BROKEN_PHYSICS: tuple[Any, ...] = (
    _mujoco.mjtWarning.mjWARN_BADQPOS,
    _mujoco.mjtWarning.mjWARN_BADQVEL,
    _mujoco.mjtWarning.mjWARN_BADQACC,
)
_FAILURES: tuple[type[Exception], ...] = (
    _mujoco.FatalError,
    _mujoco.UnexpectedError,
    ArithmeticError,
    AssertionError,
    OSError,
    RuntimeError,
    ValueError,
)
"""What MuJoCo, Gymnasium and Meta-World raise when they cannot go on."""
_SETTINGS: dict[str, object] = {
    "_partially_observable": False,
    "_freeze_rand_vec": False,
    "seeded_rand_vec": True,
    "_set_task_called": True,
    "max_path_length": sys.maxsize,
}
"""A visible goal, a fresh draw from the environment's own generator at each reset, no step limit.

Source: Meta-World 3.1.1, `env_dict.py`, the factory of environments with an observable goal.
"""


class Metaworld:
    """The chosen tasks of Meta-World MT50, with the goal visible in the state."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tuple(tasks)

    @property
    def tasks(self) -> Sequence[Task]:
        """The chosen tasks, in benchmark order."""
        return self._tasks

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """The published difficulty groups, easiest first, as far as their tasks are chosen."""
        chosen = {task.name for task in self._tasks}
        groups = {
            group: tuple(name for name in names if name in chosen)
            for group, names in DIFFICULTY_GROUPS.items()
        }
        return {group: names for group, names in groups.items() if names}

    @property
    def state_dim(self) -> int:
        return STATE_DIM

    @property
    def action_dim(self) -> int:
        return ACTION_DIM

    @property
    def fps(self) -> int:
        return FPS

    def make(self, task: Task) -> "MetaworldSimulator":
        """Build one environment of `task`; nearly all of its 0.1 s goes into the physics model.

        Raises:
            SimulatorError: The task is no task of Meta-World, or its model cannot be loaded.
        """
        _require_known(task.name)
        return MetaworldSimulator(task.name)

    def expert(self, task: Task) -> MetaworldExpert:
        """Return the scripted expert of `task`.

        Raises:
            SimulatorError: The task is no task of Meta-World.
        """
        _require_known(task.name)
        return MetaworldExpert(task.name)


class MetaworldSimulator:
    """One environment, without the step limit of Meta-World: that is the caller's."""

    def __init__(self, name: str) -> None:
        self._name = name
        with _translated(name):
            self._env: Any = cast("dict[str, Any]", ENV_CLS_MAP)[name]()
        for setting, value in _SETTINGS.items():
            setattr(self._env, setting, value)
        vars(self._env).pop("sawyer_observation_space", None)  # computed for a hidden goal
        self._env.touching_object = PadContacts(self._env.data).touching_object
        self._model: Any = self._env.model
        self._layout = [(array, array.copy()) for array in _layout_of(self._model)]

    def reset(self, *, seed: int) -> Float32[np.ndarray, " state"]:
        """Start the episode that `seed` names, the same after any earlier episode.

        Raises:
            SimulatorError: The environment cannot be started.
        """
        with _translated(self._name):
            # An episode moves fixed bodies inside the model, and the environment settles the hand
            # from wherever the last episode left it: put both back to where they were built.
            for array, built in self._layout:
                array[:] = built
            _mujoco.mj_resetData(self._model, self._env.data)
            self._env.seed(seed)
            state, _ = self._env.reset()
        return self._checked(state)

    def step(self, action: Float32[np.ndarray, " action"]) -> SimulatorStep:
        """Apply one action; entries outside [-1, 1] act as the nearest one inside.

        Raises:
            SimulatorError: The action has a wrong shape or is not finite, or the physics broke.
        """
        if action.shape != (ACTION_DIM,) or not np.isfinite(action).all():
            raise SimulatorError(
                f"{self._name} was given the action {action.tolist()}, not 4 finite numbers",
                hint="Check the policy's action dimension and its weights.",
            )
        with _translated(self._name):
            state, reward, _, _, info = self._env.step(action)
        return SimulatorStep(
            state=self._checked(state),
            reward=float(reward),
            success=bool(info["success"]),
            terminated=False,
        )

    def close(self) -> None:
        """Free what the environment holds outside of Python."""
        self._env.close()

    def _checked(self, state: Any) -> Float32[np.ndarray, " state"]:
        warnings = self._env.data.warning
        if any(warnings[kind].number for kind in _BROKEN_PHYSICS) or not np.isfinite(state).all():
            raise SimulatorError(
                f"{self._name} became unstable at {float(self._env.data.time):.2f} s",
                hint="Try another seed.",
            )
        return np.asarray(state, dtype=np.float32)


def build_metaworld(config: MetaworldConfig) -> Metaworld:
    """Build the benchmark with the tasks that `config` names.

    Raises:
        ConfigError: Some names are unknown or stand twice; all of them are listed.
    """
    faults = [_unknown(name) for name in config.tasks if name not in INSTRUCTIONS]
    faults += [f"{name!r} stands twice" for name, n in Counter(config.tasks).items() if n > 1]
    if faults:
        raise ConfigError(
            f"simulator.tasks: {'; '.join(faults)}",
            hint="Name tasks of Meta-World MT50 once each, or leave tasks empty for all fifty.",
        )
    wanted = config.tasks or tuple(INSTRUCTIONS)
    return Metaworld([task for task in _all_tasks() if task.name in wanted])


def _all_tasks() -> list[Task]:
    return [
        Task(id=TaskId(f"metaworld-mt50/{index}"), index=index, name=name, text=text)
        for index, (name, text) in enumerate(INSTRUCTIONS.items())
    ]


def _require_known(name: str) -> None:
    if name not in INSTRUCTIONS:
        raise SimulatorError(
            f"{_unknown(name)} in Meta-World MT50",
            hint="Evaluate tasks whose names are those of Meta-World.",
        )


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, INSTRUCTIONS, n=1)
    return f"{name!r} is no task" + (f" (did you mean {close[0]!r}?)" if close else "")


def _layout_of(model: Any) -> list[Any]:
    return [model.body_pos, model.body_quat, model.geom_pos, model.site_pos]


@contextmanager
def _translated(name: str) -> Generator[None, None, None]:
    try:
        yield
    except _FAILURES as error:
        raise SimulatorError(
            f"{name} broke: {type(error).__name__}: {error}",
            hint="Check the installation: pip install metaworld==3.1.1",
        ) from error
