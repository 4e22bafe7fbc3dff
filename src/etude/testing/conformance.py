"""What every implementation of a contract must do. Call these from a plug-in's own tests."""

import math
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy

import numpy as np

from etude.core.errors import ConfigError
from etude.core.protocols import (
    Benchmark,
    Dataset,
    Policy,
    Ranks,
    ScanCache,
    Simulator,
    WorkQueue,
)
from etude.core.types import (
    ContentKey,
    EpisodeSpan,
    Observation,
    Task,
    TaskId,
    WindowSpec,
    WorkItem,
)
from etude.curriculum.rule_config import PlanConfig
from etude.curriculum.rules_planning import next_plan
from etude.curriculum.rules_view import CurriculumRule, RuleView
from etude.curriculum.states import TaskEvidence, TaskState
from etude.testing.ranks import run_ranks


def check_policy(policy: Policy, observations: Sequence[Observation]) -> None:
    """Assert that `policy` keeps its contract on `observations`, and changes none of them."""
    assert isinstance(policy, Policy)
    assert 1 <= policy.execute <= policy.horizon
    assert policy.key == policy.key
    before = [observation.state.copy() for observation in observations]
    first = policy.act(observations, seed=0)
    again = policy.act(observations, seed=0)
    assert len(first) == len(again) == len(observations)
    for chunk, same in zip(first, again, strict=True):
        assert chunk.actions.ndim == 2
        assert chunk.actions.shape[0] == policy.horizon
        assert chunk.valid.shape == (policy.horizon,)
        assert chunk.actions.dtype == np.float32
        assert chunk.valid.dtype == np.bool_
        assert np.isfinite(chunk.actions[chunk.valid]).all()
        np.testing.assert_array_equal(chunk.actions, same.actions)
        np.testing.assert_array_equal(chunk.valid, same.valid)
    for observation, state in zip(observations, before, strict=True):
        np.testing.assert_array_equal(observation.state, state)


def check_dataset(dataset: Dataset) -> None:
    """Assert that the spans, columns and windows of `dataset` tell one story."""
    assert isinstance(dataset, Dataset)
    known = [task.id for task in dataset.spec.tasks]
    assert len(set(known)) == len(known)
    stop = None
    contents: dict[ContentKey, tuple[bytes, bytes]] = {}
    for span in dataset.episodes:
        assert span.length > 0
        assert span.task in known
        assert stop is None or span.start >= stop, "episodes stand in recorded order"
        stop = span.stop
        columns = dataset.columns(span)
        assert columns.states.shape == (span.length, dataset.spec.state_dim)
        assert columns.actions.shape == (span.length, dataset.spec.action_dim)
        assert columns.states.dtype == columns.actions.dtype == np.float32
        assert np.isfinite(columns.states).all()
        assert np.isfinite(columns.actions).all()
        assert dataset.identity(span) == dataset.identity(span)
        content = (columns.states.tobytes(), columns.actions.tobytes())
        kept = contents.setdefault(dataset.identity(span), content)
        assert content == kept, "episodes of one identity hold the same values"
        for row in {span.start, span.start + span.length // 2, span.stop - 1}:
            _check_window(dataset, span, row=row, place=known.index(span.task))


def _check_window(dataset: Dataset, span: EpisodeSpan, *, row: int, place: int) -> None:
    """Compare one window, twice as long as its episode, with the episode's own columns."""
    columns = dataset.columns(span)
    offsets = tuple(range(-1, span.length + 1))
    spec = WindowSpec(action_offsets=offsets, observation_offsets=(-1, 0, 1))
    batch = dataset.windows(np.array([row, row], np.int64), spec)
    np.testing.assert_array_equal(batch.rows, [row, row])
    np.testing.assert_array_equal(batch.tasks, [place, place])
    for wanted, values, valid, recorded in (
        (offsets, batch.actions, batch.actions_valid, columns.actions),
        (spec.observation_offsets, batch.states, batch.states_valid, columns.states),
    ):
        frames = row - span.start + np.array(wanted)
        kept = np.clip(frames, 0, span.length - 1)
        assert values.dtype == np.float32
        for copy in range(2):
            np.testing.assert_array_equal(valid[copy], frames == kept)
            np.testing.assert_array_equal(values[copy], recorded[kept])


def check_benchmark(benchmark: Benchmark, *, tasks: Sequence[Task] = (), steps: int = 3) -> None:
    """Assert that `benchmark` keeps its contract, and so do its environments of `tasks`.

    Without `tasks` the first of the benchmark is tried.
    """
    assert isinstance(benchmark, Benchmark)
    assert benchmark.tasks
    assert len({task.id for task in benchmark.tasks}) == len(benchmark.tasks)
    assert benchmark.fps > 0
    names = {task.name for task in benchmark.tasks}
    for group in benchmark.groups.values():
        assert names.issuperset(group), "groups hold names of tasks"
    for task in tasks or benchmark.tasks[:1]:
        simulator, twin = benchmark.make(task), benchmark.make(task)
        check_simulator(
            simulator,
            twin,
            state_dim=benchmark.state_dim,
            action_dim=benchmark.action_dim,
            steps=steps,
        )


def check_simulator(
    simulator: Simulator, twin: Simulator, *, state_dim: int, action_dim: int, steps: int = 3
) -> None:
    """Assert that two environments of one task play equal episodes from equal seeds.

    One of them has played another episode before, which must not show. Both are closed.
    """
    assert isinstance(simulator, Simulator)
    actions = np.random.default_rng(0).uniform(-1, 1, (steps, action_dim)).astype(np.float32)
    simulator.reset(seed=5)
    for action in actions:
        simulator.step(action)
    first, second = simulator.reset(seed=7), twin.reset(seed=7)
    assert first.shape == (state_dim,)
    assert first.dtype == np.float32
    np.testing.assert_array_equal(first, second)
    kept = first.copy()
    for action in actions:
        one, two = simulator.step(action), twin.step(action)
        assert one.state.shape == (state_dim,)
        assert one.state.dtype == np.float32
        assert isinstance(one.success, bool)
        assert isinstance(one.terminated, bool)
        np.testing.assert_array_equal(one.state, two.state)
        assert (one.reward, one.success) == (two.reward, two.success)
        if one.terminated:
            break
    np.testing.assert_array_equal(first, kept, err_msg="a state changed after it was returned")
    assert not np.array_equal(first, simulator.reset(seed=8)), "another seed, another episode"
    simulator.close()
    twin.close()


def check_queue(make: Callable[[Ranks], WorkQueue], work: Sequence[WorkItem], *, size: int) -> None:
    """Assert that the queues of `size` ranks deal every item of `work` exactly once.

    And once more in a second round, which has nothing to do with the first.
    """
    expected = sorted(item.key for item in work)

    def live(ranks: Ranks) -> list[list[WorkItem]]:
        queue = make(ranks)
        assert isinstance(queue, WorkQueue)
        return [list(queue.items(given)) for given in (work, work[:1], (), work)]

    shares: list[list[list[WorkItem]]] = []
    for outcome in run_ranks(size, live):
        if isinstance(outcome, BaseException):
            raise outcome
        shares.append(outcome)
    for number, keys in enumerate((expected, [item.key for item in work[:1]], [], expected)):
        dealt = [item for share in shares for item in share[number]]
        assert sorted(item.key for item in dealt) == keys, f"round {number}: each item once"
        assert all(item in work for item in dealt), "items are dealt as they are"


def check_ranks(ranks: Ranks) -> None:
    """Assert that `ranks` keeps its contract. All of them call this at the same time."""
    assert isinstance(ranks, Ranks)
    assert 0 <= ranks.rank < ranks.size
    assert ranks.gather(ranks.rank) == list(range(ranks.size)), "values come in rank order"
    # Values of unequal sizes, among them an empty one, must not be cut or padded.
    assert ranks.gather("x" * 1000 * ranks.rank) == ["x" * 1000 * r for r in range(ranks.size)]
    assert ranks.gather(None) == [None] * ranks.size
    errors = ranks.gather(ConfigError(f"steps is {ranks.rank}", hint="Set --steps."))
    assert [str(error) for error in errors] == [f"steps is {r}" for r in range(ranks.size)]
    assert [error.hint for error in errors] == ["Set --steps."] * ranks.size
    for received in ranks.gather([0]):
        received.append(ranks.rank)
        assert received == [0, ranks.rank], "what one rank does to a value shows on no other"


def check_scan_cache(cache: ScanCache) -> None:
    """Assert that `cache`, which is empty, keeps what it is given and nothing else."""
    assert isinstance(cache, ScanCache)
    key, again, other = (
        cache.key(episode=ContentKey("e"), draw={"frame": frame, "seed": 7}) for frame in (0, 0, 1)
    )
    assert key == again != other, "equal inputs have one key"
    result: dict[str, object] = {"squared": [0.1 + 0.2, 1e-300], "frame": 3, "none": None}
    assert cache.get(key) is None
    for _ in range(2):
        cache.put(key, result)
        assert cache.get(key) == result, "a result comes back bit for bit"
    assert cache.get(other) is None, "a result belongs to one key"


def check_rule(rule: CurriculumRule) -> None:
    """Assert that `rule` weighs every task of a run, whatever is known of it, and keeps nothing."""
    assert isinstance(rule, CurriculumRule)
    for view in _views():
        before = deepcopy(view)
        weights = rule.weights(view)
        assert view == before, "a view is only read"
        assert set(weights) == set(view.states), "every task of the view has a weight, no other"
        for task, weight in weights.items():
            assert math.isfinite(weight), f"the weight of {task} is {weight}"
            assert weight >= 0, f"the weight of {task} is {weight}"
        # Every rank asks for itself, so a rule that remembers would part them.
        rule.weights(_others(view))
        assert rule.weights(view) == weights, "equal views give equal weights"
        planned = next_plan(rule, view, PlanConfig())
        assert math.isclose(math.fsum(planned.plan.weights.values()), 1.0)
        assert not planned.warning or not any(weights.values()), planned.warning


def _views() -> Iterator[RuleView]:
    """Yield runs that have just begun, that are under way, and that have nothing left to learn."""
    yield _view([TaskState(task=TaskId("rule/0"))])
    yield _view([TaskState(task=TaskId(f"rule/{place}")) for place in range(3)])
    looks = (_look(50, 0.0), _look(100, 0.25), _look(150, 0.5), _look(200, 0.75))
    under_way = [
        TaskState(task=TaskId("rule/0")),
        TaskState(task=TaskId("rule/1"), failures=3),
        TaskState(task=TaskId("rule/2"), status="training", history=looks),
        TaskState(task=TaskId("rule/3"), status="training", history=looks[:1], boost=1.6),
        TaskState(task=TaskId("rule/4"), status="passed", history=(*looks, _look(250, 1.0))),
        TaskState(task=TaskId("rule/5"), status="exhausted", history=(_look(50, 0.0),) * 4),
    ]
    yield _view(under_way)
    yield _view(under_way[::-1])
    yield _view([state for state in under_way if state.status in ("passed", "exhausted")])


def _others(view: RuleView) -> RuleView:
    """Return another run, with one task more."""
    return _view([*view.states.values(), TaskState(task=TaskId("rule/other"), status="passed")])


def _view(states: Sequence[TaskState]) -> RuleView:
    tasks = [state.task for state in states]
    return RuleView(
        states={state.task: state for state in states},
        frames={task: 1 + 100 * place for place, task in enumerate(tasks)},
        plan=dict.fromkeys(tasks, 1 / len(tasks)),
        losses=dict.fromkeys(tasks[1:], 0.5),
        references={task: 0.1 * place for place, task in enumerate(tasks)},
    )


def _look(step: int, rate: float) -> TaskEvidence:
    return TaskEvidence(
        step=step,
        weights=f"run@{step}",
        kind="open_loop",
        passed=20.0 * rate,
        trials=20.0,
        episodes=3,
        score=1.0 - rate,
    )
