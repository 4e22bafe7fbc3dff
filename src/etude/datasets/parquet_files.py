"""Reading Parquet files, with every refusal turned into the address of the fault."""

# pyright: reportUnknownMemberType=false

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from etude.core.errors import DataError

_ROWS_AT_ONCE = 1 << 15
_FAULTS_SHOWN = 20


def require_there(path: Path) -> None:
    """Refuse a path that is not there, naming the dangling link that is to blame if there is one.

    Raises:
        DataError: Nothing is at `path`.
    """
    if path.exists():
        return
    for place in (path, *path.parents):
        if place.is_symlink() and not place.exists():
            raise DataError(
                f"{place} is a link to {place.readlink()}, which is not there",
                hint="Copy what the link means to this machine, or set the link anew.",
            )
    raise DataError(
        f"{path} is not there",
        hint="Copy the dataset again, whole; nothing is ever downloaded in place of a local file.",
    )


def by_numbers(paths: Iterable[Path], folder: Path) -> list[Path]:
    """Return files of `folder`, each once, in the order of the numbers in their names."""

    def numbers(path: Path) -> list[int]:
        return [int(digits) for digits in re.findall(r"\d+", str(path.relative_to(folder)))]

    return sorted(set(paths), key=numbers)


def list_bounded(faults: Sequence[str]) -> list[str]:
    """Return the first faults, and how many more there are where a message would grow too long."""
    more = len(faults) - _FAULTS_SHOWN
    return [*faults[:_FAULTS_SHOWN], *([f"... and {more} more"] if more > 0 else [])]


def row_count(path: Path) -> int:
    """Return how many rows a Parquet file says that it holds.

    Raises:
        DataError: The file is missing or torn.
    """
    require_there(path)
    with parquet_errors(path):
        return pq.read_metadata(path).num_rows


def column_names(path: Path) -> list[str]:
    """Return the names of the columns of a Parquet file.

    Raises:
        DataError: The file is missing or torn.
    """
    require_there(path)
    with parquet_errors(path):
        return pq.read_schema(path).names


def read_columns(path: Path, columns: Sequence[str]) -> pa.Table:
    """Return these columns of a Parquet file, and touch no other.

    Raises:
        DataError: The file is missing or torn, or lacks one of the columns.
    """
    return pa.concat_tables(read_pieces(path, columns))


def read_pieces(path: Path, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield these columns of a Parquet file from top to bottom, in pieces that bound the memory.

    Raises:
        DataError: The file is missing or torn, or lacks one of the columns.
    """
    present = column_names(path)
    missing = [name for name in columns if name not in present]
    if missing:
        raise DataError(f"{path} has no column {_listed(missing)}; it has {_listed(present)}")
    with parquet_errors(path), pq.ParquetFile(path) as file:
        yield file.schema_arrow.empty_table().select(list(columns))
        for groups in _pieces(file.metadata):
            yield file.read_row_groups(groups, columns=list(columns))


@contextmanager
def parquet_errors(path: Path) -> Generator[None, None, None]:
    """Turn what pyarrow raises into the address of the fault."""
    try:
        yield
    except PermissionError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"{path} ({path.stat().st_size:,} bytes) is not a whole Parquet file: {reason}",
            hint="Copy the file again; if it never was whole, end the recording with finalize().",
        ) from error


def _pieces(metadata: pq.FileMetaData) -> Iterator[list[int]]:
    """Yield consecutive row groups of about `_ROWS_AT_ONCE` rows together."""
    groups: list[int] = []
    rows = 0
    for group in range(metadata.num_row_groups):
        groups.append(group)
        rows += metadata.row_group(group).num_rows
        if rows >= _ROWS_AT_ONCE:
            yield groups
            groups, rows = [], 0
    if groups:
        yield groups


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(name for name in names if not name.startswith("stats/")))
