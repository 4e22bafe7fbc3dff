"""A trial of torch.compile in a process of its own, which may crash, hang or be killed.

What it compiles stays in the compiler's cache on disk, where the processes that train find it.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Specimen:
    """A block, and what it was called with."""

    block: nn.Module
    inputs: tuple[Any, ...]
    device: str
    bfloat16: bool


def why_not(specimens: Sequence[Specimen], *, limit_s: float) -> str:
    """Return why blocks cannot be compiled, or "" once they have been."""
    with TemporaryDirectory(prefix="etude-compile-") as folder:
        path = Path(folder) / "specimens.pt"
        try:
            torch.save(list(specimens), path)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            return f"cannot be tried, because its blocks cannot be copied ({error})"
        return _try(path, limit_s=limit_s)


def _try(path: Path, *, limit_s: float) -> str:
    # A session of its own, so that the compilers which it starts end with it.
    with subprocess.Popen(
        [sys.executable, "-m", "etude.compute.strategy_trial", str(path)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        try:
            told = child.communicate(timeout=limit_s)[1]
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return f"took longer than {limit_s:g} s"
    if child.returncode == 0:
        return ""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    return f"failed: {lines[-1] if lines else f'the trial ended with code {child.returncode}'}"


def main(path: Path) -> None:
    """Compile each specimen and run it forward and backward."""
    # Written a moment ago by the process that waits for this one.
    for specimen in cast("list[Specimen]", torch.load(path, weights_only=False)):
        compiled = torch.compile(specimen.block.forward)
        with torch.autocast(specimen.device, dtype=torch.bfloat16, enabled=specimen.bfloat16):
            outputs: object = compiled(*specimen.inputs)
        if isinstance(outputs, Tensor) and outputs.requires_grad:
            outputs.float().sum().backward()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
