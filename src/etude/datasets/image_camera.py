"""The pictures of a camera that stand, one file each, in the rows of the data files."""

# pyright: reportUnknownMemberType=false

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from etude.core.errors import DataError
from etude.datasets.episode_table import EpisodeTable
from etude.datasets.parquet_files import parquet_errors, require_there
from etude.datasets.pictures import Pictures, Wanted, decode_picture, stack_pictures

_GROUPS_KEPT = 2
"""Row groups whose encoded pictures stay in memory; each may be up to 100 MB."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageCamera:
    """One camera of a LeRobot dataset without video: column values {bytes, path}."""

    name: str
    folder: Path
    episodes: EpisodeTable
    first_rows: dict[str, int]
    """Row of the whole frame table with which each data file begins."""
    groups: OrderedDict[tuple[str, int], list[Any]] = field(
        default_factory=OrderedDict[tuple[str, int], "list[Any]"]
    )

    def read(self, wanted: Wanted) -> Pictures:
        """Return the pictures of some frames as RGB, in order.

        Raises:
            DataError: A file is missing or torn, or a value is no picture.
        """
        rows = self.episodes.start[wanted.row] + wanted.frame
        found: dict[int, np.ndarray] = {}
        for place in np.argsort(rows, kind="stable").tolist():
            found[place] = decode_picture(
                self._encoded(wanted, place), self._address(wanted, place)
            )
        return stack_pictures([found[place] for place in range(len(wanted))], self.name)

    def stored(self, wanted: Wanted) -> Iterator[bytes]:
        """Yield the encoded pictures of the frames of one episode.

        Raises:
            DataError: A file is missing or torn, or a value is no picture.
        """
        return (self._encoded(wanted, place) for place in range(len(wanted)))

    def _encoded(self, wanted: Wanted, place: int) -> bytes:
        row = int(wanted.row[place])
        file = self.episodes.data_file(row)
        first = int(self.episodes.start[row]) - self.first_rows[file]
        value = self._value(file, first + int(wanted.frame[place]))
        return self._bytes(value, self._address(wanted, place))

    def _address(self, wanted: Wanted, place: int) -> str:
        file = self.episodes.data_file(int(wanted.row[place]))
        return f"{self.folder / file}: {wanted.address(place)} of {self.name}"

    def _value(self, file: str, row: int) -> Any:
        path = self.folder / file
        require_there(path)
        with parquet_errors(path), pq.ParquetFile(path) as parquet:
            if self.name not in parquet.schema_arrow.names:
                raise DataError(f"{path} has no column {self.name}")
            group = 0
            while row >= parquet.metadata.row_group(group).num_rows:
                row -= parquet.metadata.row_group(group).num_rows
                group += 1
            if (file, group) not in self.groups:
                while len(self.groups) >= _GROUPS_KEPT:
                    self.groups.popitem(last=False)
                table = parquet.read_row_group(group, columns=[self.name])
                self.groups[file, group] = list(table[self.name])
        return self.groups[file, group][row].as_py()

    def _bytes(self, value: Any, address: str) -> bytes:
        """Return the file that a value holds, or names relative to the dataset."""
        match value:
            case bytes(data) | {"bytes": bytes(data)}:
                return data
            case {"path": str(name)}:
                path = self.folder / name
                require_there(path)
                return path.read_bytes()
            case _:
                raise DataError(f"{address} holds {type(value).__name__}, no picture")
