"""How many training windows one core cuts per second, and how long opening and measuring takes.

Run `OMP_NUM_THREADS=1 python bench/windows.py`. The data are made anew in a temporary folder.
"""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from etude.core.types import EpisodeSpan, Task, TaskId, WindowSpec
from etude.datasets.column_stats import QUANTILES, TOLERANCE, measure_columns
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.lerobot_schema import ACTION as ACTION_COLUMN
from etude.datasets.lerobot_v3 import open_dataset
from etude.datasets.recorded import RecordedDataset
from etude.datasets.writer import RecordedEpisode, write_dataset
from result import publish

TASKS, EPISODES, FRAMES = 50, 5000, 100
STATE, ACTION, HORIZON, BATCH = 39, 4, 8, 512
ROUNDS, BATCHES = 7, 200
STATISTICS_PASSES = 2


def main() -> None:
    """Print one JSON object and keep it in bench/results."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        write(Path(folder) / "data")
        write_s = time.perf_counter() - started
        config = LeRobotConfig(repo_id="bench/windows", root=str(Path(folder) / "data"))
        open_s = [timed(lambda: open_dataset(config)) for _ in range(3)]
        dataset = open_dataset(config)
    publish(
        "windows",
        {
            "state_dim": STATE,
            "action_dim": ACTION,
            "horizon": HORIZON,
            "batch": BATCH,
            "episodes": EPISODES,
            "frames": EPISODES * FRAMES,
            **measure(dataset),
            "write_s": round(write_s, 2),
            "open_s": round(median(open_s), 3),
            **measure_statistics(dataset),
        },
    )


def measure(dataset: RecordedDataset) -> dict[str, object]:
    """Compare whole batches with a loop over samples, side by side."""
    spec = WindowSpec(action_offsets=tuple(range(HORIZON)))
    draw = np.random.default_rng(0)
    batches = draw.integers(0, EPISODES * FRAMES, size=(BATCHES, BATCH))
    span_of = [span for span in dataset.episodes for _ in range(span.length)]
    batch_s: list[float] = []
    loop_s: list[float] = []
    for _ in range(ROUNDS):
        batch_s.append(timed(lambda: [dataset.windows(rows, spec) for rows in batches]) / BATCHES)
        loop_s.append(timed(lambda: one_by_one(dataset, span_of, batches[0].tolist())))
    return {
        "windows_per_s": round(BATCH / median(batch_s)),
        "windows_per_s_one_by_one": round(BATCH / median(loop_s)),
        "ratio": round(median(loop_s) / median(batch_s), 1),
    }


def measure_statistics(dataset: RecordedDataset) -> dict[str, object]:
    """Measure all frames twice over, and compare the quantiles with exact ones."""
    episodes = list(dataset.episodes) * STATISTICS_PASSES
    seconds = [timed(partial(measure_columns, dataset, episodes)) for _ in range(3)]
    stats = measure_columns(dataset)[ACTION_COLUMN]
    actions = np.concatenate([dataset.columns(span).actions for span in dataset.episodes])
    worst = 0.0
    for share in QUANTILES.values():
        exact = np.quantile(actions.astype(np.float64), share, axis=0, method="lower")
        off = np.abs(stats.quantile(share) - exact) / np.abs(exact)
        worst = max(worst, float(off.max()))
    return {
        "statistics_frames": EPISODES * FRAMES * STATISTICS_PASSES,
        "statistics_s": round(median(seconds), 2),
        "quantile_error": round(worst, 5),
        "quantile_tolerance": round(TOLERANCE, 5),
    }


def one_by_one(
    dataset: RecordedDataset, span_of: list[EpisodeSpan], rows: list[int]
) -> dict[str, np.ndarray]:
    """Cut the windows as a dataset that is asked for one sample at a time would."""
    states, actions, valid = [], [], []
    for row in rows:
        span = span_of[row]
        columns = dataset.columns(span)
        wanted = np.arange(HORIZON) + row - span.start
        held = np.minimum(wanted, span.length - 1)
        states.append(columns.states[row - span.start])
        actions.append(columns.actions[held])
        valid.append(wanted == held)
    return {"states": np.stack(states), "actions": np.stack(actions), "valid": np.stack(valid)}


def timed(action: Callable[[], object]) -> float:
    """Return how many seconds `action` takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def write(folder: Path) -> None:
    """Make a dataset of the size of 50 tasks with 100 demonstrations each."""
    draw = np.random.default_rng(0)
    tasks = [Task(id=TaskId(f"b/{i}"), index=i, name=f"t{i}", text=f"{i}") for i in range(TASKS)]
    write_dataset(
        folder,
        fps=80,
        robot_type="synthetic",
        tasks=tasks,
        state_names=[str(i) for i in range(STATE)],
        action_names=[str(i) for i in range(ACTION)],
        episodes=(
            RecordedEpisode(
                task_index=number % TASKS,
                states=draw.normal(size=(FRAMES, STATE)).astype(np.float32),
                actions=draw.normal(size=(FRAMES, ACTION)).astype(np.float32),
            )
            for number in range(EPISODES)
        ),
        extra_meta={},
    )


if __name__ == "__main__":
    main()
