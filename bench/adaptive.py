"""Rules that choose what is practised, compared on fifty tasks at equal steps.

Each regime is a situation that a run can be in. All rules of a seed begin with the same weights,
train on the same demonstrations and play the same episodes. A finished run is one line of a file
of results, so that a later call goes on where this one ended, and seeds can be added. `--also NAME
SETTING=VALUE ...` tries other settings of the default rule beside it.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from adaptive_data import WORK
from adaptive_figures import figures
from adaptive_runs import BASELINES, DEFAULT, EPISODES, LOOKING, REGIMES, RULES, Regime, run
from result import publish

QUICK_EPISODES = 3
"""Of each task, where only the shape of the result is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One run."""

    regime: Regime
    rule: str
    settings: Sequence[str]
    seed: int
    episodes: int

    @property
    def key(self) -> tuple[str, str, int]:
        """What names it among the finished ones."""
        return self.regime.name, self.rule, self.seed


def main() -> None:
    """Print one JSON object and keep it in bench/results, unless it is a quick one."""
    given = _arguments()
    file = WORK / ("quick.jsonl" if given.quick else "runs.jsonl")
    regimes = [each for each in REGIMES if given.only in (None, each.name)]
    seeds = range(1 if given.quick else given.seeds)
    rules: dict[str, Sequence[str]] = {name: RULES[name] for name in given.rules}
    if given.also:
        name, *pairs = given.also
        rules[name] = [*LOOKING, *(word for pair in pairs for word in _flag(pair))]
    wanted = [
        Wanted(
            regime=regime,
            rule=rule,
            settings=settings,
            seed=seed,
            episodes=QUICK_EPISODES if given.quick else EPISODES,
        )
        for seed in seeds
        for regime in regimes
        for rule, settings in rules.items()
    ]
    wanted += _others(regimes, wanted) if given.others else []
    finish(wanted, file, jobs=given.jobs)
    found = figures(finished(file))
    if given.quick:
        print(json.dumps(found, indent=1))
    else:
        publish("adaptive", found)


def finish(wanted: Sequence[Wanted], file: Path, *, jobs: int) -> None:
    """Do the runs that are missing, in order, and write each down when it has ended."""
    done = {(row["regime"], row["rule"], row["seed"]) for row in finished(file)}
    missing = [each for each in wanted if each.key not in done]
    locks = {(each.regime.name, each.seed): Lock() for each in missing}

    def one(each: Wanted) -> Mapping[str, Any]:
        with locks[each.regime.name, each.seed]:
            each.regime.prepare(each.seed)
        return run(each.regime, each.rule, each.settings, each.seed, episodes=each.episodes)

    with ThreadPoolExecutor(jobs) as pool:
        for row in pool.map(one, missing):
            with file.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(row) + "\n")
            last = row["curve"][-1]["rates"]
            told = f"{row['regime']} {row['rule']} {row['seed']}: {sum(last) / len(last):.3f}"
            print(told, file=sys.stderr, flush=True)


def finished(file: Path) -> list[dict[str, Any]]:
    """Return the runs that have ended, also in earlier calls."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _others(regimes: Sequence[Regime], wanted: Sequence[Wanted]) -> list[Wanted]:
    """Return one run of every rule that is not compared seed by seed."""
    rest = [name for name in RULES if name not in {each.rule for each in wanted}]
    return [
        Wanted(regime=regime, rule=name, settings=RULES[name], seed=0, episodes=EPISODES)
        for regime in regimes
        for name in rest
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=[each.name for each in REGIMES], help="one regime")
    parser.add_argument("--seeds", type=int, default=4, help="paired runs of each rule")
    parser.add_argument("--quick", action="store_true", help="one seed, few episodes, not kept")
    parser.add_argument("--rules", nargs="+", choices=RULES, default=[*BASELINES, DEFAULT])
    parser.add_argument("--others", action="store_true", help="every other rule once as well")
    parser.add_argument("--also", nargs="+", metavar=("NAME", "SETTING=VALUE"))
    parser.add_argument("--jobs", type=int, default=1, help="runs at once")
    return parser.parse_args()


def _flag(pair: str) -> list[str]:
    name, _, value = pair.partition("=")
    return [f"--{name}", value]


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
