"""Reading the journals of a run, live or finished, without touching them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from etude.store.journal import read_journal

_NAME = re.compile(r"rank-(\d+)\.(\d+)\.jsonl", re.ASCII)


def read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield every whole record under `folder`, attempt by attempt, in the order written.

    A folder that is missing, empty, or holds only a torn first line has no records yet.

    Raises:
        DataError: A record that no crash can have torn is damaged.
    """
    for _, _, path in sorted(journals(folder)):
        yield from read_journal(path)


def journals(folder: Path) -> list[tuple[int, int, Path]]:
    """Return (attempt, rank, path) of every journal under `folder`; other files are left alone."""
    return [
        (int(match[2]), int(match[1]), path)
        for path in (folder.iterdir() if folder.is_dir() else ())
        if (match := _NAME.fullmatch(path.name))
    ]
