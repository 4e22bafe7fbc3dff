"""Settings of the rules that weigh tasks, of the plans made from them, and the plug-ins."""

from dataclasses import dataclass

from etude.core.limits import require_at_least, require_between, require_over
from etude.core.plugins import Plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanConfig:
    """How far a plan may go. Shares are multiples of an even one, 1 / number of tasks."""

    training_floor: float = 0.35
    """Least share of a task in work."""
    passed_floor: float = 0.5
    """Least share of a passed task, so that it is not forgotten."""
    exhausted_floor: float = 0.2
    """Least share of an exhausted task, so that it shows when it can be learned after all."""
    most_floors: float = 0.75
    """Most that all floors take together while a task is in work."""
    keep: float = 0.7
    """How much of the plan in force stays in the next one."""
    cap: float = 6.0
    """Largest share of a task."""
    failing_cap: float = 1.6
    """Largest share of a task that no scan could score yet, after the first one failed."""
    growth: float = 1.5
    """Most that a share is multiplied by in one update; it may reach its floor at once."""
    least_effective: float = 1 / 3
    """Least effective number of tasks, 1 / (sum of squared shares), as a part of all."""

    def __post_init__(self) -> None:
        for name in ("training_floor", "passed_floor", "exhausted_floor"):
            require_between(name, getattr(self, name), 0, 1)
        require_between("most_floors", self.most_floors, 0, 1)
        require_between("keep", self.keep, 0, 1)
        require_at_least("cap", self.cap, 1)
        require_at_least("failing_cap", self.failing_cap, 1)
        require_over("growth", self.growth, 1)
        require_between("least_effective", self.least_effective, 0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressConfig:
    """Settings of `progress`: practise what gets better or worse, by more than its noise."""

    fast: float = 0.5
    """Share of the newest look in the fast mean of the score's logarithm."""
    slow: float = 0.15
    """The same in the slow one."""
    least_errors: float = 1.0
    """Standard errors under which a difference of the two means nothing."""
    most_errors: float = 3.0
    """Standard errors over which more means no more."""
    least_looks: int = 3
    """Looks under which nothing can be said."""
    score_floor: float = 0.01
    """Added to every score, so that a perfect one has a logarithm."""
    noise_floor: float = 0.02
    """Least noise of the logarithm of a score."""
    least: float = 0.1
    """Added to every task's progress, so that a standstill is no end."""

    def __post_init__(self) -> None:
        require_over("fast", self.fast, self.slow)
        require_between("fast", self.fast, 0, 1)
        require_over("slow", self.slow, 0)
        require_at_least("least_errors", self.least_errors, 0)
        require_over("most_errors", self.most_errors, self.least_errors)
        require_at_least("least_looks", self.least_looks, 2)
        require_over("score_floor", self.score_floor, 0)
        require_over("noise_floor", self.noise_floor, 0)
        require_at_least("least", self.least, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnabilityConfig(ProgressConfig):
    """Settings of `learnability`: practise what fails, more so while it gets better or is new."""

    least: float = 0.02
    """Added to the share that fails, so that a task that always works is still looked after."""
    discount: float = 0.6
    """How much a look counts after `look_steps` more steps."""
    look_steps: int = 50
    """Steps between two looks."""
    standstill: float = 0.5
    """Factor of a task that makes no progress."""
    per_error: float = 0.5
    """What each standard error of progress adds to that factor."""
    catch_up: float = 1.0
    """By how much a task weighs more that was never practised; less so the more it was."""

    def __post_init__(self) -> None:
        ProgressConfig.__post_init__(self)
        require_between("discount", self.discount, 0, 1)
        require_at_least("look_steps", self.look_steps, 1)
        require_at_least("standstill", self.standstill, 0)
        require_at_least("per_error", self.per_error, 0)
        require_at_least("catch_up", self.catch_up, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformConfig:
    """`uniform` has nothing to set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProportionalConfig:
    """`proportional` has nothing to set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemperatureConfig:
    """Settings of `temperature`: between by frames and by task."""

    temperature: float = 2.0
    """1 draws by frames; the larger, the more alike tasks are drawn."""

    def __post_init__(self) -> None:
        require_at_least("temperature", self.temperature, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorConfig:
    """Settings of `error`: practise what goes wrong most."""

    temperature: float = 0.25
    """Difference of scores that makes one task e = 2.7 times as likely as another."""

    def __post_init__(self) -> None:
        require_over("temperature", self.temperature, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcessLossConfig:
    """Settings of `excess_loss`: move draws to what is worse than it could be."""

    rate: float = 1.0
    """Excess that makes a task's weight e = 2.7 times as large in one update, inverted."""
    mix: float = 0.01
    """Part of every plan that is spread evenly, so that no weight vanishes."""

    def __post_init__(self) -> None:
        require_over("rate", self.rate, 0)
        require_between("mix", self.mix, 0, 1)


_RULES = "etude.curriculum.rules"

LEARNABILITY = Plugin(config=LearnabilityConfig, build=f"{_RULES}:LearnabilityRule")
UNIFORM = Plugin(config=UniformConfig, build=f"{_RULES}:UniformRule")
PROPORTIONAL = Plugin(config=ProportionalConfig, build=f"{_RULES}:ProportionalRule")
TEMPERATURE = Plugin(config=TemperatureConfig, build=f"{_RULES}:TemperatureRule")
ERROR = Plugin(config=ErrorConfig, build=f"{_RULES}:ErrorRule")
EXCESS_LOSS = Plugin(config=ExcessLossConfig, build=f"{_RULES}:ExcessLossRule")
PROGRESS = Plugin(config=ProgressConfig, build=f"{_RULES}:ProgressRule")
