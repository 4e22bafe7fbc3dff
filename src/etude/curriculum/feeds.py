"""What other people's loaders draw from: single rows, or batches that a curriculum counts."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from etude.core.errors import ConfigError, StateError
from etude.curriculum.sampler import CurriculumSampler


class RowSampler:
    """A sampler's rows one by one, for loaders that make batches themselves.

    Their batch size has to be this rank's share of a global batch.
    """

    def __init__(self, sampler: CurriculumSampler) -> None:
        """Take the rows of `sampler`.

        Raises:
            ConfigError: Ranks would get shares of different sizes.
        """
        if sampler.batch_size % sampler.ranks:
            raise ConfigError(
                f"batch_size is {sampler.batch_size}, no multiple of {sampler.ranks} ranks",
                hint="Choose a multiple, or use the sampler as `batch_sampler`.",
            )
        self._sampler = sampler

    def __iter__(self) -> Iterator[int]:
        """Yield this rank's rows, to the end of the epoch."""
        for rows in self._sampler:
            yield from rows

    def __len__(self) -> int:
        """Return how many rows an iteration that begins now yields."""
        return len(self._sampler) * (self._sampler.batch_size // self._sampler.ranks)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the sampler."""
        return self._sampler.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue behind the last whole batch.

        Raises:
            StateError: The state belongs to another stream.
        """
        self._sampler.load_state_dict(state)


class CountedBatches:
    """Batches for a loader whose owner counts those that were trained on.

    An iteration begins behind the last of those, so that what a loader drew ahead and threw away
    is drawn again. The owner saves the stream; the state here is only a number to compare.
    """

    def __init__(self, sampler: CurriculumSampler, trained: Callable[[], int]) -> None:
        self._sampler = sampler
        self._trained = trained

    def __iter__(self) -> Iterator[list[int]]:
        """Yield this rank's rows of each batch, to the end of the epoch."""
        if self._sampler.step != self._trained():
            self._sampler.rewind(self._trained())
        yield from self._sampler

    def __len__(self) -> int:
        """Return how many batches an iteration that begins now yields."""
        return self._sampler.epoch_batches - self._trained() % self._sampler.epoch_batches

    def state_dict(self) -> dict[str, Any]:
        """Return how many batches were drawn."""
        return {"step": self._sampler.step}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Make sure that the loader and the owner of the stream stand at the same step.

        Raises:
            StateError: They do not.
        """
        if state["step"] != self._trained():
            raise StateError(
                f"the loader was saved at step {state['step']}, the curriculum at "
                f"{self._trained()}",
                hint="Save and load both at once, after `trained` was called.",
            )
