"""What a checkpoint holds of a training run."""

from collections.abc import Mapping
from typing import Any

from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

from etude.checkpoints.save_config import SaveConfig
from etude.train.step import Optimisation, as_module

TRAIN_STATE = "train_state.json"
SCHEMA = "train/1"
MODEL, AVERAGE, OPTIMIZER = "model", "average", "optimizer"
FLAT = StateDictOptions(flatten_optimizer_state_dict=True)
"""One entry for each parameter, so that a checkpoint says by name what it lacks."""


def tensor_state(optimisation: Optimisation, config: SaveConfig) -> dict[str, Any]:
    """Return the tensors that are saved, by part; sharded ones stay so and share memory."""
    state: dict[str, Any] = {MODEL: optimisation.module.state_dict()}
    if config.optimizer:
        state[OPTIMIZER] = get_optimizer_state_dict(
            as_module(optimisation.module), optimisation.optimizer, options=FLAT
        )
    if config.ema and optimisation.average is not optimisation.module:
        state[AVERAGE] = optimisation.average.state_dict()
    return state


def train_state(step: int, sampler: Mapping[str, Any], config: SaveConfig) -> dict[str, Any]:
    """Return the counters, and which parts were left out on purpose, ready for JSON."""
    omitted = {OPTIMIZER: not config.optimizer, AVERAGE: not config.ema}
    left_out = [part for part, out in omitted.items() if out]
    return {
        "schema": SCHEMA,
        "step": step,
        "sampler": dict(sampler),
        **({"left_out": left_out} if left_out else {}),
    }
