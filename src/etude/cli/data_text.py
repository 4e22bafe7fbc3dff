"""What `etude data` prints for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from etude.cli.output import NO_RATE, table
from etude.cli.texts import CATALOGUES

_SHOWN = ("min", "q01", "q50", "q99", "max", "mean", "std")


def findings_text(result: Mapping[str, Any], language: str) -> str:
    """Return every finding with its address and what to do about it, and their number.

    Args:
        result: What `etude data check --json` prints.
        language: "en" or "zh".
    """
    text = CATALOGUES[language]
    findings: Sequence[Mapping[str, str]] = result["findings"]
    blocks = [_head(result, text)]
    if findings:
        rows = [
            [text[f"severity_{each['severity']}"], each["id"], each["address"]] for each in findings
        ]
        lines = table(rows, words=3).splitlines()
        for line, finding in zip(lines, findings, strict=True):
            fix = text["fix"].format(fix=finding["fix"])
            blocks.append(f"{line}\n  {finding['message']}\n  {fix}")
    else:
        blocks.append(text["sound"])
    if findings:
        blocks.append(text["faults"].format(errors=result["errors"], warnings=result["warnings"]))
    return "\n\n".join(blocks)


def stats_text(result: Mapping[str, Any], language: str) -> str:
    """Return a table of each column, a row for each of its dimensions.

    Args:
        result: What `etude data stats --json` prints.
        language: "en" or "zh".
    """
    text = CATALOGUES[language]
    blocks = [_head(result, text)]
    if result["skipped"]:
        blocks.append(text["left_out"].format(n=len(result["skipped"])))
    for column, measured in result["columns"].items():
        names = measured["names"] or [str(dim) for dim in range(len(measured["mean"]))]
        rows = [[column, text["frames"], *_SHOWN]]
        for dim, name in enumerate(names):
            values = [_number(measured[kind][dim]) for kind in _SHOWN]
            rows.append([name, f"{measured['count'][dim]:,}", *values])
        blocks.append(table(rows, words=1))
    blocks.append(text["quantiles"].format(share=result["quantile_tolerance"]))
    return "\n\n".join(blocks)


def _head(result: Mapping[str, Any], text: Mapping[str, str]) -> str:
    if result["episodes"] is None:
        return text["data_unread"].format(path=result["path"])
    return text["data_head"].format(
        path=result["path"],
        format=result["format"],
        episodes=result["episodes"],
        frames=result["frames"],
    )


def _number(value: float | None) -> str:
    return NO_RATE if value is None else f"{value:.4g}"
