"""Writing the report of a run: one HTML file that needs nothing but itself."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, PackageLoader, StrictUndefined

from etude.observe import facts, tables
from etude.observe.charts import curve
from etude.observe.evaluations import mean_over
from etude.observe.figures import LOWEST, key_figures, verdict
from etude.observe.run_files import RunFiles, read_run
from etude.observe.steering import steering
from etude.observe.texts import counts, interval, moment, percent, text
from etude.store.atomic import write_text
from etude.store.layout import RunFolder


def write_report(folder: RunFolder) -> Path:
    """Write `report.html` from the files of a run folder and return its path.

    Equal files give equal bytes. What is not there yet is said to be so.

    Raises:
        StorageError: The file cannot be written.
    """
    page = render(read_run(folder), folder=folder.root)
    write_text(folder.report, page)
    return folder.report


def render(files: RunFiles, *, folder: Path) -> str:
    """Return the page that tells what `files` say."""
    page = _environment().get_template("report.html.jinja")
    return page.render(**_run(files, folder), **_results(files))


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("etude.observe", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    cast("dict[str, Any]", environment.globals).update(say=text, moment=moment)
    cast("dict[str, Any]", environment.filters).update(
        percent=percent, interval=interval, counts=counts
    )
    return environment


def _results(files: RunFiles) -> dict[str, Any]:
    said = verdict(files)
    shown, expert = said.shown, said.expert
    rows = tables.task_rows(files, shown, expert) if shown else []
    return {
        "verdict": said,
        "figures": key_figures(files, said),
        "whole": mean_over(shown.tasks) if shown else None,
        "tasks": rows,
        "lowest": rows[:LOWEST],
        "groups": tables.group_rows(shown, expert) if shown else [],
        "loss": curve(tables.loss_points(files)),
        "held_out": curve(tables.held_out_points(files)),
        "evaluations": tables.evaluation_rows(files),
        "steering": steering(files),
        "protocol": facts.protocol(shown) if shown else [],
    }


def _run(files: RunFiles, folder: Path) -> dict[str, Any]:
    first, last = files.first_event, files.last_event
    return {
        "run_id": str(files.run.get("run_id") or folder.name),
        "created_at": files.run.get("created_at"),
        "version": files.run.get("version"),
        "training": facts.training(files),
        "data": facts.demonstrations(files.data),
        "recorded_tasks": tables.recorded_rows(files.data),
        "machine": facts.machine(files),
        "packages": _packages(files.environment),
        "config": files.config,
        "phases": tables.phase_rows(files.summary.phases),
        "span": None if first is None or last is None else (moment(first), moment(last)),
        "warnings": tables.warning_rows(files),
        "asked": _asked(files),
        "folder": shlex.quote(str(folder)),
        "config_path": shlex.quote(str(folder / "config.resolved.toml")),
        "fresh_folder": shlex.quote(f"{folder}-again"),
    }


def _packages(environment: Mapping[str, Any]) -> list[str]:
    packages: Mapping[str, Any] = environment.get("packages") or {}
    return [f"{name}=={version}" for name, version in packages.items()]


def _asked(files: RunFiles) -> list[str]:
    """Return the commands that made the run, as they can be pasted into a shell."""
    command: list[Any] = files.run.get("command") or []
    first = shlex.join(str(word) for word in command)
    return [line for line in dict.fromkeys([first, *files.commands]) if line]
