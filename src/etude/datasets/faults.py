"""What is wrong with a dataset, as data: one value for each fault, with address and remedy."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from etude.core.errors import DataError
from etude.datasets.parquet_files import list_bounded

T = TypeVar("T")
Severity = Literal["error", "warning"]

SKIP_HINT = "Repair these episodes, or leave them out with --dataset.on_bad skip."
UNREADABLE = "unreadable"
"""Of faults that keep a whole file from being read."""
COPY_HINT = "Copy the dataset again, or end its recording with finalize()."

_BEHIND_A_NAME = re.compile(r": | \(| is | has | holds | cannot ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something about a dataset, or about one episode, that keeps it from being used."""

    id: str
    """Short and lasting, e.g. "not-finite"; says what kind of fault it is."""
    address: str
    """Where it is, e.g. "episode 3, frame 2" or a file relative to the dataset."""
    message: str
    """What is, as a whole sentence with value and address."""
    severity: Severity = "error"
    fix: str = COPY_HINT
    """What to do, as one imperative sentence."""
    row: int | None = None
    """Row of the episode table; None where no single episode is to blame."""


class FaultsError(DataError):
    """A dataset cannot be used, and these are its faults."""

    def __init__(self, message: str, *, hint: str = "", faults: Sequence[Fault] = ()) -> None:
        super().__init__(message, hint=hint)
        self.faults = tuple(faults)


@dataclass(slots=True)
class Attempts:
    """Reads the parts of a dataset, so that what is wrong with one does not hide the next."""

    errors: list[DataError] = field(default_factory=list[DataError])

    def read(self, part: Callable[[], T]) -> T | None:
        """Return what `part` returns; None if it is refused, which `error` tells."""
        try:
            return part()
        except DataError as error:
            self.errors.append(error)
            return None

    def error(self) -> DataError:
        """Return one error that tells all refusals."""
        if len(self.errors) == 1:
            return self.errors[0]
        message = "\n  ".join(["parts of the dataset cannot be read:", *map(str, self.errors)])
        faults = [fault for error in self.errors for fault in faults_of(error)]
        return FaultsError(message, hint=self.errors[0].hint, faults=faults)


def faults_of(error: DataError) -> Sequence[Fault]:
    """Return the faults that an error tells of."""
    if isinstance(error, FaultsError):
        return error.faults
    message = str(error)
    address = place_in(message)
    return [Fault(id=UNREADABLE, address=address, message=message, fix=error.hint or COPY_HINT)]


def place_in(message: str, folder: str = "") -> str:
    """Return the file that a message begins with, relative to `folder` if it lies there.

    A line that stands behind the name of the file is part of it. Where a message begins with no
    file of the folder, the place is the folder itself.
    """
    if not folder:
        return _BEHIND_A_NAME.split(message, maxsplit=1)[0]
    inside = message.removeprefix(f"{folder}/")
    return folder if inside == message else _BEHIND_A_NAME.split(inside, maxsplit=1)[0]


def faults_error(where: str, faults: Sequence[Fault]) -> FaultsError:
    """Return one error that tells all faults of the dataset that `where` names."""
    texts = list_bounded([fault.message for fault in faults])
    hints = {fault.fix for fault in faults}
    skippable = all(fault.row is not None for fault in faults)
    hint = hints.pop() if len(hints) == 1 else SKIP_HINT if skippable else COPY_HINT
    message = f"{where}: {texts[0]}" if len(texts) == 1 else "\n  ".join([f"{where}:", *texts])
    return FaultsError(message, hint=hint, faults=faults)
