"""Putting the adaptive loop of a run together."""

import functools
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from etude.core.errors import ConfigError
from etude.core.plugins import find
from etude.core.protocols import Dataset
from etude.core.types import DataSpec, EpisodeSpan, SamplingPlan, TaskId
from etude.curriculum.lifecycle import task_budget
from etude.curriculum.rules_planning import next_plan
from etude.curriculum.rules_view import CurriculumRule, RuleView
from etude.curriculum.sampler import CurriculumSampler
from etude.curriculum.states import untried_states
from etude.curriculum.task_state import DatasetMark
from etude.datasets.split import Split
from etude.events.schema import Event, Warned
from etude.runs.adaptive import Adaptive, AdaptiveParts, Rhythm
from etude.runs.adaptive_config import StartConfig
from etude.runs.adaptive_start import AUTO, NONE, Grounds
from etude.runs.build import weigh_plan
from etude.runs.chronicle import Chronicle
from etude.runs.guidance import Guidance
from etude.runs.look_sizes import LookClock
from etude.runs.looks import Looker
from etude.runs.panel_looks import PanelLooks
from etude.runs.reference_losses import doubt_of_rule
from etude.runs.rollout_looks import open_rollout_looks
from etude.runs.run_config import RunConfig
from etude.runs.session import Session
from etude.store.atomic import read_json
from etude.store.content import content_key
from etude.store.ledger import Ledger
from etude.train.live_policy import LivePolicy


def require_start(config: RunConfig, start: StartConfig) -> None:
    """Refuse task states that nothing would look at.

    Raises:
        ConfigError: A document is named, but nothing is scored.
    """
    if config.score.kind == "none" and start.task_state not in (AUTO, NONE):
        raise ConfigError(
            f'--task-state is {start.task_state}, but score.kind is "none": nothing would look at '
            "the tasks",
            hint="Set score.kind to open_loop, or leave out --task-state.",
        )


def build_rule(config: RunConfig) -> CurriculumRule:
    """Build the rule that the configuration names.

    Raises:
        ConfigError: No installed package provides it.
    """
    return find("etude.rules", config.curriculum.use).builder()(config.curriculum.config)


def open_sampler(
    config: RunConfig, dataset: Dataset, split: Split, guidance: Guidance
) -> CurriculumSampler:
    """Return the sampler, with the plan that holds while nothing is known about the tasks."""
    tasks = [task.id for task in dataset.spec.tasks]
    frames: dict[TaskId, int] = dict.fromkeys(tasks, 0)
    for episode in split.train:
        frames[episode.task] += episode.length
    return CurriculumSampler(
        split.train,
        weigh_plan(dataset, _first_plan(config, frames)),
        batch_size=config.batch_size,
        seed=config.seed,
        lag=config.curriculum.lag,
        strata=guidance.windows and guidance.windows.strata,
    )


@contextmanager
def open_adaptive(session: Session) -> Generator[Adaptive | None, None, None]:
    """Lend what looks at tasks and plans; nothing where nothing is scored.

    Raises:
        DataError: A recorded number is not finite, or the ledger is broken.
        ConfigError: The simulator lacks tasks of the dataset.
    """
    config = session.config
    if config.score.kind == "none":
        yield None
        return
    first = session.ranks.rank == 0
    tell = session.recorder.emit if first else _unsaid
    doubt = doubt_of_rule(config, session.guidance.references)
    if doubt:
        tell(Warned(message=doubt))
    with ExitStack() as held:
        lookers: list[Looker] = []
        for looker in _lookers(session, tell):
            held.callback(looker.close)
            lookers.append(looker)
        ledger = held.enter_context(Ledger(session.folder.ledger)) if first else None
        yield Adaptive(_parts(session, lookers, tell, ledger), _rhythm(config))


def _parts(
    session: Session,
    lookers: Sequence[Looker],
    tell: Callable[[Event], None],
    ledger: Ledger | None,
) -> AdaptiveParts:
    config, spec = session.config, session.dataset.spec
    return AdaptiveParts(
        run_id=str(read_json(session.folder.manifest)["run_id"]),
        spec=spec,
        sampler=session.sampler,
        lookers=lookers,
        rule=build_rule(config),
        rule_name=config.curriculum.use,
        grounds=Grounds(
            tasks=spec.tasks,
            mark=dataset_mark(spec, session.dataset.episodes),
            budget=task_budget(config.batch_size * config.steps, len(spec.tasks), config.lifecycle),
        ),
        chronicle=Chronicle([task.id for task in spec.tasks], tell, ledger),
        ledger=session.folder.ledger,
        losses=session.losses,
        clock=LookClock(max_share=config.score.max_share),
        ranks=session.ranks,
        start=session.start,
        references=session.guidance.references,
        weigh=functools.partial(weigh_plan, session.dataset),
    )


def _lookers(session: Session, tell: Callable[[Event], None]) -> Iterator[Looker]:
    config, spec, score = session.config, session.dataset.spec, session.config.score
    if score.panel:
        played = LivePolicy(session.module, spec, key="").execute
        panel = PanelLooks(
            session.dataset,
            session.split,
            scan=config.scan,
            score=score,
            horizon=config.scan.horizon or played,
            ranks=session.ranks,
        )
        for message in _doubts(config, session.split, panel):
            tell(Warned(message=message))
        yield panel
    if score.rollouts:
        yield open_rollout_looks(config, spec, ranks=session.ranks)


def _rhythm(config: RunConfig) -> Rhythm:
    return Rhythm(
        look_every=config.score.every,
        plan_every=config.curriculum.every,
        lag=config.curriculum.lag,
        lifecycle=config.lifecycle,
        plan=config.plan,
        rollouts_decide=config.score.rollouts,
    )


def dataset_mark(spec: DataSpec, episodes: Sequence[EpisodeSpan]) -> DatasetMark:
    """Return what tells one set of episodes from another without reading a frame."""
    rows = [[each.index, each.task, each.length] for each in episodes]
    return DatasetMark(repo_id=spec.repo_id, identity=content_key("episodes/1", rows)[:16])


def _first_plan(config: RunConfig, frames: Mapping[TaskId, int]) -> SamplingPlan:
    rule = build_rule(config)
    states = untried_states(list(frames))
    return next_plan(rule, RuleView(states=states, frames=frames), config.plan, initial=True).plan


def _doubts(config: RunConfig, split: Split, panel: PanelLooks) -> list[str]:
    """Return what the user should know of the windows that tasks are judged by."""
    doubts: list[str] = []
    held_out, wanted = config.dataset.config.hold_out_episodes, config.lifecycle.episodes
    if not config.score.rollouts and held_out < wanted:
        doubts.append(
            f"dataset.hold_out_episodes is {held_out}, under lifecycle.episodes ({wanted}): "
            "windows steer what is practised, but no task can pass by them"
        )
    elif not config.score.rollouts:
        kept = Counter(episode.task for episode in split.held_out)
        few = [task for task in panel.tasks if kept[task] < wanted]
        if few:
            doubts.append(
                f"{len(few)} tasks have fewer than {wanted} held-out episodes ({few[0]} has "
                f"{kept[few[0]]}): windows steer what is practised, but these cannot pass by them"
            )
    if panel.trained_on:
        doubts.append(
            f"{len(panel.trained_on)} tasks have no held-out episode and are scored on training "
            "episodes, which flatters them"
        )
    return doubts


def _unsaid(event: Event) -> None:
    del event
