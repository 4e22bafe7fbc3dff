from collections.abc import Iterator

import pytest
import torch
import torch.distributed.checkpoint as dcp
from torch import Tensor
from torch.distributed.checkpoint.stateful import Stateful
from torch.utils.data import DataLoader, Dataset

from etude.core.errors import ConfigError, StateError
from etude.curriculum.feeds import CountedBatches, RowSampler
from etude.curriculum.sampler import CurriculumSampler
from streams import batches, plan, sampler, spans

EPISODES = spans((20,), (12,))


class CountingRows(Dataset[Tensor]):
    """Gives back the row that it is asked for, and counts how often it was asked."""

    def __init__(self) -> None:
        self.reads = 0

    def __getitem__(self, row: int) -> Tensor:
        self.reads += 1
        return torch.tensor(row)


class WholeBatches(Dataset[Tensor]):
    """Is asked for many rows at once."""

    def __getitem__(self, rows: list[int]) -> Tensor:
        return torch.tensor(rows)


def two(**other: int) -> CurriculumSampler:
    return sampler(EPISODES, 0.5, 0.5, **other)


def listed(loader: DataLoader[Tensor]) -> list[list[int]]:
    return [rows.tolist() for rows in loader]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_takes_it_as_batch_sampler(workers: int):
    loader = DataLoader(CountingRows(), batch_sampler=two(), num_workers=workers)

    assert len(loader) == 8
    assert listed(loader) == batches(two(), 8)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_takes_it_as_sampler_of_whole_batches(workers: int):
    loader = DataLoader(WholeBatches(), sampler=two(), batch_size=None, num_workers=workers)

    assert listed(loader) == batches(two(), 8)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_takes_its_rows_as_sampler(workers: int):
    rows = RowSampler(two(rank=1, ranks=2))
    loader = DataLoader(CountingRows(), sampler=rows, batch_size=2, num_workers=workers)

    assert (len(rows), len(loader)) == (16, 8)
    assert listed(loader) == [rows[1::2] for rows in batches(two(), 8)]


def test_rows_of_uneven_shares_are_refused():
    with pytest.raises(ConfigError, match="batch_size is 4, no multiple of 3 ranks"):
        RowSampler(two(ranks=3))


@pytest.mark.parametrize("workers", [0, 2])
def test_four_ranks_read_eight_trajectories_once(workers: int):
    read: list[int] = []
    for rank in range(4):
        one = sampler(spans(*[(1,)] * 8), *[0.125] * 8, batch_size=8, rank=rank, ranks=4)
        loader = DataLoader(CountingRows(), batch_sampler=one, num_workers=workers)
        read += [row for rows in listed(loader) for row in rows]

    assert sorted(read) == list(range(8))


def test_resuming_reads_nothing_of_what_was_skipped():
    wanted = batches(two(), 1001)[1000]
    before = two()
    batches(before, 1000)
    data, resumed = CountingRows(), two()

    resumed.load_state_dict(before.state_dict())
    first = next(iter(DataLoader(data, batch_sampler=resumed)))

    assert data.reads == 4
    assert first.tolist() == wanted


@pytest.mark.parametrize("kind", [lambda: two(), lambda: RowSampler(two())])
def test_it_is_what_distributed_checkpoints_call_stateful(kind: type[CurriculumSampler]):
    assert isinstance(kind(), Stateful)


def test_it_is_saved_and_loaded_as_part_of_a_distributed_checkpoint(tmp_path: str):
    first, second = two(lag=4), two(lag=4)
    rows = batches(first, 5)
    first.set_plan(plan(0.25, 0.75), from_step=10)

    dcp.save({"sampler": first}, checkpoint_id=tmp_path, no_dist=True)
    dcp.load({"sampler": second}, checkpoint_id=tmp_path, no_dist=True)

    assert len(rows) == second.step == 5
    assert batches(second, 10) == batches(first, 10)


def counted(trained: list[int], lag: int = 16) -> CountedBatches:
    return CountedBatches(two(lag=lag), lambda: trained[0])


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_that_a_loader_drew_and_threw_away_are_drawn_again(workers: int):
    trained = [0]
    loader = DataLoader(
        CountingRows(), batch_sampler=counted(trained), num_workers=workers, prefetch_factor=None
    )
    seen: list[list[int]] = []

    def some(most: int) -> Iterator[list[int]]:
        for rows, _ in zip(loader, range(most), strict=False):
            trained[0] += 1
            yield rows.tolist()

    for most in (3, 2, 3):
        seen += some(most)

    assert seen == batches(two(), 8)


def test_the_length_counts_what_is_left_of_the_epoch():
    assert [len(counted([step])) for step in (0, 3, 7, 8)] == [8, 5, 1, 8]


def test_a_loader_that_drew_further_ahead_than_it_may_is_told():
    trained = [0]
    fed = counted(trained, lag=2)
    ahead = iter(fed)
    [next(ahead) for _ in range(6)]
    trained[0] = 2

    with pytest.raises(StateError, match="step 2 is not among 4 to 6"):
        next(iter(fed))


def test_a_loader_saved_at_another_step_is_refused():
    fed = counted([3])

    fed.load_state_dict({"step": 3})
    with pytest.raises(StateError, match="the loader was saved at step 4, the curriculum at 3"):
        fed.load_state_dict({"step": 4})
