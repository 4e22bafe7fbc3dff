"""What `etude scan compare` prints for people."""

from collections.abc import Mapping
from typing import Any

from etude.cli.output import NO_RATE, figure, table
from etude.cli.texts import CATALOGUES

_ORDER = ("better", "unresolved", "worse")


def comparison_text(result: Mapping[str, Any], language: str) -> str:
    """Return the table of tasks, those that got worse last, and what to think of it."""
    text = CATALOGUES[language]
    heads = ("task", "verdict", "n", "before", "after", "ratio", "interval_short", "passed")
    order = sorted(result["tasks"], key=_place)
    rows = [[text[name] for name in heads], *(_row(task, text) for task in order)]
    return "\n\n".join([table(rows, words=2), _overall(result, text), _meaning(result, text)])


def _place(task: Mapping[str, Any]) -> tuple[int, float, str]:
    return _ORDER.index(task["verdict"]), task["ratio"] or 0.0, str(task["name"])


def _row(task: Mapping[str, Any], text: Mapping[str, str]) -> list[str]:
    if not task["pairs"]:
        return [str(task["name"]), text["verdict_unresolved"], "0", *[NO_RATE] * 5]
    return [
        str(task["name"]),
        text[f"verdict_{task['verdict']}"],
        f"{task['pairs']:,}",
        figure(task["before"]),
        figure(task["after"]),
        _ratio(task["ratio"]),
        _interval(task["interval"]),
        f"{task['passed_before']}→{task['passed_after']}",
    ]


def _overall(result: Mapping[str, Any], text: Mapping[str, str]) -> str:
    overall: Mapping[str, Any] = result["overall"]
    lines: list[str] = []
    if overall["ratio"] is not None:
        lines.append(
            text["compared"].format(
                n=overall["tasks"],
                ratio=_ratio(overall["ratio"]),
                interval=_interval(overall["interval"]),
            )
        )
    lines.append(text["verdicts"].format(**{name: overall[name] for name in _ORDER}))
    names = ("pairs", "only_a", "only_b")
    lines.append(text["paired"].format(**{name: overall[name] for name in names}))
    lines.append(
        text["passed_change"].format(
            before=overall["passed_before"], after=overall["passed_after"], n=overall["pairs"]
        )
    )
    return "\n".join(lines)


def _meaning(result: Mapping[str, Any], text: Mapping[str, str]) -> str:
    lines = [text["comparison_proxy"], text["corrected"]]
    for name in ("a", "b"):
        scan: Mapping[str, Any] = result[name]
        line = text[f"scan_{name}"].format(path=scan["record"], step=scan["step"])
        lines.append(line if scan["complete"] else f"{line} {text['in_part']}")
    return "\n".join(lines)


def _ratio(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:.3g}"


def _interval(interval: list[float] | None) -> str:
    return NO_RATE if interval is None else "-".join(_ratio(end) for end in interval)
