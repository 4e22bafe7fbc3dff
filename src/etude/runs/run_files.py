"""Beginning a run folder, and finding out whether one can be continued."""

import secrets
import tomllib
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any, cast

from etude import __version__
from etude.core.errors import StateError
from etude.core.protocols import Dataset, Ranks
from etude.core.ranks import together
from etude.core.task_table import tasks_to_json
from etude.datasets.split import Split
from etude.runs.environment import describe_environment
from etude.runs.provenance import to_toml
from etude.runs.run_config import RunConfig
from etude.store.atomic import read_json, write_json, write_text
from etude.store.layout import RunFolder

CHANGEABLE = (
    "output_dir",
    "steps",
    "dataset.root",
    "dataset.on_bad",
    "demos.processes",
    "demos.tries",
    "curriculum.windows",
    "init",
    "policy.path",
    "score",
    "parallel",
    "save.every",
    "save.keep_last",
    "eval.",
    "scan",
    "cache",
    "world",
    "train.threads",
)
"""Settings that a resumed run may change, by the beginning of their names. A section without a dot
may be new, too: runs of an earlier version do not have it."""
ADDED = ("curriculum", "lifecycle", "plan", "drift")
"""Sections that runs of an earlier version do not have, and that may not change later."""


def require_usable(folder: RunFolder, config: RunConfig, *, resume: bool) -> None:
    """Check that a run may begin in, or continue from, a folder; nothing is changed.

    Raises:
        StateError: It holds another run, or anything else; or it was begun with other settings.
    """
    if not resume or not folder.manifest.exists():
        folder.require_fresh()
        return
    saved = read_json(folder.manifest)
    differences = [
        f"{name} was {_shown(old)}, is {_shown(new)}"
        for name, old, new in _changes(saved["config"], _plain(config))
        if not name.startswith(CHANGEABLE) and not (old is None and name in ADDED)
    ]
    if differences:
        raise StateError(
            f"{folder.root} was begun with other settings: {'; '.join(differences)}",
            hint="Resume with the settings of its config.resolved.toml, or choose another "
            "--output_dir.",
        )


@contextmanager
def claimed(
    folder: RunFolder, config: RunConfig, ranks: Ranks, *, resume: bool
) -> Generator[None, None, None]:
    """Hold a folder for all ranks, once it is known that it can be used as asked.

    Raises:
        StateError: It cannot, or another process is using it; nothing has been touched.
    """
    with ExitStack() as held:

        def claim() -> None:
            if ranks.rank == 0:
                held.enter_context(folder.claim())
                require_usable(folder, config, resume=resume)

        together(ranks, claim)
        yield


def begin(folder: RunFolder, config: RunConfig, dataset: Dataset, *, command: list[str]) -> None:
    """Write what was asked, with what; run.json comes last and makes the folder a run."""
    if folder.manifest.exists():
        return
    write_text(folder.config, to_toml(config))
    write_json(folder.environment, describe_environment())
    write_json(
        folder.manifest,
        {
            "schema_version": 1,
            "run_id": f"{folder.root.name}-{secrets.token_hex(4)}",
            "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "version": __version__,
            "command": command,
            "tasks": tasks_to_json(dataset.spec.tasks),
            "config": _plain(config),
        },
    )


def describe_data(
    folder: RunFolder,
    dataset: Dataset,
    split: Split,
    *,
    recorded: Mapping[str, Any] | None,
    accept_change: bool = False,
) -> None:
    """Write what the run learns from.

    Args:
        folder: Of the run.
        dataset: What it learns from.
        split: Which episodes are held out.
        recorded: How the demonstrations were made, where that is known.
        accept_change: Go on although the run was begun with other data.

    Raises:
        StateError: The run was begun with other data; nothing is changed.
    """
    spans = dataset.episodes
    document = {
        "schema_version": 1,
        "repo_id": dataset.spec.repo_id,
        "fps": dataset.spec.fps,
        "episodes": len(spans),
        "frames": sum(span.length for span in spans),
        "held_out_episodes": len(split.held_out),
        "tasks": [
            {
                "id": task.id,
                "name": task.name,
                "episodes": sum(span.task == task.id for span in spans),
                "frames": sum(span.length for span in spans if span.task == task.id),
            }
            for task in dataset.spec.tasks
        ],
        "recorded": None if recorded is None else dict(recorded),
    }
    if accept_change or not folder.data.exists():
        write_json(folder.data, document)
        return
    before = read_json(folder.data)
    counts = ("repo_id", "episodes", "frames", "held_out_episodes")
    changed = [
        f"{name} was {before[name]}, is {document[name]}"
        for name in counts
        if before[name] != document[name]
    ]
    if changed:
        raise StateError(
            f"the data of {folder.root} have changed: {'; '.join(changed)}",
            hint="Resume with the data that the run began with, or add --accept-data-change.",
        )


def _plain(config: RunConfig) -> dict[str, Any]:
    return tomllib.loads(to_toml(config))


def _changes(
    old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = ""
) -> Sequence[tuple[str, Any, Any]]:
    found: list[tuple[str, Any, Any]] = []
    for name in dict.fromkeys([*old, *new]):
        before: Any = old.get(name)
        now: Any = new.get(name)
        if before == now:
            continue
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            inner = cast("Mapping[str, Any]", before), cast("Mapping[str, Any]", now)
            found += _changes(*inner, f"{prefix}{name}.")
            continue
        found.append((f"{prefix}{name}", old.get(name), new.get(name)))
    return found


def _shown(value: Any) -> str:
    return "unset" if value is None else f"{value}"
