"""Filling the data files of a LeRobot v3.0 dataset, one episode at a time."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from etude.core.closing import Closing
from etude.datasets.lerobot_schema import DATA_FILES, Feature, FilePlace, data_schema, file_places


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenEpisode:
    """Where the rows of one episode went."""

    place: FilePlace
    start: int
    stop: int


class FrameWriter(Closing):
    """Writes one row group for each episode and begins a new file when one is full."""

    def __init__(self, root: Path, features: Mapping[str, Feature], *, file_bytes: int) -> None:
        self._root = root
        self._features = features
        self._schema = data_schema(features)
        self._file_bytes = file_bytes
        self._places = file_places()
        self._place = FilePlace(chunk=0, file=0)
        self._rows = 0
        self._open = ExitStack()
        self._file: BinaryIO | None = None
        self._writer: pq.ParquetWriter | None = None

    def append(self, columns: Mapping[str, np.ndarray]) -> WrittenEpisode:
        """Write the frames of one episode, given by column name."""
        arrays = [self._array(name, columns[name]) for name in self._features]
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        self._writer_for(table.nbytes).write_table(table)
        start, self._rows = self._rows, self._rows + table.num_rows
        return WrittenEpisode(place=self._place, start=start, stop=self._rows)

    def close(self) -> None:
        """End the file that is open."""
        self._open.close()

    def _writer_for(self, more_bytes: int) -> pq.ParquetWriter:
        full = self._file is not None and self._file.tell() + more_bytes > self._file_bytes
        if self._writer is None or full:
            self._open.close()
            self._place = next(self._places)
            path = self._root / self._place.path(DATA_FILES)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._open.enter_context(path.open("wb"))
            self._writer = self._open.enter_context(pq.ParquetWriter(self._file, self._schema))
        return self._writer

    def _array(self, name: str, values: np.ndarray) -> Any:
        feature = self._features[name]
        if feature.size == 1:
            return pa.array(values.reshape(-1), type=self._schema.field(name).type)
        return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), feature.size)
