"""What settings of different sections say against each other."""

from collections.abc import Iterator, Sequence

from etude.curriculum.lifecycle_config import LifecycleConfig
from etude.evaluate.eval_config import EvalConfig
from etude.runs.adaptive_config import SEED_OFFSET, ScoreConfig
from etude.runs.demos_config import DemosConfig
from etude.runs.faults import Fault
from etude.train.train_config import TrainConfig


def contradictions(
    *,
    steps: int,
    dataset: object,
    demos: DemosConfig,
    train: TrainConfig,
    evaluation: EvalConfig,
    score: ScoreConfig,
    lifecycle: LifecycleConfig,
) -> Sequence[Fault]:
    """Return what settings of different sections say against each other."""
    held_out = int(getattr(dataset, "hold_out_episodes", 0))
    return [
        *_of_training(steps, train, held_out, score),
        *_of_seeds(demos, evaluation, score),
        *_of_episodes(score, lifecycle),
    ]


def _of_training(
    steps: int, train: TrainConfig, held_out: int, score: ScoreConfig
) -> Iterator[Fault]:
    if train.warmup_steps > steps:
        yield Fault(
            path="train.warmup_steps",
            text=f"train.warmup_steps is {train.warmup_steps}, over steps ({steps})",
            hint="Lower train.warmup_steps or raise steps.",
        )
    if held_out > 0 and train.held_out_every == 0 and not score.panel:
        yield Fault(
            path="dataset.hold_out_episodes",
            text=f"dataset.hold_out_episodes is {held_out}, but nothing uses them: "
            f'train.held_out_every is 0 and score.kind is "{score.kind}"',
            hint="Set dataset.hold_out_episodes to 0, train.held_out_every over 0, or score.kind "
            "to open_loop.",
        )


def _of_seeds(demos: DemosConfig, evaluation: EvalConfig, score: ScoreConfig) -> Iterator[Fault]:
    beyond = demos.seed + demos.tries * demos.episodes
    if beyond > evaluation.first_seed:
        yield Fault(
            path="eval.first_seed",
            text=f"eval.first_seed is {evaluation.first_seed}, inside the seeds of "
            f"demonstrations (demos.seed + demos.tries x demos.episodes = {beyond})",
            hint=f"Set eval.first_seed to {beyond} or more.",
        )
    if score.rollouts and evaluation.n_episodes > SEED_OFFSET:
        yield Fault(
            path="eval.n_episodes",
            text=f"eval.n_episodes is {evaluation.n_episodes}, so that evaluation reaches the "
            f"seeds of short rollouts, which begin {SEED_OFFSET} above eval.first_seed",
            hint=f"Lower eval.n_episodes to {SEED_OFFSET} or less.",
        )


def _of_episodes(score: ScoreConfig, lifecycle: LifecycleConfig) -> Iterator[Fault]:
    least = lifecycle.episodes_per_look
    if score.rollouts and score.episodes < least:
        yield Fault(
            path="score.episodes",
            text=f"score.episodes is {score.episodes}, with which no task can ever pass: the "
            f"settings of lifecycle ask for {least} in each look",
            hint=f"Set score.episodes to {least} or more.",
        )
