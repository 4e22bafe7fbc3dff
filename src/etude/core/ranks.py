"""Working together without leaving a rank behind."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from etude.core.errors import EtudeError
from etude.core.protocols import Ranks

T = TypeVar("T")


class Solo:
    """The only process of a run."""

    @property
    def rank(self) -> int:
        """Always 0."""
        return 0

    @property
    def size(self) -> int:
        """Always 1."""
        return 1

    def gather(self, value: T) -> list[T]:
        """Return `value`, which is all there is."""
        return [value]


def together(ranks: Ranks, work: Callable[[], T]) -> list[T]:
    """Run `work` on every rank and return all results in rank order.

    If it fails on one rank it fails on all, so that none is left waiting in a collective. A bug on
    one rank keeps its traceback there and stops the others, too.

    Raises:
        EtudeError: `work` raised one, here or elsewhere: that of the lowest rank, which is named.
    """
    outcome: _Outcome[T] = _Outcome(error=_abrupt_end())
    try:
        outcome = _Outcome(results=(work(),))
    except EtudeError as error:
        outcome = _Outcome(error=error)
    finally:
        # Not only after an EtudeError: the others wait here, whatever happened.
        outcomes = ranks.gather(outcome)
    for rank, other in enumerate(outcomes):
        if other.error is not None:
            raise _named(other.error, rank, ranks.size) from outcome.error
    return [result for other in outcomes for result in other.results]


def by_rank_0(ranks: Ranks, work: Callable[[], T]) -> T:
    """Return on every rank what `work` returns on rank 0, where alone it runs.

    For what may differ between machines, such as files, and for what is to be done once.

    Raises:
        EtudeError: `work` raised one.
    """

    def share() -> tuple[T, ...]:
        return (work(),) if ranks.rank == 0 else ()

    (result,) = together(ranks, share)[0]
    return result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Outcome(Generic[T]):
    """How the work of one rank ended: with one result or with an error."""

    results: tuple[T, ...] = ()
    error: EtudeError | None = None


def _abrupt_end() -> EtudeError:
    return EtudeError("the work ended without a result", hint="Read the traceback of that rank.")


def _named(error: EtudeError, rank: int, size: int) -> EtudeError:
    message = f"rank {rank}: {error}" if size > 1 else str(error)
    return type(error)(message, hint=error.hint)
