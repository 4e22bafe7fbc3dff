import pytest
import torch
from torch import Tensor, nn

from etude.compute.strategy import Strategy, strategy_name
from etude.compute.strategy_blocks import blocks_of
from etude.compute.strategy_config import ParallelConfig
from etude.compute.strategy_trial import Specimen, why_not
from etude.core.errors import ConfigError
from etude.core.ranks import Solo
from etude.testing.ranks import ThreadRank, run_ranks


class Block(nn.Module):
    """One product, bent."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.Linear(4, 4)

    def forward(self, hidden: Tensor) -> Tensor:
        return torch.tanh(self.mix(hidden))


class Stack(nn.Module):
    """Some blocks inside of another module, between two layers that are none."""

    def __init__(self, block: type[nn.Module] = Block) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.enter = nn.Linear(3, 4)
        self.body = nn.Sequential(nn.Identity())
        self.body.blocks = nn.ModuleList(block() for _ in range(2))
        self.leave = nn.Linear(4, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = self.enter(inputs)
        for block in self.body.blocks:
            hidden = block(hidden)
        return self.leave(hidden)[:, 0]


INPUTS = torch.linspace(-1, 1, 15).reshape(5, 3)


def gradients(module: nn.Module, config: ParallelConfig, *, turns: int = 1) -> dict[str, Tensor]:
    """The gradients of one turn, after others, and what the user was told."""
    strategy = Strategy(module, Solo(), config)
    for _ in range(turns):
        module.zero_grad()
        strategy.refresh()
        with strategy.backward(last=True):
            strategy.losses(INPUTS).sum().backward()
    told.extend(strategy.news())
    return {name: parameter.grad for name, parameter in module.named_parameters()}


told: list[str] = []


def test_on_one_rank_every_strategy_is_the_same():
    names = [
        strategy_name(ParallelConfig(strategy=name), Solo())
        for name in ("auto", "single", "ddp", "fsdp2")
    ]

    assert names == ["single"] * 4


def test_several_ranks_copy_the_model_unless_asked_to_share_it_out():
    def work(ranks: ThreadRank) -> list[str]:
        return [
            strategy_name(ParallelConfig(strategy=name), ranks) for name in ("auto", "ddp", "fsdp2")
        ]

    assert run_ranks(2, work) == [["ddp", "ddp", "fsdp2"]] * 2


def test_several_ranks_cannot_each_train_a_model_of_their_own():
    def work(ranks: ThreadRank) -> str:
        return strategy_name(ParallelConfig(strategy="single"), ranks)

    for error in run_ranks(2, work):
        assert isinstance(error, ConfigError)
        assert str(error) == "parallel.strategy is 'single', but there are 2 ranks"


def test_blocks_are_what_a_module_keeps_in_lists():
    stack = Stack()

    assert blocks_of(stack) == list(stack.body.blocks)
    assert blocks_of(nn.Linear(2, 2)) == []


def test_computing_again_changes_neither_gradients_nor_names():
    plain, again = Stack(), Stack()

    expected = gradients(plain, ParallelConfig())
    found = gradients(again, ParallelConfig(checkpoint_activations=True))

    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        assert torch.equal(found[name], gradient), name
    assert again.state_dict().keys() == plain.state_dict().keys()


def test_clipping_returns_the_length_before_it():
    module = nn.Linear(2, 1, bias=False)
    strategy = Strategy(module, Solo(), ParallelConfig())
    module.weight.grad = torch.tensor([[3.0, 4.0]])

    norm = strategy.clip(list(module.parameters()), 1.0)

    assert norm.item() == 5.0
    assert module.weight.grad[0].tolist() == pytest.approx([0.6, 0.8], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["all", "none"])
def test_compiled_blocks_have_the_same_gradients_and_names(kept: str):
    plain, compiled = Stack(), Stack()
    told.clear()

    expected = gradients(plain, ParallelConfig())
    config = ParallelConfig(compile=True, checkpoint_activations=kept == "none")
    found = gradients(compiled, config, turns=3)

    assert told == []
    for name, gradient in expected.items():
        assert torch.allclose(found[name], gradient, atol=1e-6), name
    assert compiled.state_dict().keys() == plain.state_dict().keys()


def test_a_trial_that_takes_too_long_is_given_up_and_training_goes_on():
    expected = gradients(Stack(), ParallelConfig())
    told.clear()

    found = gradients(Stack(), ParallelConfig(compile=True, compile_limit_s=0.01), turns=3)

    assert told == ["torch.compile took longer than 0.01 s; training goes on without"]
    for name, gradient in expected.items():
        assert torch.equal(found[name], gradient), name


def test_blocks_that_no_other_process_can_have_are_not_compiled():
    class Local(Block):
        """A block of a class that has no address."""

    told.clear()

    found = gradients(Stack(Local), ParallelConfig(compile=True), turns=2)

    assert len(told) == 1
    assert told[0].startswith("torch.compile cannot be tried, because its blocks cannot be copied")
    assert told[0].endswith("; training goes on without")
    assert all(torch.isfinite(gradient).all() for gradient in found.values())


def test_a_trial_that_fails_says_why_in_one_line():
    misfit = Specimen(
        block=nn.Linear(4, 4), inputs=(torch.ones(2, 3),), device="cpu", bfloat16=False
    )

    reason = why_not([misfit], limit_s=60)

    assert reason.startswith("failed: ")
    assert "\n" not in reason
