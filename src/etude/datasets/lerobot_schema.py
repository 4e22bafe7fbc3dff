"""Names, file places and column types of the LeRobot v3.0 format.

Source: huggingface/lerobot, src/lerobot/datasets/{utils,feature_utils,dataset_metadata}.py.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from etude.core.types import Task

VERSION = "v3.0"
STATE = "observation.state"
ACTION = "action"
TIMESTAMP = "timestamp"
SUCCESS = "next.success"
"""Whether the task was solved after the frame's action."""

INFO_FILE = "meta/info.json"
STATS_FILE = "meta/stats.json"
TASKS_FILE = "meta/tasks.parquet"
EPISODES_FILES = "meta/episodes/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
DATA_FILES = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_FILES = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
PROVENANCE_FILE = "meta/etude.json"
"""Ours: where the data came from. LeRobot ignores files that it does not know."""

FILES_PER_CHUNK = 1000
STATISTICS = ("min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99")

_ARROW_TYPES = {"float32": pa.float32(), "int64": pa.int64(), "bool": pa.bool_()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One column of the frame table."""

    dtype: str
    """"float32", "int64" or "bool"."""
    size: int = 1
    """Values in each frame; a column of one value is no list."""
    names: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, object]:
        """Return the description that info.json holds."""
        names = None if self.names is None else list(self.names)
        return {"dtype": self.dtype, "shape": [self.size], "names": names}


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    """The two numbers in the name of a file."""

    chunk: int
    file: int

    def path(self, pattern: str) -> str:
        """Return the path, relative to the dataset, that `pattern` gives this place."""
        return pattern.format(chunk_index=self.chunk, file_index=self.file)


def file_places() -> Iterator[FilePlace]:
    """Yield the places that a writer fills, in order, without end."""
    number = 0
    while True:
        yield FilePlace(chunk=number // FILES_PER_CHUNK, file=number % FILES_PER_CHUNK)
        number += 1


def frame_features(
    state_names: Sequence[str], action_names: Sequence[str], *, success: bool
) -> dict[str, Feature]:
    """Return the columns of a frame table, in the order in which LeRobot writes them."""
    features = {
        STATE: Feature(dtype="float32", size=len(state_names), names=tuple(state_names)),
        ACTION: Feature(dtype="float32", size=len(action_names), names=tuple(action_names)),
    }
    if success:
        features[SUCCESS] = Feature(dtype="bool")
    features[TIMESTAMP] = Feature(dtype="float32")
    for name in ("frame_index", "episode_index", "index", "task_index"):
        features[name] = Feature(dtype="int64")
    return features


def data_schema(features: Mapping[str, Feature]) -> pa.Schema:
    """Return the Arrow schema of the data files.

    The `huggingface` metadata lets `datasets` restore the columns without guessing.
    """
    described: dict[str, object] = {}
    fields: list[pa.Field[Any]] = []
    for name, feature in features.items():
        kind: pa.DataType = _ARROW_TYPES[feature.dtype]
        value: dict[str, object] = {"dtype": feature.dtype, "_type": "Value"}
        if feature.size != 1:
            kind = pa.list_(kind, feature.size)
            value = {"feature": value, "length": feature.size, "_type": "List"}
        fields.append(pa.field(name, kind))
        described[name] = value
    return pa.schema(fields, {"huggingface": json.dumps({"info": {"features": described}})})


def episodes_schema(features: Mapping[str, Feature]) -> pa.Schema:
    """Return the Arrow schema of the episode files of a dataset without video."""
    fields: list[pa.Field[Any]] = [
        pa.field("episode_index", pa.int64()),
        pa.field("tasks", pa.list_(pa.string())),
        pa.field("length", pa.int64()),
        pa.field("data/chunk_index", pa.int64()),
        pa.field("data/file_index", pa.int64()),
        pa.field("dataset_from_index", pa.int64()),
        pa.field("dataset_to_index", pa.int64()),
    ]
    for name, feature in features.items():
        fields.extend(
            pa.field(f"stats/{name}/{statistic}", pa.list_(_statistic_type(feature, statistic)))
            for statistic in STATISTICS
        )
    fields.append(pa.field("meta/episodes/chunk_index", pa.int64()))
    fields.append(pa.field("meta/episodes/file_index", pa.int64()))
    return pa.schema(fields)


def tasks_table(tasks: Sequence[Task]) -> pa.Table:
    """Return the task table: `task_index`, our `name`, and the text as the pandas index `task`.

    Source: pandas developer guide, "Storing pandas DataFrame objects in Apache Parquet format".
    """
    columns = [
        _pandas_column("task_index", "int64", "int64"),
        _pandas_column("name", "unicode", "object"),
        _pandas_column("task", "unicode", "object"),
    ]
    pandas = {
        "index_columns": ["task"],
        "column_indexes": [
            {
                "name": None,
                "field_name": None,
                "pandas_type": "unicode",
                "numpy_type": "object",
                "metadata": {"encoding": "UTF-8"},
            }
        ],
        "columns": columns,
        "attributes": {},
        "creator": {"library": "etude", "version": "1"},
        "pandas_version": "2.2.0",
    }
    schema = pa.schema(
        [
            pa.field("task_index", pa.int64()),
            pa.field("name", pa.string()),
            pa.field("task", pa.string()),
        ],
        {"pandas": json.dumps(pandas)},
    )
    rows = [{"task_index": t.index, "name": t.name, "task": t.text} for t in tasks]
    return pa.Table.from_pylist(rows, schema=schema)


def _pandas_column(name: str, pandas_type: str, numpy_type: str) -> dict[str, object]:
    return {
        "name": name,
        "field_name": name,
        "pandas_type": pandas_type,
        "numpy_type": numpy_type,
        "metadata": None,
    }


def _statistic_type(feature: Feature, statistic: str) -> pa.DataType:
    if statistic == "count":
        return pa.int64()
    if statistic in ("min", "max") and feature.dtype != "float32":
        return _ARROW_TYPES[feature.dtype]
    return pa.float64()
