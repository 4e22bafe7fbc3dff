"""One small evaluation of the toy benchmark, and the rows that it leaves."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from etude.core.types import Task, TaskId
from etude.evaluate.eval_config import EvalConfig
from etude.evaluate.runner import evaluate
from etude.evaluate.summary import EvaluationSummary
from etude.testing.fakes import ToyPolicy, toy_tasks
from etude.testing.toy_benchmark import ToyBenchmarkConfig, ToyEpisode, toy_builder

TASKS = toy_tasks(5)
CONFIG = EvalConfig(n_episodes=4, first_seed=10, max_steps=9, processes=1)
SOLVED = ToyEpisode(success_steps=(2,))


def run(
    folder: Path,
    *,
    policy: ToyPolicy | None = None,
    config: EvalConfig = CONFIG,
    tasks: Sequence[Task] = TASKS,
    known_texts: dict[TaskId, str] | None = None,
    warnings: list[str] | None = None,
    progress: list[tuple[int, int]] | None = None,
    **table: Any,
) -> EvaluationSummary:
    said = [] if warnings is None else warnings
    seen = [] if progress is None else progress
    return evaluate(
        policy or ToyPolicy(horizon=4, execute=3),
        builder=toy_builder(ToyBenchmarkConfig(tasks=tuple(tasks), **table)),
        tasks=tasks,
        groups={},
        config=config,
        folder=folder,
        eval_id="final",
        policy_info={"use": "toy", "checkpoint": None, "step": None},
        simulator_info={"use": "toy", "options": {}},
        known_texts=known_texts,
        progress=lambda _phase, done, total, _note="", /: seen.append((done, total)),
        warn=said.append,
    )


def rows(folder: Path) -> list[dict[str, Any]]:
    """The rows by task and episode, without what the clock says."""
    lines = (folder / "results.jsonl").read_text().splitlines()
    found = [json.loads(line) for line in lines]
    for row in found:
        del row["t"], row["wall_s"]
    return sorted(found, key=lambda row: (row["task_id"], row["episode"]))
