"""Small facts that all ranks agree on between two steps, for the price of one exchange."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor, distributed

from etude.compute.world import World
from etude.core.errors import EtudeError
from etude.core.protocols import Ranks


def highest(ranks: Ranks, values: Sequence[int]) -> list[int]:
    """Return the highest of every rank's numbers, place by place.

    Raises:
        EtudeError: A rank died, or did not come in time.
    """
    if ranks.size == 1:
        return list(values)
    if not isinstance(ranks, World):
        return [max(column) for column in zip(*ranks.gather(list(values)), strict=True)]
    # On the CPU, also where GPUs train: nothing there has to be waited for.
    shared = torch.tensor(list(values), dtype=torch.int64)
    try:
        distributed.all_reduce(shared, distributed.ReduceOp.MAX)
    except RuntimeError as error:
        raise EtudeError(
            f"rank {ranks.rank} lost the others between two steps",
            hint="Read the first error of another rank, then run the same command with --resume.",
        ) from error
    return [int(value) for value in shared]


def on_any_rank(fact: Bool[Tensor, ""], size: int) -> Bool[Tensor, ""]:
    """Return whether `fact` is true on one rank at least, without waiting for the device."""
    if size == 1:
        return fact
    count = fact.float()
    distributed.all_reduce(count, distributed.ReduceOp.MAX)
    return count > 0
