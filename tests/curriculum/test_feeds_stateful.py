from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import Dataset
from torchdata.stateful_dataloader import StatefulDataLoader

from etude.core.errors import StateError
from etude.curriculum.curriculum import Curriculum
from etude.curriculum.feeds import RowSampler
from streams import batches, sampler, spans

EPISODES = spans((20,), (12,))
LAG = 16


class Rows(Dataset[Tensor]):
    """Gives back the row that it is asked for."""

    def __getitem__(self, row: int) -> Tensor:
        return torch.tensor(row)


def by_batches(workers: int) -> "StatefulDataLoader[Tensor]":
    drawn = sampler(EPISODES, 0.5, 0.5, lag=LAG)
    return StatefulDataLoader(Rows(), batch_sampler=drawn, num_workers=workers)


def by_rows(workers: int) -> "StatefulDataLoader[Tensor]":
    drawn = RowSampler(sampler(EPISODES, 0.5, 0.5, lag=LAG))
    return StatefulDataLoader(Rows(), sampler=drawn, batch_size=4, num_workers=workers)


def some(loader: "StatefulDataLoader[Tensor]", most: int) -> list[list[int]]:
    return [rows.tolist() for _, rows in zip(range(most), loader, strict=False)]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("made", [by_batches, by_rows])
def test_a_loader_restored_in_the_middle_of_an_epoch_goes_on_with_the_next_batch(
    made: Callable[[int], "StatefulDataLoader[Tensor]"], workers: int
):
    straight = batches(sampler(EPISODES, 0.5, 0.5), 16)
    first, second, third = (made(workers) for _ in range(3))

    begun = some(first, 3)
    second.load_state_dict(first.state_dict())
    more = some(second, 2)
    third.load_state_dict(second.state_dict())
    rest, next_epoch = some(third, 99), some(third, 99)

    assert [len(part) for part in (begun, more, rest, next_epoch)] == [3, 2, 3, 8]
    assert [*begun, *more, *rest, *next_epoch] == straight


def trained_on(
    curriculum: Curriculum, loader: "StatefulDataLoader[Tensor]", most: int
) -> list[list[int]]:
    seen: list[list[int]] = []
    for _, rows in zip(range(most), loader, strict=False):
        seen.append(rows.tolist())
        curriculum.trained()
    return seen


def new_curriculum(workers: int) -> "tuple[Curriculum, StatefulDataLoader[Tensor]]":
    curriculum = Curriculum(EPISODES, batch_size=4)
    return curriculum, StatefulDataLoader(
        Rows(), batch_sampler=curriculum.batches, num_workers=workers
    )


@pytest.mark.parametrize(("before", "after"), [(0, 0), (2, 2), (2, 0), (0, 2)])
def test_curriculum_and_loader_are_restored_together_with_any_number_of_workers(
    before: int, after: int
):
    straight = batches(sampler(EPISODES, 0.5, 0.5), 8)
    curriculum, loader = new_curriculum(before)
    begun = trained_on(curriculum, loader, 5)
    saved: dict[str, Any] = {"loader": loader.state_dict(), "curriculum": curriculum.state_dict()}

    curriculum, loader = new_curriculum(after)
    curriculum.load_state_dict(saved["curriculum"])
    if before == after:
        # torchdata takes no state of another number of workers; the curriculum's is enough.
        loader.load_state_dict(saved["loader"])

    assert begun + trained_on(curriculum, loader, 3) == straight


def test_a_loader_restored_without_its_curriculum_is_refused():
    curriculum, loader = new_curriculum(0)
    trained_on(curriculum, loader, 5)
    saved = loader.state_dict()
    curriculum, loader = new_curriculum(0)
    loader.load_state_dict(saved)

    with pytest.raises(StateError, match="the loader was saved at step 5, the curriculum at 0"):
        next(iter(loader))
