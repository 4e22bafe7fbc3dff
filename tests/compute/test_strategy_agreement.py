import torch

from etude.compute.strategy_agreement import highest, on_any_rank
from etude.core.ranks import Solo
from etude.testing.ranks import ThreadRank, run_ranks


def test_every_rank_learns_the_highest_number_of_each_place():
    said = [[0, 3, 1], [15, 0, 0], [2, 2, 0]]

    def work(ranks: ThreadRank) -> list[int]:
        return highest(ranks, said[ranks.rank])

    assert run_ranks(3, work) == [[15, 3, 1]] * 3


def test_a_process_that_is_alone_agrees_with_itself():
    assert highest(Solo(), [4, 0]) == [4, 0]
    assert on_any_rank(torch.tensor(data=True), 1).item() is True
