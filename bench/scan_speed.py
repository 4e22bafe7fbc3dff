"""Seconds of a scan beside those of the stock procedure, for the same number of windows.

The stock procedure fetches the first 500 frames of an episode, one at a time, asks about every 50th
of them, one at a time, and averages the raw squared error of the whole chunk, repeated last actions
included. `sparse` is the same without fetching the frames that nothing is asked about.

Source: `calc_mse_for_single_trajectory` in gr00t/utils/eval.py of Isaac GR00T, which the open-loop
scripts of other policies follow.
"""

import gc
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from etude.core.protocols import Dataset, Policy
from etude.core.types import (
    ActionChunk,
    ContentKey,
    DataSpec,
    EpisodeSpan,
    Observation,
    TaskId,
    WindowSpec,
)
from etude.datasets.split import hold_out
from etude.policies.chunk_policy import load_chunk_policy
from etude.runs.build import open_dataset
from scan_once import Asked, Scanned, WatchedPolicy, scan_config, scan_once

STRIDE, FRAMES = 50, 500
BATCH = 64
TURNS = 5
STRATEGIES = ("panel", "stride")
WIDE, BLOCKS = 2048, 6


class WidePolicy:
    """A residual network of random weights, fifty times as large as the recipe's policy."""

    key = ContentKey("wide")

    def __init__(self, spec: DataSpec, *, horizon: int, execute: int) -> None:
        random = np.random.default_rng(0)

        def layer(inputs: int, outputs: int) -> np.ndarray:
            return (random.normal(size=(inputs, outputs)) / inputs**0.5).astype(np.float32)

        self.horizon = horizon
        self.execute = execute
        self._first = layer(spec.state_dim, WIDE)
        self._blocks = [layer(WIDE, WIDE) for _ in range(BLOCKS)]
        self._last = layer(WIDE, horizon * spec.action_dim)

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        del seed
        hidden = np.stack([observation.state for observation in observations]) @ self._first
        for block in self._blocks:
            hidden = hidden + np.maximum(hidden, 0) @ block
        actions = np.tanh(hidden @ self._last).reshape(len(observations), self.horizon, -1)
        valid = np.ones(self.horizon, np.bool_)
        return [ActionChunk(actions=chunk, valid=valid) for chunk in actions]


def speed(policy: Path, data: Path, *, held_out: int, turns: int = TURNS) -> dict[str, object]:
    """Return what both procedures take, with the policy and with one that costs more.

    Neither counts opening the dataset or loading the policy. A scan counts its units, its choice
    of windows, and writing what it found into an empty cache.

    Args:
        policy: A checkpoint.
        data: The dataset.
        held_out: Episodes of each task that are scanned.
        turns: How often each procedure takes its turn; a first turn more is not counted.
    """
    config = scan_config(policy, data, held_out=held_out)
    dataset = open_dataset(config)
    held = hold_out(dataset.episodes, per_task=held_out, seed=config.seed).held_out
    loaded = load_chunk_policy(policy)
    wide = WidePolicy(dataset.spec, horizon=loaded.horizon, execute=loaded.execute)
    per_task = len(stock_windows(held)) // len(dataset.spec.tasks)

    # What only this script holds in memory would be looked through within either's time.
    gc.collect()
    gc.freeze()

    def scanned(strategy: str, asked: Policy) -> Scanned:
        with TemporaryDirectory() as cache:
            settings = {"strategy": strategy, "windows_per_task": per_task, "first": per_task}
            config = scan_config(
                policy, data, held_out=held_out, cache=cache, batch_size=BATCH, **settings
            )
            return scan_once(config, policy=asked)

    return {
        "windows": len(stock_windows(held)),
        "batch": BATCH,
        "recipe_policy": _compared(dataset, held, loaded, scanned, turns=turns),
        "wide_policy": {
            "network": f"{BLOCKS}x{WIDE}, random weights",
            **_compared(dataset, held, wide, scanned, turns=max(1, turns // 2)),
        },
    }


def stock_windows(episodes: Sequence[EpisodeSpan]) -> list[tuple[EpisodeSpan, int]]:
    """Return the windows that the stock procedure asks for."""
    return [
        (episode, frame)
        for episode in episodes
        for frame in range(0, min(FRAMES, episode.length), STRIDE)
    ]


def stock_scores(
    dataset: Dataset, episodes: Sequence[EpisodeSpan], policy: Policy, *, sparse: bool
) -> dict[TaskId, float]:
    """Return each task's raw mean squared error, frame by frame."""
    texts = {task.id: task.text for task in dataset.spec.tasks}
    window = WindowSpec(action_offsets=tuple(range(policy.horizon)))
    errors: dict[TaskId, list[float]] = {}
    for episode in episodes:
        for frame in range(0, min(FRAMES, episode.length), STRIDE if sparse else 1):
            fetched = dataset.windows(np.array([episode.start + frame]), window)
            if frame % STRIDE:
                continue
            seen = Observation(
                task=episode.task,
                state=fetched.states[0, 0],
                instruction=texts[episode.task],
            )
            [chunk] = policy.act([seen], seed=0)
            squared = (chunk.actions - fetched.actions[0]) ** 2
            errors.setdefault(episode.task, []).append(float(squared.mean()))
    return {task: float(np.mean(found)) for task, found in errors.items()}


def _compared(
    dataset: Dataset,
    held: Sequence[EpisodeSpan],
    policy: Policy,
    scanned: Callable[[str, Policy], Scanned],
    *,
    turns: int,
) -> dict[str, object]:
    """Let the procedures take turns, and return their medians and the ratios within turns."""
    stock: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    ours: dict[str, list[Scanned]] = {name: [] for name in STRATEGIES}
    for _ in range(turns + 1):
        for sparse, turns_of in stock.items():
            asked = Asked()
            begun = time.perf_counter()
            stock_scores(dataset, held, WatchedPolicy(policy, asked, cost_s=0.0), sparse=sparse)
            turns_of.append((time.perf_counter() - begun, asked.seconds))
        for name in STRATEGIES:
            ours[name].append(scanned(name, policy))
    # The first turn meets cold caches of the processor and the allocator.
    figures: dict[str, object] = {
        name: {
            "seconds": round(median(seconds for seconds, _ in stock[sparse][1:]), 3),
            "policy_s": round(median(within for _, within in stock[sparse][1:]), 3),
        }
        for name, sparse in (("stock", False), ("sparse", True))
    }
    for name, scans in ours.items():
        figures[name] = {
            **_beside(stock[False][1:], scans[1:]),
            "ratio_to_sparse": _beside(stock[True][1:], scans[1:])["ratio"],
        }
    return figures


def _beside(stock: Sequence[tuple[float, float]], scans: Sequence[Scanned]) -> dict[str, object]:
    ratios = [seconds / scan.scan_s for (seconds, _), scan in zip(stock, scans, strict=True)]
    inside = [within / scan.asked.seconds for (_, within), scan in zip(stock, scans, strict=True)]
    outside = [scan.scan_s - scan.asked.seconds for scan in scans]
    windows = scans[0].report.inferences
    return {
        "windows": windows,
        "seconds": round(median(scan.scan_s for scan in scans), 3),
        "policy_s": round(median(scan.asked.seconds for scan in scans), 3),
        "ratio": round(median(ratios), 2),
        "ratio_low": round(min(ratios), 2),
        "ratio_high": round(max(ratios), 2),
        "ratio_policy": round(median(inside), 2),
        "overhead_ms_per_window": round(1e3 * median(outside) / windows, 3),
    }
