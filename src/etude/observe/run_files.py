"""Reading a run folder for a report: whatever is missing or damaged is noted, never fatal."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from etude.core.errors import DataError
from etude.events.reader import read_events
from etude.events.summary import RunSummary, summarise
from etude.observe.evaluations import Evaluation, read_evaluation
from etude.store.atomic import read_json
from etude.store.layout import RunFolder

TASK_STATES = "task_state.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """What the files of a run folder say at this moment."""

    run: Mapping[str, Any]
    """run.json; empty where it is missing, like the next two."""
    environment: Mapping[str, Any]
    data: Mapping[str, Any]
    config: str
    """config.resolved.toml as text, or ""."""
    summary: RunSummary
    commands: tuple[str, ...]
    """The command of every attempt, in order, without repetition."""
    sink_failures: tuple[str, ...]
    first_event: float | None
    """Seconds since 1970."""
    last_event: float | None
    evaluations: tuple[Evaluation, ...]
    """Oldest first, by what their manifests say."""
    task_states: Mapping[str, Any]
    """What the newest checkpoint says of every task; empty where it has no such document."""
    damages: tuple[str, ...]
    """What could not be read, and where it is."""


def read_run(folder: RunFolder) -> RunFiles:
    """Read everything a report needs; a file that is not there yet leaves its part empty."""
    damages: list[str] = []
    records = list(_events(folder, damages))
    times = [float(record["t"]) for record in records if "t" in record]
    commands = [str(r.get("command", "")) for r in records if r["kind"] == "attempt_started"]
    failures = [
        f"{r.get('sink')}: {r.get('reason')}" for r in records if r["kind"] == "sink_failed"
    ]
    summary = summarise(records)
    return RunFiles(
        run=_json(folder.manifest, damages),
        environment=_json(folder.environment, damages),
        data=_json(folder.data, damages),
        config=_text(folder.config, damages),
        summary=summary,
        commands=tuple(dict.fromkeys(command for command in commands if command)),
        sink_failures=tuple(failures),
        first_event=min(times, default=None),
        last_event=max(times, default=None),
        evaluations=_evaluations(folder, damages),
        task_states=_task_states(folder, summary, damages),
        damages=tuple(damages),
    )


def _task_states(folder: RunFolder, summary: RunSummary, damages: list[str]) -> Mapping[str, Any]:
    if not summary.checkpoints:
        return {}
    newest = folder.root / str(summary.checkpoints[-1].get("folder", ""))
    return _json(newest / TASK_STATES, damages)


def _events(folder: RunFolder, damages: list[str]) -> Iterator[dict[str, Any]]:
    try:
        for record in read_events(folder.events):
            if "kind" in record:
                yield record
    except DataError as error:
        damages.append(str(error))


def _json(path: Path, damages: list[str]) -> Mapping[str, Any]:
    if not path.exists():
        return {}
    try:
        return read_json(path)
    except DataError as error:
        damages.append(str(error))
        return {}


def _text(path: Path, damages: list[str]) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        damages.append(f"{path} cannot be read: {error}")
        return ""


def _evaluations(folder: RunFolder, damages: list[str]) -> tuple[Evaluation, ...]:
    found: list[Evaluation] = []
    for path in folder.evaluations():
        try:
            found.append(read_evaluation(path))
        except DataError as error:
            damages.append(str(error))
    return tuple(sorted(found, key=lambda evaluation: evaluation.created_at))
