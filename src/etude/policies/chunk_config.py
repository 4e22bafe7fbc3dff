"""Settings of the `chunk` policy."""

from dataclasses import dataclass
from typing import Literal

from etude.core.errors import ConfigError
from etude.core.limits import require_at_least, require_over
from etude.core.plugins import Plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkConfig:
    """Shape of the network and of its action chunks."""

    width: int = 512
    """Units of every hidden layer."""
    blocks: int = 3
    """Residual blocks."""
    task_dim: int = 64
    """Size of the learned task embedding."""
    horizon: int = 8
    """Actions predicted at once."""
    execute: int = 4
    """Actions played before the policy is asked again."""
    differences: tuple[tuple[int, int, int], ...] = ()
    """Further inputs: (a, b, n) adds state[a:a+n] - state[b:b+n], so that a small distance between
    two things is not lost in the large range of each."""
    scales: tuple[float, ...] = ()
    """Each difference d is also seen as tanh(d / scale), for each of these scales, so that the last
    millimetres count as much as the first decimetre. In the state's own units."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of matrix products in training; inference always uses float32."""

    def __post_init__(self) -> None:
        for name in ("width", "blocks", "task_dim", "horizon", "execute"):
            require_at_least(name, getattr(self, name), 1)
        if self.execute > self.horizon:
            raise ConfigError(
                f"execute is {self.execute}, over horizon ({self.horizon})",
                hint="Play at most as many actions as are predicted.",
            )
        for scale in self.scales:
            require_over("scales", scale, 0)
        for a, b, n in self.differences:
            if min(a, b) < 0 or n < 1:
                raise ConfigError(
                    f"differences has ({a}, {b}, {n}), not two places of at least 0 and a length"
                )


PLUGIN = Plugin(
    config=ChunkConfig,
    build="etude.policies.chunk_policy:load_chunk_policy",
    trainable="etude.policies.chunk_module:build_chunk_module",
)
