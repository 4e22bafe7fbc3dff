"""What ran, fact by fact: the evaluation's rules, training, data, machine."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from etude.observe.evaluations import Evaluation
from etude.observe.run_files import RunFiles
from etude.observe.texts import Text, duration, moment, text

LISTED = 12
"""A longer list or table is counted instead of shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A labelled value."""

    label: Text | str
    value: Text | str


def protocol(evaluation: Evaluation) -> list[Fact]:
    """Return what one must know to judge or repeat an evaluation."""
    each, errors, reseeded = evaluation.n_episodes, evaluation.errors, evaluation.reseeded
    tasks = text("n_tasks", n=len(evaluation.task_ids))
    first, last = str(evaluation.first_seed), str(evaluation.first_seed + each - 1)
    facts = [
        _fact("id", evaluation.id),
        _fact("when", moment(evaluation.created_at)),
        _fact("policy", evaluation.use),
        _fact("checkpoint", evaluation.checkpoint),
        _fact("step", _number(evaluation.step)),
        _fact("simulator", evaluation.simulator),
        _fact("episodes", text("fact_episodes_value", each=each, tasks=tasks)),
        _fact("seeds", text("fact_seeds_value", first=first, last=last)),
        _fact("max_steps", text("n_steps", n=evaluation.max_steps)),
        _fact("rule", text("rule_to_the_end" if evaluation.to_the_end else "rule_first")),
        _fact("errors", text("fact_errors_value" if errors else "fact_errors_none", n=errors)),
        _fact("reseeded", text("fact_reseeded_value", n=reseeded) if reseeded else "0"),
        _fact("speed", _speed(evaluation)),
        _fact("versions", ", ".join(f"{k} {v}" for k, v in evaluation.versions.items())),
    ]
    return _known(facts)


def training(files: RunFiles) -> list[Fact]:
    """Return how the training went, from the events and the configuration."""
    summary, settings = files.summary, _settings(files.config)
    skipped, checkpoints = summary.skipped_steps, summary.checkpoints
    facts = [
        _fact("step", f"{summary.step:,}" if summary.step else ""),
        _fact("seed", _number(settings.get("seed"))),
        _fact("batch", _number(settings.get("batch_size"))),
        _fact("attempts", f"{summary.attempts}" if summary.attempts else ""),
        _fact("skipped", text("fact_skipped_value", n=skipped) if skipped else ""),
        _fact(
            "checkpoints", _checkpoints(checkpoints[-1], len(checkpoints)) if checkpoints else ""
        ),
    ]
    return _known(facts)


def demonstrations(data: Mapping[str, Any]) -> list[Fact]:
    """Return what the policy learned from."""
    if not data:
        return []
    value = text(
        "fact_demos_value",
        episodes=data.get("episodes", text("unknown")),
        frames=data.get("frames", text("unknown")),
        fps=data.get("fps", text("unknown")),
    )
    held_out = data.get("held_out_episodes")
    facts = [
        _fact("dataset", data.get("repo_id")),
        _fact("demos", value),
        _fact("held_out", "" if held_out is None else text("fact_held_out_value", n=held_out)),
        _fact("recorded", _told(data.get("recorded"))),
    ]
    return _known(facts)


def machine(files: RunFiles) -> list[Fact]:
    """Return where it ran, with which versions."""
    environment = files.environment
    cpu = ""
    if "cpu" in environment:
        cpu = text(
            "fact_cpu_value",
            cpu=environment["cpu"],
            cores=environment.get("cores", text("unknown")),
            memory=environment.get("memory_gb", text("unknown")),
        )
    facts = [
        Fact(label="Etude", value=str(files.run.get("version") or "")),
        _fact("commit", environment.get("commit")),
        Fact(label="Python", value=str(environment.get("python") or "")),
        _fact("platform", environment.get("platform")),
        _fact("cpu", cpu),
    ]
    return _known(facts)


def _fact(key: str, value: object) -> Fact:
    shown = value if isinstance(value, Text) else ("" if value is None else str(value))
    return Fact(label=text(f"fact_{key}"), value=shown)


def _known(facts: list[Fact]) -> list[Fact]:
    return [fact for fact in facts if fact.value != ""]


def _number(value: object) -> str:
    return "" if value is None else (f"{value:,}" if isinstance(value, int) else str(value))


def _speed(evaluation: Evaluation) -> Text | str:
    if not evaluation.finished:
        return ""
    time = duration(evaluation.seconds)
    return text("fact_speed_value", steps=evaluation.steps, time=time)


def _checkpoints(last: Mapping[str, Any], number: int) -> Text:
    step, folder = int(last["step"]), str(last["folder"])
    return text("fact_checkpoints_value", n=number, step=step, folder=folder)


def _told(recorded: Any) -> str:
    """Return the recording's own account on one line; long lists are only counted."""
    if not isinstance(recorded, Mapping):
        return ""
    return ", ".join(
        f"{key} {_brief(value)}"
        for key, value in _flat(cast("Mapping[str, Any]", recorded)).items()
    )


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        table = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None
        if table is None or len(table) > LISTED:
            flat[key] = value
        else:
            flat |= {f"{key}.{name}": item for name, item in _flat(table).items()}
    return flat


def _brief(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | Mapping) and len(cast("list[Any]", value)) > LISTED:
        return f"[{len(cast('list[Any]', value))}]"
    return json.dumps(value, ensure_ascii=False)


def _settings(config: str) -> Mapping[str, Any]:
    """Return the configuration's values; none where it is no TOML, which the reader can see."""
    try:
        return tomllib.loads(config)
    except tomllib.TOMLDecodeError:
        return {}
