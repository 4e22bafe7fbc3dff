"""How well few windows rank the tasks: strategies beside the dense scan of every frame."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from correlation import spearman
from etude.core.types import TaskId, TaskScan
from scan_once import MemoryCache, Scanned, scan_config, scan_once

ROUNDS = (0, 5, 10, 15, 20)
"""Rounds that are five apart share no window but by chance, because a fifth is drawn anew each."""
SCORES = ("gmse", "mse")
"""The program's own score of a task, and the raw error that the stock procedure reports."""


def ranking(
    policy: Path,
    data: Path,
    *,
    held_out: int,
    windows_per_task: Sequence[int] = (),
    rounds: Sequence[int] = ROUNDS,
) -> dict[str, object]:
    """Return each strategy's rank correlation with the dense scan over the tasks.

    Args:
        policy: A checkpoint.
        data: The dataset.
        held_out: Episodes of each task that are scanned.
        windows_per_task: Numbers of windows that are tried beside that of the stock rule.
        rounds: Panels that are drawn.
    """
    cache = MemoryCache()

    def scanned(strategy: str, **settings: object) -> Scanned:
        config = scan_config(policy, data, held_out=held_out, strategy=strategy, **settings)
        return scan_once(config, cache=cache)

    dense = scanned("sliding", step=1, windows_per_task=0).report
    stock = scanned("stride", windows_per_task=0).report
    stock_count = sum(scan.windows for scan in stock.tasks.values()) // len(stock.tasks)
    figures: dict[str, object] = {
        "tasks": len(dense.tasks),
        "windows_dense": sum(scan.windows for scan in dense.tasks.values()),
        "stride": {
            "windows_per_task": stock_count,
            **{name: round(_agreement(dense.tasks, stock.tasks, name), 4) for name in SCORES},
        },
    }
    for count in sorted({stock_count, *windows_per_task}):
        for strategy in ("uniform", "panel"):
            drawn = [
                scanned(strategy, windows_per_task=count, first=count, round=number).report.tasks
                for number in rounds
            ]
            figures[f"{strategy}_{count}"] = {
                "windows_per_task": count,
                **{name: _spread(dense.tasks, drawn, name) for name in SCORES},
            }
    return figures


def _spread(
    truth: Mapping[TaskId, TaskScan], drawn: Sequence[Mapping[TaskId, TaskScan]], name: str
) -> dict[str, float]:
    found = [_agreement(truth, each, name) for each in drawn]
    return {"mean": round(mean(found), 4), "lowest": round(min(found), 4)}


def _agreement(
    truth: Mapping[TaskId, TaskScan], found: Mapping[TaskId, TaskScan], name: str
) -> float:
    return spearman(
        [getattr(scan, name) for scan in truth.values()],
        [getattr(found[task], name) for task in truth],
    )
