"""Settings of open-loop scans."""

from dataclasses import dataclass
from typing import Literal

from etude.core.errors import ConfigError
from etude.core.limits import require_at_least, require_between, require_over

Strategy = Literal["panel", "uniform", "stride", "sliding"]
ActionKind = Literal["auto", "absolute", "relative"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanConfig:
    """Which windows a scan looks at, how many, and what counts as good enough."""

    strategy: Strategy = "panel"
    """How windows are chosen. `panel`: by what happens in them; `uniform`: evenly over whole
    episodes; `stride`: every 50th of an episode's first 500 frames; `sliding`: end to end."""
    windows_per_task: int = 32
    """Windows that a task gets on average; 0 scans all that `stride` or `sliding` name."""
    samples_per_task: int = 64
    """Windows of a task's training episodes that a sample scan looks at; 0 as above."""
    first: int = 8
    """Windows that every task gets before the rest goes to the tasks in doubt."""
    tau: float = 0.65
    """A window passes if no action group errs by more than this share of holding still; fitted to
    closed-loop success (docs/decisions/0008)."""
    time_limit_s: float = 0.0
    """Stop asking the policy after this time; 0 is no limit."""
    call_limit_s: float = 0.0
    """Longest time of one call of the policy, after which it counts as not answering; 0 is no
    limit."""
    retries: int = 2
    """How often a policy that did not answer is asked again, after 1 s, 2 s, 4 s and so on. Then
    the scan ends with what it has."""
    batch_size: int = 64
    """Windows that the policy is asked about at once."""
    write_every_s: float = 1.0
    """Least time between two writes of results that calls of the policy fill, so that a fast one
    does not wait for the disk; a kill loses the calls of this time."""
    round: int = 0
    """Which panel is looked at; each next one draws a part of its windows anew."""
    rotation: float = 0.2
    """Share of a panel's windows that are drawn anew each round, rounded to one in a whole number
    of them; 0 keeps all."""
    horizon: int = 0
    """Actions of a chunk that are judged; 0 takes those that the policy plays."""
    step: int = 0
    """Frames between windows of `sliding`; 0 takes the horizon, 1 looks at every frame."""
    actions: ActionKind = "auto"
    """What actions say: `absolute` where to be, `relative` how to move; `auto` finds out from how
    they go along with states. It decides what holding still is."""
    groups: tuple[str, ...] = ()
    """Action groups, e.g. ("arm=0-2", "gripper=3"); empty finds them by the names of actions.
    Dimensions that stand in no group are not judged."""

    def __post_init__(self) -> None:
        require_at_least("windows_per_task", self.windows_per_task, 0)
        require_at_least("samples_per_task", self.samples_per_task, 0)
        require_at_least("first", self.first, 1)
        require_over("tau", self.tau, 0)
        require_at_least("time_limit_s", self.time_limit_s, 0)
        require_at_least("call_limit_s", self.call_limit_s, 0)
        require_at_least("retries", self.retries, 0)
        require_at_least("batch_size", self.batch_size, 1)
        require_at_least("write_every_s", self.write_every_s, 0)
        require_at_least("round", self.round, 0)
        require_between("rotation", self.rotation, 0, 1)
        require_at_least("horizon", self.horizon, 0)
        require_at_least("step", self.step, 0)
        parse_groups(self.groups)
        for name in ("windows_per_task", "samples_per_task"):
            if getattr(self, name) == 0 and self.strategy in ("panel", "uniform"):
                raise ConfigError(
                    f'{name} is 0, which strategy "{self.strategy}" cannot draw',
                    hint="Give it a number, or set strategy to sliding to scan everything.",
                )


def parse_groups(groups: tuple[str, ...]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return names and action dimensions, e.g. (("arm", (0, 1, 2)),) of ("arm=0-2",).

    Raises:
        ConfigError: A text has another form, or a name or a dimension comes twice.
    """
    parsed = tuple(_parse_group(text) for text in groups)
    names = [name for name, _ in parsed]
    dims = [dim for _, members in parsed for dim in members]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"groups names {name!r} {names.count(name)} times, not once")
    for dim in dims:
        if dims.count(dim) > 1:
            raise ConfigError(
                f"groups has action dimension {dim} {dims.count(dim)} times, not once"
            )
    return parsed


def _parse_group(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, ranges = text.partition("=")
    dims: list[int] = []
    for part in ranges.split(","):
        low, dash, high = part.strip().partition("-")
        if not (low.isdecimal() and (high.isdecimal() or not dash)):
            break
        dims.extend(range(int(low), int(high if dash else low) + 1))
    else:
        if name.strip() and equals and dims:
            return name.strip(), tuple(dims)
    raise ConfigError(
        f"groups has {text!r}, not a name and action dimensions",
        hint='Write each group like "arm=0-2,4".',
    )
