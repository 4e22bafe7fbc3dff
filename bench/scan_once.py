"""One scan of tasks, by the parts that `etude scan tasks` uses, with a policy that is counted."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from etude.core.protocols import Policy, ScanCache
from etude.core.types import ActionChunk, ContentKey, Observation, ScanReport
from etude.runs.config import load
from etude.runs.run_config import RunConfig
from etude.runs.scanning import open_scan
from etude.scan.logic import TASK_SCAN
from etude.scan.runner import scan_tasks
from etude.scan.scoring import Scorer

RECIPE = Path(__file__).parents[1] / "recipes" / "mt50.toml"


@dataclass(slots=True, kw_only=True)
class Asked:
    """What was asked of a policy."""

    loads: int = 0
    calls: int = 0
    observations: int = 0
    """Rows of all calls, those that only fill a batch included."""
    seconds: float = 0.0
    """That all calls took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scanned:
    """A scan and what it cost."""

    report: ScanReport
    asked: Asked
    seconds: float
    """From the configuration to the report, opening the dataset and the cache included."""
    scan_s: float
    """The part of it after both were opened: units, choice, questions, and keeping the answers."""


class WatchedPolicy:
    """A policy whose calls are counted, and take as long as those of a larger one."""

    def __init__(self, policy: Policy, asked: Asked, *, cost_s: float) -> None:
        self._policy = policy
        self._asked = asked
        self._cost_s = cost_s
        self.key = policy.key
        self.horizon = policy.horizon
        self.execute = policy.execute

    def act(self, observations: Sequence[Observation], *, seed: int) -> Sequence[ActionChunk]:
        begun = time.perf_counter()
        if self._cost_s:
            time.sleep(self._cost_s * len(observations))
        chunks = self._policy.act(observations, seed=seed)
        self._asked.calls += 1
        self._asked.observations += len(observations)
        self._asked.seconds += time.perf_counter() - begun
        return chunks


class MemoryCache:
    """A cache that forgets when the script ends, for figures that are not about disks."""

    def __init__(self) -> None:
        self._kept: dict[ContentKey, dict[str, object]] = {}

    def key(self, *, episode: ContentKey, draw: Mapping[str, object]) -> ContentKey:
        return ContentKey(f"{episode}:{draw['task']}:{draw['frame']}:{draw['seed']}")

    def get(self, key: ContentKey) -> dict[str, object] | None:
        return self._kept.get(key)

    def put(self, key: ContentKey, result: dict[str, object]) -> None:
        self._kept[key] = result


def scan_config(policy: Path, data: Path, *, held_out: int, **settings: object) -> RunConfig:
    """Return the recipe's configuration with a policy and a dataset.

    Args:
        policy: A checkpoint.
        data: The dataset.
        held_out: Episodes of each task that are scanned; 0 scans all of them.
        settings: What differs in section `scan`; `cache` and `output` are folders of the cache and
            of the run.
    """
    folders = {"cache": "--cache.root", "output": "--output_dir"}
    words = ["--policy.path", str(policy), "--dataset.root", str(data)]
    words += ["--dataset.hold_out_episodes", str(held_out)]
    for name, value in settings.items():
        words += [folders.get(name, f"--scan.{name}"), str(value)]
    return load(RECIPE, words)


def scan_once(
    config: RunConfig,
    *,
    cost_s: float = 0.0,
    cache: ScanCache | None = None,
    policy: Policy | None = None,
) -> Scanned:
    """Scan all tasks.

    Args:
        config: What is scanned.
        cost_s: Seconds that each observation takes the policy in addition.
        cache: Takes the place of the cache that the configuration names.
        policy: Takes the place of the one that would be loaded.
    """
    asked = Asked()
    begun = time.perf_counter()
    with open_scan(config, TASK_SCAN, progress=silent, warn=warn) as scanning:
        opened = time.perf_counter()

        def load_watched() -> Policy:
            asked.loads += 1
            return WatchedPolicy(policy or scanning.policy.load(), asked, cost_s=cost_s)

        parts = replace(scanning.parts, load=load_watched, cache=cache or scanning.parts.cache)
        report = scan_tasks(scanning.subject, config.scan, Scorer(parts, config.scan))
    ended = time.perf_counter()
    return Scanned(report=report, asked=asked, seconds=ended - begun, scan_s=ended - opened)


def silent(phase: str, done: int, total: int, note: str = "", /) -> None:
    del phase, done, total, note


def warn(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr)
