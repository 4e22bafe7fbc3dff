import pytest

from etude.core.errors import ConfigError, DataError, EtudeError
from etude.core.protocols import Ranks
from etude.core.ranks import Solo, by_rank_0, together
from etude.testing.conformance import check_ranks
from etude.testing.ranks import run_ranks


def test_the_only_process_keeps_the_contract_of_ranks():
    check_ranks(Solo())


@pytest.mark.parametrize("size", [1, 2, 5])
def test_every_rank_gets_all_results_in_rank_order(size: int):
    outcomes = run_ranks(size, lambda ranks: together(ranks, lambda: ranks.rank * 10))

    assert outcomes == [[rank * 10 for rank in range(size)]] * size


def test_a_result_of_none_is_a_result():
    assert together(Solo(), lambda: None) == [None]


def fail_on(*failing: int):
    def work(ranks: Ranks) -> list[str]:
        def part() -> str:
            if ranks.rank in failing:
                raise DataError(f"episode {ranks.rank} is torn", hint="Record it again.")
            return "done"

        return together(ranks, part)

    return work


def test_a_failure_on_one_rank_fails_all_of_them_and_names_it():
    outcomes = run_ranks(3, fail_on(1))

    assert [type(outcome) for outcome in outcomes] == [DataError] * 3
    assert {str(outcome) for outcome in outcomes} == {"rank 1: episode 1 is torn"}
    assert {outcome.hint for outcome in outcomes} == {"Record it again."}


def test_of_several_failures_all_ranks_raise_the_same():
    outcomes = run_ranks(4, fail_on(3, 1))

    assert {str(outcome) for outcome in outcomes} == {"rank 1: episode 1 is torn"}


def test_the_rank_that_failed_keeps_its_own_error_as_the_cause():
    outcomes = run_ranks(2, fail_on(1))

    assert outcomes[0].__cause__ is None
    assert str(outcomes[1].__cause__) == "episode 1 is torn"
    assert outcomes[1].__cause__.__traceback__ is not None


def test_a_single_process_does_not_speak_of_ranks():
    def work() -> None:
        raise ConfigError("steps is -5, not over 0", hint="Set --steps.")

    with pytest.raises(ConfigError, match=r"^steps is -5, not over 0$") as caught:
        together(Solo(), work)
    assert caught.value.hint == "Set --steps."


def test_a_bug_on_one_rank_keeps_its_type_there_and_stops_the_others():
    def work(ranks: Ranks) -> list[int]:
        return together(ranks, lambda: [10, 20][ranks.rank])

    outcomes = run_ranks(3, work)

    assert isinstance(outcomes[2], IndexError)
    for outcome in outcomes[:2]:
        assert type(outcome) is EtudeError
        assert str(outcome) == "rank 2: the work ended without a result"


def test_ranks_can_go_on_together_after_a_failure():
    def work(ranks: Ranks) -> list[int]:
        with pytest.raises(DataError):
            fail_on(0)(ranks)
        return together(ranks, lambda: ranks.rank)

    assert run_ranks(3, work) == [[0, 1, 2]] * 3


def test_what_rank_0_finds_is_what_all_find_and_no_other_looks():
    looked: list[int] = []

    def work(ranks: Ranks) -> str:
        def look() -> str:
            looked.append(ranks.rank)
            return f"seen by {ranks.rank}"

        return by_rank_0(ranks, look)

    assert run_ranks(3, work) == ["seen by 0"] * 3
    assert looked == [0]


def test_what_rank_0_cannot_do_fails_all():
    def refuse() -> None:
        raise DataError("the folder is gone")

    outcomes = run_ranks(2, lambda ranks: by_rank_0(ranks, refuse))

    assert [type(outcome) for outcome in outcomes] == [DataError] * 2
