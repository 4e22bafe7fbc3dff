"""Evaluating a policy in closed loop: every task, every seed, exactly once."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from etude.core.errors import ConfigError, DataError, PolicyError, SimulatorError
from etude.core.kill_points import kill_point
from etude.core.protocols import Policy, Progress
from etude.core.types import ActionChunk, Observation, Task, TaskId
from etude.evaluate.environments import Builder, EnvironmentPool
from etude.evaluate.eval_config import EvalConfig
from etude.evaluate.eval_info import eval_info_of
from etude.evaluate.results import Results, manifest_of
from etude.evaluate.rollout import Job, Rules
from etude.evaluate.summary import EvaluationSummary, summarise
from etude.store.atomic import write_json

MOST_ERRORS = 0.05
"""Share of episodes that may break before the evaluation counts as failed."""
PHASE = "evaluate"


def evaluate(
    policy: Policy,
    *,
    builder: Builder,
    tasks: Sequence[Task],
    groups: Mapping[str, Sequence[str]],
    config: EvalConfig,
    folder: Path,
    eval_id: str,
    policy_info: Mapping[str, object],
    simulator_info: Mapping[str, object],
    known_texts: Mapping[TaskId, str] | None,
    progress: Progress,
    warn: Callable[[str], None],
) -> EvaluationSummary:
    """Play what is missing of an evaluation in `folder` and return the summary of all of it.

    Args:
        builder: How an environment process builds the benchmark.
        policy_info: `use`, `key`, `checkpoint` and `step`, for the manifest.
        simulator_info: `use`, `options` and `version`, for the manifest.
        known_texts: The instructions that the policy was trained with, where they are known.

    Raises:
        ConfigError: There is no task, or one stands twice.
        DataError: A task has no instruction, or rows of another evaluation are in the folder.
        StateError: The evaluation was begun with other settings.
        PolicyError: The policy returned what cannot be played.
        SimulatorError: Over 5 % of the episodes broke, or an environment process died twice.
    """
    _require_tasks(tasks)
    _compare_texts(tasks, known_texts, warn)
    manifest = manifest_of(
        eval_id=eval_id,
        policy={**policy_info, "key": policy.key},
        simulator=simulator_info,
        tasks=tasks,
        groups=groups,
        config=config,
    )
    results = Results(folder, manifest)
    try:
        _play_missing(policy, builder, tasks, config, results, progress)
        return _conclude(results, manifest, folder)
    finally:
        results.close()


def _play_missing(
    policy: Policy,
    builder: Builder,
    tasks: Sequence[Task],
    config: EvalConfig,
    results: Results,
    progress: Progress,
) -> None:
    lanes = deal(tasks, config, played=results.played)
    total = len(tasks) * config.n_episodes
    progress(PHASE, len(results.episodes), total)
    if not any(lanes):
        return
    rules = Rules(max_steps=config.max_steps, to_the_end=config.to_the_end)
    with EnvironmentPool(builder, lanes, rules=rules, processes=config.processes) as pool:
        results.append(pool.open())
        running = pool.running()
        while running:
            actions = _choose(policy, running, lanes=pool.lanes, seed=config.first_seed)
            results.append(pool.play(actions))
            kill_point("eval.round_done")
            running = pool.running()
            note = f"{len(running)} tasks playing" if running else ""
            progress(PHASE, len(results.episodes), total, note)


def deal(
    tasks: Sequence[Task], config: EvalConfig, *, played: set[tuple[TaskId, int]]
) -> list[list[Job]]:
    """Return the jobs of each lane: task i is always in lane i modulo their number.

    So a task has the same place in the policy's batch however much of the evaluation is left.
    """
    lanes: list[list[Job]] = [[] for _ in range(min(config.lanes, len(tasks)))]
    for place, task in enumerate(tasks):
        lanes[place % len(lanes)] += [
            Job(task=task, episode=episode, seed=config.first_seed + episode)
            for episode in range(config.n_episodes)
            if (task.id, episode) not in played
        ]
    return lanes


def _choose(
    policy: Policy,
    running: Mapping[int, tuple[Job, Float32[np.ndarray, " state"]]],
    *,
    lanes: int,
    seed: int,
) -> dict[int, Float32[np.ndarray, "played action"]]:
    """Ask the policy once for all lanes; a lane that is done is filled with another's view."""
    seen = {
        lane: Observation(task=job.task.id, state=state, instruction=job.task.text)
        for lane, (job, state) in running.items()
    }
    filler = next(iter(seen.values()))
    chunks = policy.act([seen.get(lane, filler) for lane in range(lanes)], seed=seed)
    if len(chunks) != lanes:
        raise PolicyError(f"the policy returned {len(chunks)} chunks for {lanes} observations")
    return {lane: _playable(chunks[lane], policy, seen[lane]) for lane in seen}


def _playable(
    chunk: ActionChunk, policy: Policy, seen: Observation
) -> Float32[np.ndarray, "played action"]:
    actions = chunk.actions[: policy.execute][chunk.valid[: policy.execute]]
    if not len(actions):
        raise PolicyError(f"the policy returned no valid action for {seen.task}")
    if not np.isfinite(actions).all():
        raise PolicyError(
            f"the policy returned an action that is not finite for {seen.task}",
            hint="Evaluate an earlier checkpoint; training has probably diverged.",
        )
    return actions


def _conclude(results: Results, manifest: Mapping[str, Any], folder: Path) -> EvaluationSummary:
    seconds = results.busy_s()
    summary = summarise(results.episodes, manifest, seconds=seconds)
    write_json(folder / "eval_info.json", eval_info_of(results.episodes, manifest, seconds=seconds))
    kill_point("eval.info_written")
    write_json(folder / "summary.json", summary.to_json())
    if summary.errors > MOST_ERRORS * len(results.episodes):
        first = next(e.result for e in results.episodes if e.result.error)
        raise SimulatorError(
            f"{summary.errors} of {len(results.episodes)} episodes broke, over "
            f"{MOST_ERRORS:.0%}; the first was {first.task} with seed {first.seed}: {first.error}",
            hint=f"Read the errors in {results.path}, then remove its folder and evaluate again.",
        )
    return summary


def _require_tasks(tasks: Sequence[Task]) -> None:
    if not tasks:
        raise ConfigError("tasks is empty", hint="Name at least one task to evaluate.")
    twice = [task for task, count in Counter(task.id for task in tasks).items() if count > 1]
    if twice:
        raise ConfigError(f"tasks holds {', '.join(twice)} twice", hint="Name each task once.")
    mute = [task.id for task in tasks if not task.text]
    if mute:
        raise DataError(
            f"{', '.join(mute)} has no instruction",
            hint="Give every task a text in the dataset's table of tasks.",
        )


def _compare_texts(
    tasks: Sequence[Task], known: Mapping[TaskId, str] | None, warn: Callable[[str], None]
) -> None:
    if known is None:
        return
    for task in tasks:
        if task.id not in known:
            warn(f"{task.id} ({task.name}) was not in the training data")
        elif known[task.id] != task.text:
            warn(
                f"{task.id} ({task.name}) is told {task.text!r}, but was trained with "
                f"{known[task.id]!r}"
            )
