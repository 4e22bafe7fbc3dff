"""Environment steps per second of a closed-loop evaluation, beside bare stepping in the same run.

Both sides play the same tasks, seeds and lengths; making an environment and its first reset are
left out. A rate per core counts processor time, so that other work on the machine hardly shows.
"""

import argparse
import multiprocessing
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from etude.core.types import ActionChunk, ContentKey, Observation
from etude.evaluate.environments import Builder, build_benchmark
from etude.evaluate.eval_config import EvalConfig
from etude.evaluate.runner import evaluate
from etude.simulators.metaworld_config import PLUGIN, MetaworldConfig
from result import publish

WIDTH, BLOCKS, HORIZON, EXECUTE = 512, 3, 8, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A reading of both clocks."""

    wall_s: float = field(default_factory=time.perf_counter)
    cpu_s: float = field(default_factory=lambda: time.process_time() + children_cpu_s())


class StandInPolicy:
    """A residual network of random weights, in the size of the default policy."""

    key = ContentKey("stand-in")
    horizon = HORIZON
    execute = EXECUTE

    def __init__(self, *, state_dim: int, action_dim: int) -> None:
        random = np.random.default_rng(0)

        def layer(inputs: int, outputs: int) -> np.ndarray:
            return (random.normal(size=(inputs, outputs)) / inputs**0.5).astype(np.float32)

        self.first = layer(state_dim, WIDTH)
        self.blocks = [layer(WIDTH, WIDTH) for _ in range(BLOCKS)]
        self.last = layer(WIDTH, HORIZON * action_dim)
        self.calls: list[Moment] = []

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        del seed
        self.calls.append(Moment())
        hidden = np.stack([observation.state for observation in observations]) @ self.first
        for block in self.blocks:
            hidden = hidden + np.maximum(hidden, 0) @ block
        actions = np.tanh(hidden @ self.last).reshape(len(observations), HORIZON, -1)
        valid = np.ones(HORIZON, np.bool_)
        return [ActionChunk(actions=chunk, valid=valid) for chunk in actions]


def children_cpu_s() -> float:
    """Return the processor time of all running children.

    Source: proc(5), fields 14 and 15 of /proc/PID/stat.
    """
    ticks = 0
    for child in multiprocessing.active_children():
        after_name = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(after_name[11]) + int(after_name[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def bare(builder: Builder, config: EvalConfig) -> dict[str, float]:
    """Step every environment with random actions in this process."""
    benchmark = build_benchmark(builder)
    random = np.random.default_rng(0)
    shape = (config.max_steps, benchmark.action_dim)
    actions = random.uniform(-1, 1, shape).astype(np.float32)
    environments = [benchmark.make(task) for task in benchmark.tasks]
    for environment in environments:
        environment.reset(seed=config.first_seed)
    begun = Moment()
    for environment in environments:
        for episode in range(config.n_episodes):
            if episode:
                environment.reset(seed=config.first_seed + episode)
            for action in actions:
                environment.step(action)
    ended = Moment()
    for environment in environments:
        environment.close()
    steps = len(environments) * config.n_episodes * config.max_steps
    return {
        "steps": steps,
        "steps_per_core_second": round(steps / (ended.cpu_s - begun.cpu_s), 1),
        "steps_per_wall_second": round(steps / (ended.wall_s - begun.wall_s), 1),
    }


def evaluated(builder: Builder, config: EvalConfig) -> dict[str, float]:
    """Play the same episodes with a policy, in all processes."""
    benchmark = build_benchmark(builder)
    policy = StandInPolicy(state_dim=benchmark.state_dim, action_dim=benchmark.action_dim)
    with TemporaryDirectory() as folder:
        summary = evaluate(
            policy,
            builder=builder,
            tasks=benchmark.tasks,
            groups=benchmark.groups,
            config=config,
            folder=Path(folder),
            eval_id="bench",
            policy_info={"use": "stand-in"},
            simulator_info={"use": "metaworld"},
            known_texts=None,
            progress=lambda *_: None,
            warn=lambda _: None,
        )
    first, last, rounds = policy.calls[0], policy.calls[-1], len(policy.calls)
    steps = summary.steps * (rounds - 1) / rounds
    return {
        "steps": round(steps),
        "rounds": rounds,
        "lanes": min(config.lanes, len(benchmark.tasks)),
        "processes": config.processes or len(os.sched_getaffinity(0)),
        "errors": summary.errors,
        "steps_per_core_second": round(steps / (last.cpu_s - first.cpu_s), 1),
        "steps_per_wall_second": round(steps / (last.wall_s - first.wall_s), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="*", default=[], help="names; all fifty by default")
    parser.add_argument("--episodes", type=int, default=2)
    parser.add_argument("--max-steps", type=int, default=200)
    parser.add_argument("--processes", type=int, default=0)
    given = parser.parse_args()
    builder = (PLUGIN.build, MetaworldConfig(tasks=tuple(given.tasks)))
    config = EvalConfig(
        n_episodes=given.episodes, max_steps=given.max_steps, processes=given.processes
    )
    alone, played = bare(builder, config), evaluated(builder, config)
    publish(
        "rollouts",
        {
            "network": f"{BLOCKS}x{WIDTH}, chunks of {HORIZON}, {EXECUTE} played",
            "bare": alone,
            "evaluated": played,
            "ratio": round(played["steps_per_core_second"] / alone["steps_per_core_second"], 3),
        },
    )


if __name__ == "__main__":
    main()
