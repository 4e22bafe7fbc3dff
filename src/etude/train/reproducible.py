"""What makes two runs of the same settings equal."""

import torch


def start_from(seed: int, *, threads: int) -> None:
    """Set torch's random state, and its threads unless `threads` is 0.

    Sums depend on how many threads share them, so equal results need equal threads.
    """
    torch.manual_seed(seed)
    if threads:
        torch.set_num_threads(threads)
