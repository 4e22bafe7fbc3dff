"""Versions of the task state document, and how an older one becomes a newer one."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from etude.core.errors import StateError

VERSION = 1
SCHEMA = f"task-state/{VERSION}"

Migration = Callable[[Mapping[str, Any]], dict[str, Any]]

MIGRATIONS: Mapping[int, Migration] = {}
"""By the version that each one starts from; it returns a document of the next version. Pure, and
never edited once released: a file of every old version stands in `tests/golden`."""

_SCHEMA = re.compile(r"task-state/([1-9]\d{0,5})")


def migrate(
    document: Mapping[str, Any],
    *,
    source: str,
    migrations: Mapping[int, Migration] = MIGRATIONS,
    version: int = VERSION,
) -> Mapping[str, Any]:
    """Return a document of the current version that says the same.

    Raises:
        StateError: It is no task state document, or one of a newer version.
    """
    schema = document.get("schema")
    match = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    if match is None:
        said = "has no schema" if schema is None else f"has schema {schema!r}"
        raise StateError(
            f"{source} {said}, not 'task-state/{version}'",
            hint="Name a task state document; write one with `etude tasks export RUN FILE`.",
        )
    found = int(match[1])
    if found > version:
        raise StateError(
            f"{source} has schema 'task-state/{found}', newer than 'task-state/{version}', which "
            "is the newest that this version of Etude knows",
            hint="Update Etude: pip install --upgrade etude",
        )
    for step in range(found, version):
        document = {**migrations[step](document), "schema": f"task-state/{step + 1}"}
    return document
