"""Rules that say how much each task wants practice. Pure: no files, no clock, no torch."""

import math
from statistics import median

from etude.core.types import TaskId
from etude.curriculum.rule_config import (
    ErrorConfig,
    ExcessLossConfig,
    LearnabilityConfig,
    ProgressConfig,
    ProportionalConfig,
    TemperatureConfig,
    UniformConfig,
)
from etude.curriculum.rules_view import (
    CurriculumRule,
    RuleView,
    pass_rate,
    progress_of,
    scores_of,
)
from etude.curriculum.states import TaskState

_LARGEST = 500.0
"""Exponent that is far from the largest one."""


class LearnabilityRule:
    """Practises what fails and can be learned: more so while it changes, or is new.

        s = (1 - p + least) (standstill + per_error * progress) (1 + catch_up * lag) * boost

    p is the expected pass rate: what practice gains grows with what fails (decision 0010), and what
    cannot be learned is told by its progress and, once its budget is spent, by its status. `lag`
    says by how much less than the median task it was practised: 1 of one that is new, 0 of all in a
    run that begins with nothing. A task that nothing is known about gets the largest s of the
    others in work. Passed and exhausted tasks live on their floors.
    """

    shaped = True

    def __init__(self, config: LearnabilityConfig) -> None:
        self._config = config

    def weights(self, view: RuleView) -> dict[TaskId, float]:
        """Return s of every task."""
        known = {task: self._wish(state) for task, state in view.states.items()}
        largest = max((wish for wish in known.values() if wish is not None), default=0.0) or 1.0
        usual = median(state.spent for state in view.states.values())
        return {
            task: (largest if wish is None else wish) * self._newness(view.states[task], usual)
            for task, wish in known.items()
        }

    def _wish(self, state: TaskState) -> float | None:
        if state.status in ("passed", "exhausted"):
            return 0.0
        config = self._config
        p = pass_rate(state, discount=config.discount, look_steps=config.look_steps)
        if p is None:
            return None
        pace = config.standstill + config.per_error * progress_of(state, config)
        return (1.0 - p + config.least) * pace * state.boost

    def _newness(self, state: TaskState, usual: float) -> float:
        lag = max(0.0, 1.0 - state.spent / usual) if usual > 0.0 else 0.0
        return 1.0 + self._config.catch_up * lag


class ProgressRule:
    """Practises what changes: by how much a fast and a slow mean of its score differ."""

    shaped = True

    def __init__(self, config: ProgressConfig) -> None:
        self._config = config

    def weights(self, view: RuleView) -> dict[TaskId, float]:
        """Return the progress of every task in work, and the most there can be if unknown."""
        return {task: self._wish(state) for task, state in view.states.items()}

    def _wish(self, state: TaskState) -> float:
        if state.status in ("passed", "exhausted"):
            return 0.0
        config = self._config
        known = len(scores_of(state)) >= config.least_looks
        progress = progress_of(state, config) if known else config.most_errors
        return (config.least + progress) * state.boost


class ErrorRule:
    """Practises what goes wrong most: the softmax of scores, whatever the status."""

    shaped = True

    def __init__(self, config: ErrorConfig) -> None:
        self._config = config

    def weights(self, view: RuleView) -> dict[TaskId, float]:
        """Return the softmax of scores; what has none counts as the worst."""
        newest = {task: scores_of(state)[-1:] for task, state in view.states.items()}
        worst = max((score for scores in newest.values() for score in scores), default=0.0)
        return {
            task: math.exp(((scores[0] if scores else worst) - worst) / self._config.temperature)
            for task, scores in newest.items()
        }


class ExcessLossRule:
    """Moves draws to the tasks that are worse than they could be.

    What a task could reach is the loss of a reference policy. Where there is none, it is the best
    score that the task has had, so that only what was lost again counts as excess.

    Source: Hejna et al., "Re-Mix: optimizing data mixtures for large scale imitation learning",
    arXiv 2408.14037: exponentiated gradient on clipped excess losses.
    """

    shaped = True

    def __init__(self, config: ExcessLossConfig) -> None:
        self._config = config

    def weights(self, view: RuleView) -> dict[TaskId, float]:
        """Return the shares in force, each multiplied by the exponential of its excess."""
        even = 1.0 / len(view.states)
        logs = {
            task: math.log(max(view.plan.get(task, even), even * 1e-6))
            + self._config.rate * self._excess(state, view)
            for task, state in view.states.items()
        }
        top = max(logs.values())
        raised = {task: math.exp(each - top) for task, each in logs.items()}
        total = math.fsum(raised.values())
        mix = self._config.mix
        return {task: (1.0 - mix) * each / total + mix * even for task, each in raised.items()}

    def _excess(self, state: TaskState, view: RuleView) -> float:
        if state.task in view.losses and state.task in view.references:
            excess = view.losses[state.task] - view.references[state.task]
        else:
            scores = scores_of(state)
            excess = scores[-1] - min(scores) if scores else 0.0
        return min(max(0.0, excess), _LARGEST)


class UniformRule:
    """Draws every task equally often."""

    shaped = False

    def __init__(self, config: UniformConfig) -> None:
        self._config = config

    def weights(self, view: RuleView) -> dict[TaskId, float]:
        """Return 1 for every task."""
        return dict.fromkeys(view.states, 1.0)


class ProportionalRule:
    """Draws every frame equally often, as trainers without a curriculum do."""

    shaped = False

    def __init__(self, config: ProportionalConfig) -> None:
        self._config = config

    def weights(self, view: RuleView) -> dict[TaskId, float]:
        """Return the number of frames of every task."""
        return {task: float(view.frames[task]) for task in view.states}


class TemperatureRule:
    """Draws tasks by a root of their number of frames.

    Source: Arivazhagan et al., "Massively multilingual neural machine translation in the wild",
    arXiv 1907.05019, section 4.2.
    """

    shaped = False

    def __init__(self, config: TemperatureConfig) -> None:
        self._config = config

    def weights(self, view: RuleView) -> dict[TaskId, float]:
        """Return the root of the number of frames of every task."""
        power = 1.0 / self._config.temperature
        return {task: float(view.frames[task]) ** power for task in view.states}


def built_in_rules() -> dict[str, CurriculumRule]:
    """Return every rule that comes with Etude, by name, with its default settings."""
    return {
        "learnability": LearnabilityRule(LearnabilityConfig()),
        "uniform": UniformRule(UniformConfig()),
        "proportional": ProportionalRule(ProportionalConfig()),
        "temperature": TemperatureRule(TemperatureConfig()),
        "error": ErrorRule(ErrorConfig()),
        "excess_loss": ExcessLossRule(ExcessLossConfig()),
        "progress": ProgressRule(ProgressConfig()),
    }
