"""Policies that runs begin with: trained once for each seed, and shared by all rules.

What is known of them is what an evaluation says: a task that succeeds in every episode has passed,
the others are in work, and a task that is new is untried. That stands in the document of task
states beside the weights, as a run that looks at its tasks leaves it.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from adaptive_data import WORK, all_demonstrations, etude, known_part
from etude.checkpoints.hf import load_hf, save_hf
from etude.checkpoints.weights_id import weights_id
from etude.core.types import Task
from etude.curriculum.plan import uniform_plan
from etude.curriculum.score import Score
from etude.curriculum.states import TaskState
from etude.curriculum.task_state import FILE_NAME, DatasetMark, make_document
from etude.datasets.lerobot_config import LeRobotConfig
from etude.datasets.lerobot_v3 import open_dataset
from etude.runs.task_documents import write_document

EMBEDDING = "network.task.weight"
"""The only tensor that has a row for each task."""
EPISODES = 5
"""Of each task, by which it is judged."""
FIRST_SEED = "3000000"
"""Of these episodes; those that decide the comparison have others."""
BATCH = 512
COMMON = (
    *("--policy.width", "256", "--batch_size", str(BATCH), "--train.threads", "1"),
    *(
        "--dataset.hold_out_episodes",
        "3",
    ),
)
"""Settings of every training here."""


def start(*, seed: int, steps: int, known_only: bool) -> Path:
    """Return an export with task states, trained and judged if need be.

    Args:
        seed: Of the training; it also says which tasks are new.
        steps: Of the training.
        known_only: Leave the new tasks out of it.
    """
    folder = WORK / f"start-{'known' if known_only else 'all'}-{steps}-{seed}"
    if folder.exists():
        return folder
    run = folder.with_name(f"{folder.name}-run")
    data = known_part(seed) if known_only else all_demonstrations()
    settings = (
        *("--dataset.root", str(data), *COMMON, "--output_dir", str(run)),
        *("--seed", str(1000 + seed), "--steps", str(steps), "--save.every", str(steps)),
        *("--train.warmup_steps", "100", "--train.held_out_every", str(steps)),
        *("--curriculum.use", "uniform", "--eval.processes", "1"),
    )
    etude("train", (*settings, "--resume"))
    checkpoint = run / "checkpoints" / f"step-{steps:08d}"
    names = [task["name"] for task in load_hf(checkpoint / "hf")[0]["tasks"]]
    played = etude(
        "eval",
        (
            *(*settings, "--eval.n_episodes", str(EPISODES), "--eval.first_seed", FIRST_SEED),
            *("--simulator.tasks", *names),
        ),
    )
    rates = {row["id"]: (row["successes"], row["trials"]) for row in played["per_task"]}
    _export(checkpoint, folder, rates, steps=steps, seed=seed)
    shutil.rmtree(run)
    if known_only:
        shutil.rmtree(data)
    return folder


def _export(
    checkpoint: Path,
    folder: Path,
    rates: Mapping[str, tuple[int, int]],
    *,
    steps: int,
    seed: int,
) -> None:
    """Write the weights, with a fresh embedding for each new task, and the task states."""
    tasks = open_dataset(LeRobotConfig(root=str(all_demonstrations()))).spec.tasks
    config, tensors = load_hf(checkpoint / "hf")
    rows = {row["id"]: tensors[EMBEDDING][place] for place, row in enumerate(config["tasks"])}
    larger = {**tensors, EMBEDDING: _embedding(rows, tasks, seed)}
    weights = str(weights_id(larger))
    draft = folder.with_name(f".{folder.name}")
    shutil.rmtree(draft, ignore_errors=True)
    save_hf(draft, config=config, tensors=larger, card="# Where runs begin\n")
    document = make_document(
        _states(tasks, rates, weights, steps=steps),
        tasks,
        uniform_plan([task.id for task in tasks]),
        run_id=folder.name,
        step=steps,
        weights=weights,
        dataset=DatasetMark(repo_id=LeRobotConfig().repo_id),
        rule="uniform",
    )
    write_document(draft / FILE_NAME, document)
    draft.rename(folder)


def _embedding(known: Mapping[str, torch.Tensor], tasks: Sequence[Task], seed: int) -> torch.Tensor:
    size = len(next(iter(known.values())))
    fresh = torch.randn((len(tasks), size), generator=torch.Generator().manual_seed(seed))
    return torch.stack([known.get(task.id, fresh[place]) for place, task in enumerate(tasks)])


def _states(
    tasks: Sequence[Task], rates: Mapping[str, tuple[int, int]], weights: str, *, steps: int
) -> dict[str, TaskState]:
    budget = float(BATCH * steps / len(tasks))
    states: dict[str, TaskState] = {}
    for task in tasks:
        if task.id not in rates:
            states[task.id] = TaskState(task=task.id)
            continue
        passed, trials = rates[task.id]
        score = Score(passed=float(passed), trials=float(trials), episodes=trials)
        known = score.evidence(step=steps, weights=weights)
        states[task.id] = TaskState(
            task=task.id,
            status="passed" if passed == trials else "training",
            since_step=steps,
            spent=budget,
            history=(known,),
            reason=f"{passed} of {trials} episodes passed",
        )
    return states
