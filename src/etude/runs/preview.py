"""What a command would do, without doing it."""

from pathlib import Path
from typing import Any

from etude.checkpoints.commit import CheckpointStore
from etude.runs.build import build_benchmark, dataset_folder
from etude.runs.run_config import RunConfig
from etude.store.layout import RunFolder


def preview(config: RunConfig) -> dict[str, Any]:
    """Return the plan of a whole run; nothing is written and nothing heavy is loaded.

    Raises:
        ConfigError: The simulator has no such task.
    """
    folder = RunFolder(Path(config.output_dir))
    done = CheckpointStore(folder.checkpoints).steps()
    tasks = build_benchmark(config).tasks
    data = dataset_folder(config)
    return {
        "output_dir": config.output_dir,
        "begun": folder.manifest.exists(),
        "tasks": len(tasks),
        "dataset": str(data),
        "demonstrations": 0 if data.exists() else len(tasks) * config.demos.episodes,
        "steps": config.steps,
        "steps_done": max(done, default=0),
        "checkpoints": -(-config.steps // config.save.every),
        "episodes": len(tasks) * config.eval.n_episodes,
    }
