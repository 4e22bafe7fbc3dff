"""Evaluating a policy in a run folder: a checkpoint of it, or the benchmark's experts."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from etude.core.errors import PolicyError
from etude.core.protocols import Benchmark, Policy, Progress
from etude.core.types import Task, TaskId
from etude.evaluate.runner import evaluate as play
from etude.evaluate.summary import EvaluationSummary
from etude.events.recorder import Recorder
from etude.events.schema import EvaluationFinished, Warned
from etude.runs.build import LoadedPolicy, benchmark_builder, build_benchmark, load_policy
from etude.runs.run_config import RunConfig
from etude.simulators.versions import simulator_versions
from etude.store.content import content_key
from etude.store.layout import RunFolder


def evaluate(config: RunConfig, *, command: list[str], progress: Progress) -> EvaluationSummary:
    """Play what is missing of the evaluation that the configuration asks for.

    The evaluation's folder is named after everything that its result depends on, so that a killed
    one goes on and another one begins elsewhere.

    Raises:
        PolicyError: There is no such policy, or it does not know a task.
        SimulatorError: Too many episodes broke.
        StateError: Another process is playing the same evaluation.
    """
    del command
    folder = RunFolder(Path(config.output_dir))
    benchmark = build_benchmark(config)
    loaded = load_policy(config, folder, benchmark)
    tasks = tasks_to_play(loaded.policy, benchmark)
    eval_id = _eval_id(config, loaded)
    simulator = {
        "use": config.simulator.use,
        "options": _simulator_options(config),
        "version": simulator_versions(),
    }
    target = folder.evaluation(eval_id)
    with RunFolder(target).claim():
        warnings: list[str] = []
        summary = play(
            loaded.policy,
            builder=benchmark_builder(config),
            tasks=tasks,
            groups=benchmark.groups,
            config=config.eval,
            folder=target,
            eval_id=eval_id,
            policy_info={
                "use": loaded.use,
                "checkpoint": loaded.checkpoint,
                "step": loaded.step,
            },
            simulator_info=simulator,
            known_texts=_known_texts(loaded.policy),
            progress=progress,
            warn=warnings.append,
        )
    _record(folder, summary, loaded, warnings)
    return summary


def tasks_to_play(policy: Policy, benchmark: Benchmark) -> list[Task]:
    """Return the benchmark's tasks under the ids that the policy knows them by.

    Raises:
        PolicyError: The policy was not trained on some of them.
    """
    trained: Mapping[str, Task] = {task.name: task for task in getattr(policy, "tasks", ())}
    if not trained:
        return list(benchmark.tasks)
    unknown = [task.name for task in benchmark.tasks if task.name not in trained]
    if unknown:
        raise PolicyError(
            f"the policy was not trained on {len(unknown)} of {len(benchmark.tasks)} tasks: "
            f"{', '.join(unknown[:5])}",
            hint="Choose the tasks that it knows with --simulator.tasks.",
        )
    return [
        Task(id=trained[task.name].id, index=task.index, name=task.name, text=task.text)
        for task in benchmark.tasks
    ]


def _known_texts(policy: Policy) -> Mapping[TaskId, str] | None:
    trained: tuple[Task, ...] = getattr(policy, "tasks", ())
    return {task.id: task.text for task in trained} or None


def _simulator_options(config: RunConfig) -> dict[str, Any]:
    return json.loads(json.dumps(dataclasses.asdict(config.simulator.config)))


def _eval_id(config: RunConfig, loaded: LoadedPolicy) -> str:
    key = content_key(
        "evaluation/1",
        loaded.policy.key,
        config.simulator.use,
        _simulator_options(config),
        [
            config.eval.n_episodes,
            config.eval.first_seed,
            config.eval.max_steps,
            config.eval.to_the_end,
            config.eval.lanes,
        ],
    )
    step = "" if loaded.step is None else f"-step-{loaded.step:08d}"
    return f"{loaded.use}{step}-{key[:10]}"


def _record(
    folder: RunFolder, summary: EvaluationSummary, loaded: LoadedPolicy, warnings: list[str]
) -> None:
    """Tell the run, if the folder is one, what its evaluation found."""
    if not folder.manifest.exists():
        return
    recorder = Recorder(folder.events)
    try:
        for message in warnings:
            recorder.emit(Warned(message=message))
        recorder.emit(
            EvaluationFinished(
                eval_id=summary.eval_id,
                step=loaded.step,
                successes=[task.interval.successes for task in summary.per_task],
                trials=[task.interval.trials for task in summary.per_task],
            )
        )
    finally:
        recorder.close()
