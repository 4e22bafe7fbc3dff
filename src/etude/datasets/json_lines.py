"""Reading the JSON Lines files of older formats; a fault names its line."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from etude.core.errors import DataError
from etude.datasets.parquet_files import require_there


def read_json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield each object with its line number, counted from 1; empty lines hold none.

    Raises:
        DataError: The file is missing, or a line is no whole JSON object.
    """
    require_there(path)
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(_lines(path, file), 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except json.JSONDecodeError as error:
                raise DataError(
                    f"{path}, line {number} is no whole JSON object: {error.msg}",
                    hint="Copy the file again, or repair the line.",
                ) from error
            if not isinstance(value, Mapping):
                raise DataError(f"{path}, line {number} is {value!r}, not a JSON object")
            yield number, cast("Mapping[str, Any]", value)


def _lines(path: Path, file: Iterator[str]) -> Iterator[str]:
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from error
