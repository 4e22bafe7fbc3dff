"""What a scan of tasks costs, how well it ranks them, and what a second one costs.

Data, policy and figures are made once and kept in bench/work, part by part; all of it takes about
half an hour. `--only speed` measures one part again.
"""

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from checkpoints import FAMILIES, ROOT, checkpoints, held_out_data, success_of
from long_episodes import FRAMES, HELD_OUT, long_data
from result import publish
from scan_again import appended, edited, recalled
from scan_choice import ranking
from scan_plan import planning
from scan_speed import speed

WORK = ROOT / "bench" / "work" / "scan"
STEPS = 1200
"""Of the policy that is scanned: it solves most tasks and is far from done."""
SHORT_HELD_OUT = 4
"""Episodes of each task of the MT50 held-out data that are scanned; two more give the units."""
MORE_WINDOWS = (10 * SHORT_HELD_OUT, 32)
"""Windows of each task of the MT50 held-out data, beside the few that the stock rule finds there:
as many an episode as of long ones, and what a scan takes by default."""


def main() -> None:
    """Print one JSON object and keep it in bench/results, once all of its parts are measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", type=Path, help="a checkpoint; by default one is trained")
    parser.add_argument("--long", type=Path, default=WORK / "long", help="the long episodes")
    parser.add_argument("--held-out", type=Path, help="the MT50 held-out episodes")
    parser.add_argument("--only", help="measure one part again, such as speed")
    parser.add_argument("--fresh", action="store_true", help="measure all parts again")
    given = parser.parse_args()
    policy: Path = given.policy or default_policy()
    short: Path = given.held_out or held_out_data()
    long = long_data(given.long)
    parts = parts_of(policy.absolute(), long.absolute(), short.absolute())
    if given.only and given.only not in parts:
        parser.error(f"--only is {given.only}, none of {', '.join(parts)}")
    found = {
        name: measured(name, part, again=given.fresh or name == given.only)
        for name, part in parts.items()
        if not given.only or name == given.only or kept(name).exists()
    }
    if len(found) < len(parts):
        print(json.dumps(found, indent=1))
        return
    data = {"least_frames": FRAMES, "held_out_episodes": HELD_OUT}
    publish("scan", {"long": data, **found})


def kept(name: str) -> Path:
    """Return where a part's figures are kept."""
    return WORK / "parts" / f"{name}.json"


def measured(name: str, part: Callable[[], dict[str, object]], *, again: bool) -> dict[str, object]:
    """Return a part's figures, those of an earlier call unless they are wanted again."""
    if again or not kept(name).exists():
        kept(name).parent.mkdir(parents=True, exist_ok=True)
        kept(name).write_text(json.dumps(part(), indent=1), encoding="utf-8")
    return json.loads(kept(name).read_text(encoding="utf-8"))


def parts_of(
    policy: Path, long: Path, short: Path
) -> Mapping[str, Callable[[], dict[str, object]]]:
    """Return what is measured, by the name it has in the result."""
    return {
        "speed": lambda: speed(policy, long, held_out=HELD_OUT),
        "ranking_long": lambda: ranking(policy, long, held_out=HELD_OUT),
        "ranking_mt50": lambda: ranking(
            policy, short, held_out=SHORT_HELD_OUT, windows_per_task=MORE_WINDOWS
        ),
        "second_scan_long": lambda: recalled(policy, long, held_out=HELD_OUT),
        "second_scan_mt50": lambda: recalled(policy, short, held_out=SHORT_HELD_OUT),
        "one_more_episode": lambda: appended(policy, short),
        "edited_code": lambda: edited(policy, short, held_out=1),
        "planning": lambda: planning(long),
    }


def default_policy() -> Path:
    """Return the checkpoint of a policy that is half-way trained, made if need be."""
    family = FAMILIES[0]
    [chosen] = [each for each in checkpoints() if each.family is family and each.steps == STEPS]
    if not chosen.folder.exists():
        success_of(chosen)
    return chosen.folder


if __name__ == "__main__":
    main()
