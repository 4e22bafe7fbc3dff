from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from etude.core.errors import ConfigError, DataError
from etude.core.types import SamplingPlan, TaskId, WindowSpec
from etude.curriculum.plan import uniform_plan
from etude.curriculum.sampler import CurriculumSampler
from etude.datasets.mixture import MixedDataset, open_dataset
from etude.datasets.mixture_config import MixtureConfig
from etude.testing.conformance import check_dataset
from filmed_dataset import write_filmed
from robots import write_robot


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> MixedDataset:
    folder = tmp_path_factory.mktemp("mixed")
    write_robot(folder / "one", size=7, lengths=[5, 4], tasks=2)
    write_robot(folder / "two", size=14, lengths=[6, 30, 3], tasks=3)
    roots = (str(folder / "one"), str(folder / "two"))
    return open_dataset(MixtureConfig(roots=roots, weights=(7.0, 3.0)))


def test_it_is_a_dataset(mixed: MixedDataset):
    check_dataset(mixed)


def test_tasks_keep_their_ids_and_episodes_count_on(mixed: MixedDataset):
    assert [task.id for task in mixed.spec.tasks] == ["one/0", "one/1", "two/0", "two/1", "two/2"]
    assert [task.name for task in mixed.spec.tasks][:3] == ["one-0", "one-1", "two-0"]
    assert [(e.index, e.task, e.start, e.stop) for e in mixed.episodes] == [
        (0, "one/0", 0, 5),
        (1, "one/1", 5, 9),
        (2, "two/0", 9, 15),
        (3, "two/1", 15, 45),
        (4, "two/2", 45, 48),
    ]
    assert mixed.own_span(mixed.episodes[3]).index == 1


def test_robots_are_padded_to_one_size_and_say_what_is_theirs(mixed: MixedDataset):
    batch = mixed.windows(np.array([10, 0, 46, 8]), WindowSpec(action_offsets=(0, 1)))

    assert mixed.spec.action_dim == 14
    assert mixed.spec.action_sizes == (7, 7, 14, 14, 14)
    assert batch.tasks.tolist() == [2, 0, 4, 1]
    assert batch.actions_used is not None
    assert batch.actions_used.sum(axis=1).tolist() == [14, 7, 14, 7]
    assert batch.actions[:, :, 0].tolist() == [[2, 3], [1, 2], [2, 3], [4, 4]]
    assert batch.actions[1, 0].tolist() == [1.0] * 7 + [0.0] * 7
    assert batch.states[0, 0].tolist() == [1.0] * 14
    assert batch.actions_valid[3].tolist() == [True, False]


def test_an_episode_has_the_identity_that_it_has_by_itself(mixed: MixedDataset):
    alone = mixed.parts[1]

    assert mixed.identity(mixed.episodes[2]) == alone.identity(alone.episodes[0])


def test_datasets_are_drawn_in_their_ratio_in_every_batch(mixed: MixedDataset):
    plan = mixed.weighted(uniform_plan([task.id for task in mixed.spec.tasks]))
    sampler = CurriculumSampler(mixed.episodes, plan, batch_size=50, seed=1)

    counts = [int((sampler.next_rows() < 9).sum()) for _ in range(200)]

    # 0.7 of 50 are 35 of the first dataset, whose frames are rows 0 to 8.
    assert set(counts) <= {34, 35, 36}
    assert abs(sum(counts) - 200 * 35) <= 1


def test_inside_a_dataset_a_plan_holds(mixed: MixedDataset):
    plan = SamplingPlan(
        weights={
            TaskId("one/0"): 0.3,
            TaskId("one/1"): 0.1,
            TaskId("two/0"): 0.6,
            TaskId("two/1"): 0.0,
            TaskId("two/2"): 0.0,
        }
    )

    assert mixed.weighted(plan).weights == pytest.approx(
        {"one/0": 0.525, "one/1": 0.175, "two/0": 0.3, "two/1": 0, "two/2": 0}
    )


def test_a_dataset_that_is_done_leaves_its_share_to_the_others(mixed: MixedDataset):
    plan = SamplingPlan(weights={task.id: float(task.id == "two/1") for task in mixed.spec.tasks})

    assert mixed.weighted(plan).weights["two/1"] == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(rows=st.lists(st.integers(0, 47), min_size=1, max_size=20))
def test_each_window_is_that_of_its_own_dataset(mixed: MixedDataset, rows: list[int]):
    spec = WindowSpec(action_offsets=(-1, 0, 1), observation_offsets=(-1, 0))

    together = mixed.windows(np.array(rows), spec)

    for place, row in enumerate(rows):
        part, own = (0, row) if row < 9 else (1, row - 9)
        alone = mixed.parts[part].windows(np.array([own]), spec)
        size = (7, 14)[part]
        assert (together.actions[place, :, :size] == alone.actions[0]).all()
        assert (together.states[place, :, :size] == alone.states[0]).all()
        assert (together.actions[place, :, size:] == 0).all()


def test_a_row_beyond_all_datasets_is_refused(mixed: MixedDataset):
    with pytest.raises(DataError, match="lies in no usable episode"):
        mixed.windows(np.array([48]), WindowSpec(action_offsets=(0,)))


def test_pictures_of_both_come_in_the_order_that_was_asked_for(tmp_path: Path):
    for name in ("one", "two"):
        write_filmed(tmp_path / name, [4, 3])
    config = MixtureConfig(roots=(str(tmp_path / "one"), str(tmp_path / "two")))
    dataset = open_dataset(config)
    [camera] = dataset.spec.cameras
    spec = WindowSpec(action_offsets=(0,), cameras=(camera,))

    pictures = dataset.windows(np.array([8, 2, 7, 2]), spec).images[camera]

    alone = dataset.parts[0].windows(np.array([1, 2, 0]), spec).images[camera]
    assert (pictures == alone[[0, 1, 2, 1]]).all()


def test_shared_texts_are_named_across_datasets(mixed: MixedDataset):
    assert "tasks one/0, two/0 share the text 'do 0'; they stay apart" in mixed.warnings


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"roots": ()}, "roots is empty"),
        ({"roots": ("a", "b"), "weights": (1.0,)}, "weights has 1 entries, not one for each of 2"),
        ({"roots": ("a", "b"), "weights": (1.0, 0.0)}, "weights is 0.0, not over 0"),
        ({"roots": ("x/a", "y/a")}, "two datasets called 'a'"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, object], said: str):
    with pytest.raises(ConfigError, match=said):
        MixtureConfig(**settings)


def test_weights_are_shares_in_any_unit():
    assert MixtureConfig(roots=("a", "b"), weights=(7.0, 3.0)).shares == (0.7, 0.3)
    assert MixtureConfig(roots=("a", "b")).shares == (0.5, 0.5)
