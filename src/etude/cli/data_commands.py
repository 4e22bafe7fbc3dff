"""`etude data`: what is wrong with a dataset, and the statistics of what it holds."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from etude.cli.arguments import parse
from etude.cli.call import Call
from etude.cli.data_text import findings_text, stats_text
from etude.cli.output import json_text, plain
from etude.core.errors import DataError, ExitCode

if TYPE_CHECKING:
    from etude.datasets.inspection import Inspection


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions:
    """What all of `etude data` takes."""

    path: tyro.conf.Positional[Path]
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions(DataOptions):
    """What stands behind `etude data check`."""

    fail_on: Literal["error", "warning"] = "error"
    video_tolerance_frames: Literal[0, 1] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsOptions(DataOptions):
    """What stands behind `etude data stats`."""

    on_bad: Literal["stop", "skip"] = "stop"


def check(call: Call) -> int:
    """List everything that is wrong with a dataset."""
    arguments, _ = parse(CheckOptions, call.words, command=call.command)
    name = _name(arguments.path)
    from etude.datasets.inspection import inspect_dataset
    from etude.datasets.lerobot_config import LeRobotConfig

    found = inspect_dataset(
        LeRobotConfig(
            repo_id=name,
            root=str(arguments.path),
            video_tolerance_frames=arguments.video_tolerance_frames,
        )
    )
    result = {"path": str(arguments.path), **_findings(found)}
    print(json_text(result) if arguments.json else findings_text(result, call.language))
    counted = ["errors", "warnings"][: 1 + (arguments.fail_on == "warning")]
    return ExitCode.FINDINGS if any(result[kind] for kind in counted) else ExitCode.DONE


def stats(call: Call) -> int:
    """Print the statistics of states and actions, dimension by dimension."""
    arguments, _ = parse(StatsOptions, call.words, command=call.command)
    name = _name(arguments.path)
    from etude.datasets.column_stats import TOLERANCE, measure_columns
    from etude.datasets.formats import open_dataset
    from etude.datasets.lerobot_config import LeRobotConfig

    dataset = open_dataset(
        LeRobotConfig(repo_id=name, root=str(arguments.path), on_bad=arguments.on_bad)
    )
    names = (dataset.recording.state_names, dataset.recording.action_names)
    columns = {
        column: {"names": list(dims) or None, **measured.to_json()}
        for (column, measured), dims in zip(measure_columns(dataset).items(), names, strict=True)
    }
    result = plain(
        {
            "path": arguments.path,
            "format": dataset.recording.format,
            "episodes": len(dataset.episodes),
            "frames": sum(episode.length for episode in dataset.episodes),
            "skipped": [skipped.index for skipped in dataset.skipped],
            "quantile_tolerance": TOLERANCE,
            "columns": columns,
        }
    )
    print(json_text(result) if arguments.json else stats_text(result, call.language))
    return ExitCode.DONE


DATA_COMMANDS = {"data check": (check, CheckOptions), "data stats": (stats, StatsOptions)}


def _name(path: Path) -> str:
    """Return what a dataset is called by its folder.

    Raises:
        DataError: There is no folder, or it is a link to none.
    """
    if path.is_symlink():
        from etude.datasets.parquet_files import require_there

        require_there(path)
    if not path.is_dir():
        raise DataError(
            f"{path} is no folder",
            hint="Name the folder that holds meta/info.json, or the data of RoboTwin.",
        )
    return path.resolve().name or "dataset"


def _findings(found: "Inspection") -> dict[str, Any]:
    recording = found.recording
    return {
        "format": found.format,
        "episodes": len(recording.episodes) if recording else None,
        "frames": len(recording.frames) if recording else None,
        "errors": sum(fault.severity == "error" for fault in found.faults),
        "warnings": sum(fault.severity == "warning" for fault in found.faults),
        "findings": [
            {
                "id": fault.id,
                "severity": fault.severity,
                "address": fault.address,
                "message": fault.message,
                "fix": fault.fix,
            }
            for fault in found.faults
        ],
    }
