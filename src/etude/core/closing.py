"""What is closed at the end of the `with` block that it was opened for."""

from abc import ABC, abstractmethod
from typing import TypeVar

T = TypeVar("T", bound="Closing")


class Closing(ABC):
    """Something to be closed, however the block ends."""

    @abstractmethod
    def close(self) -> None:
        """Release what is held."""

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()
