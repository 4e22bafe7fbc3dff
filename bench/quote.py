"""Put the figures of bench/results into the documents that quote them, between their markers.

`python bench/quote.py` writes them; a test says whether they are still what was measured.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
END = "<!-- /figures -->"

WORDS: Mapping[str, Mapping[str, str]] = {
    "README.md": {
        "demo": "Measured on {cores} cores ({cpu}), {seeds} seeds: {low} to {high} after "
        "installation, mean success {mean} over 50 tasks ({by_seed}; {episodes:,} episodes).",
        "head": "| | Policy, {seeds} seeds | Scripted experts, same episodes |",
        "mean": "Mean success over 50 tasks",
        "macro": "Mean of the four difficulty groups",
        "worst": "Five lowest tasks of each seed, mean",
        "episodes": "Episodes",
        "time": "From nothing to the report",
        "memory": "Peak memory, all processes",
        "interval": "95 % interval",
        "over_seeds": "95 % over seeds",
        "duration": "{minutes} min {seconds:02d} s",
        "machine": "{cores} cores ({cpu}), PyTorch {torch}. Each seed: {by_seed}. "
        "Lowest over the seeds: {lowest}.",
        "join": ", ",
    },
    "README.zh-CN.md": {
        "demo": "实测（{cores} 核，{cpu}，{seeds} 个种子）：安装之后用时 {low} 到 {high}，"
        "50 个任务的平均成功率 {mean}（各种子 {by_seed}；共 {episodes:,} 回合）。",
        "head": "| | 策略，{seeds} 个种子 | 脚本专家，同样的回合 |",
        "mean": "50 个任务的平均成功率",
        "macro": "四个难度组的平均",
        "worst": "每个种子最低五个任务的平均",
        "episodes": "回合数",
        "time": "从零到报告",
        "memory": "峰值内存（所有进程）",
        "interval": "95 % 区间",
        "over_seeds": "种子间 95 %",
        "duration": "{minutes} 分 {seconds:02d} 秒",
        "machine": "{cores} 核（{cpu}），PyTorch {torch}。各种子：{by_seed}。"
        "各种子合计最低的任务：{lowest}。",
        "join": "、",
    },
}


DECISION = "docs/decisions/0006-policy-chosen-by-measurement.md"
PROXY_DECISION = "docs/decisions/0008-which-score-follows-success.md"
ROOM_DECISION = "docs/decisions/0010-practise-what-fails.md"
QUOTING: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(WORDS, ("demo", "mt50")),
    DECISION: ("policy",),
    PROXY_DECISION: ("proxy",),
    ROOM_DECISION: ("room",),
}
"""Documents, and the markers that stand in them."""
RESULTS = ROOT / "bench" / "results"


def quoted(name: str, document: str, results: Path = RESULTS) -> str:
    """Return the text that stands between the markers `name` of a document."""
    if name == "policy":
        return variants(json.loads((results / "policy.json").read_text(encoding="utf-8")))
    if name == "proxy":
        return scores(json.loads((results / "proxy.json").read_text(encoding="utf-8")))
    if name == "room":
        return room(json.loads((results / "adaptive_room.json").read_text(encoding="utf-8")))
    words = WORDS[document]
    file = {"demo": "mt50_quick.json", "mt50": "mt50.json"}[name]
    found = json.loads((results / file).read_text(encoding="utf-8"))
    values = {
        **found["machine"],
        "seeds": found["seeds"],
        "episodes": found["episodes"],
        "mean": percent(found["success_mean"]),
        "by_seed": words["join"].join(percent(rate) for rate in found["success_by_seed"]),
        "low": duration(min(found["seconds"]), words),
        "high": duration(max(found["seconds"]), words),
        "lowest": words["join"].join(
            f"{task} {percent(rate)}" for task, rate in found["lowest_over_seeds"].items()
        ),
    }
    if name == "demo":
        return words["demo"].format(**values)
    return "\n".join([*table(words, values, found), "", words["machine"].format(**values)])


def table(
    words: Mapping[str, str], values: Mapping[str, Any], found: Mapping[str, Any]
) -> list[str]:
    """Return the lines of the table of one result."""
    half = found["success_half_width_95"]
    low, high = found["experts_interval"]
    interval = words["interval"]
    policy = f"**{values['mean']}** (± {100 * half:.1f}, {words['over_seeds']})"
    experts = f"{percent(found['experts_mean'])} ({interval} {percent(low)} – {percent(high)})"
    rows = [
        (words["mean"], policy, experts),
        (words["macro"], percent(found["macro4"]), percent(found["experts_macro4"])),
        (words["worst"], percent(found["worst5_mean"]), percent(found["experts_worst5"])),
        (words["episodes"], f"{found['episodes']:,}", f"{found['experts_episodes']:,}"),
        (words["time"], f"{values['low']} – {values['high']}", ""),
        (words["memory"], f"{found['peak_memory_gb']:.2f} GiB", ""),
    ]
    lines = [words["head"].format(**values), "| --- | --- | --- |"]
    return lines + [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows]


def variants(found: Mapping[str, Any]) -> str:
    """Return the table of bench/policy.py."""
    head = f"| {found['steps']:,} steps | Success | 95 % interval | Episodes | Held-out error |"
    lines = [head, "| --- | --- | --- | --- | --- |"]
    for name, variant in found["variants"].items():
        low, high = variant["success_interval"]
        lines.append(
            f"| {name} | {percent(variant['success_mean'])} | {percent(low)} – {percent(high)} "
            f"| {variant['episodes']:,} | {variant['held_out_error_proxy']:.4f} |"
        )
    return "\n".join(lines)


def room(found: Mapping[str, Any]) -> str:
    """Return what practice was worth, by success before it."""
    by_steps = found["by_steps"]
    groups = list(dict.fromkeys(name for row in by_steps.values() for name in row))
    lines = [
        f"| Success before | {' | '.join(f'{steps} steps' for steps in by_steps)} |",
        f"| --- |{' --- |' * len(by_steps)}",
    ]
    for name in groups:
        cells = [
            f"{row[name]['gain']:+.2f} ({row[name]['tasks']})" if name in row else "–"
            for row in by_steps.values()
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def scores(found: Mapping[str, Any]) -> str:
    """Return the table of bench/proxy.py, the closest across tasks first."""
    scope = (
        f"{found['policies']} policies, {found['tasks']} tasks, {found['episodes_a_task']} "
        "episodes of each task. Two halves of the episodes agree across tasks by "
        f"{found['reliability_across_tasks']:.2f}, which bounds the second column."
    )
    lines = [
        scope,
        "",
        "| Score | Across policies | Across tasks | For one task | Across tasks, halves |",
        "| --- | --- | --- | --- | --- |",
    ]
    ordered = sorted(found["scores"].items(), key=lambda item: item[1]["across_tasks"][0])
    for name, score in ordered:
        cells = [
            f"{value:.2f} [{low:.2f}, {high:.2f}]"
            for value, low, high in (
                score[column] for column in ("across_policies", "across_tasks", "for_one_task")
            )
        ]
        halves = [f"{half['across_tasks']:.2f}" for half in score["halves"].values()]
        lines.append(f"| {' | '.join([name, *cells, ', '.join(halves)])} |")
    one, other = found["threshold"].values()
    fitted = (
        f"`tau`: {one['tau']} fits one half (balanced accuracy {one['balanced_accuracy']:.2f}), "
        f"{other['tau']} the other ({other['balanced_accuracy']:.2f})."
    )
    return "\n".join([*lines, "", fitted])


def percent(rate: float) -> str:
    """Return a rate as people read it."""
    return f"{100 * rate:.1f} %"


def duration(seconds: float, words: Mapping[str, str]) -> str:
    """Return a time in words."""
    return words["duration"].format(minutes=int(seconds) // 60, seconds=int(seconds) % 60)


def fill(text: str, document: str) -> str:
    """Return a document's text with everything between its markers replaced."""
    for name in QUOTING[document]:
        start = f"<!-- figures:{name} -->"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(END)
        text = f"{before}{start}\n{quoted(name, document)}\n{END}{after}"
    return text


def main() -> None:
    """Rewrite the documents."""
    for document in QUOTING:
        path = ROOT / document
        path.write_text(fill(path.read_text(encoding="utf-8"), document), encoding="utf-8")
        print(f"{document} says what was measured")


if __name__ == "__main__":
    main()
