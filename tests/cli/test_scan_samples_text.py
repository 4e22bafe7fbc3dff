from typing import Any

import pytest
from rich.cells import cell_len

from etude.cli.main import main
from etude.cli.scan_samples_text import LISTED, samples_text


def stratum(
    name: str, difficulty: float, *, weight: float = 1.0, windows: int = 4
) -> dict[str, Any]:
    return {
        "stratum": name,
        "windows": windows,
        "of": 100,
        "difficulty": difficulty,
        "weight": weight,
    }


def suspect(frame: int, *, visits: int = 3, gmse: float = 2.0) -> dict[str, Any]:
    return {"episode": 12, "frame": frame, "stratum": "slow", "visits": visits, "gmse": gmse}


def task(name: str, difficulty: float, **fields: Any) -> dict[str, Any]:
    return {
        "task": f"toy/{name}",
        "name": name,
        "windows": 64,
        "of": 12345,
        "estimated": False,
        "difficulty": difficulty,
        "irreducible": 0.01,
        "strata": [stratum("gripper", 0.5, weight=1.21), stratum("transit", 0.125)],
        "suspects": [],
        "moments": [],
        **fields,
    }


def result(*tasks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    counts = {"inferences": 1000, "recalled": 5}
    return {"tasks": list(tasks), **counts, "complete": True, "record": "", **fields}


def test_the_table_has_the_most_difficult_task_last():
    text = samples_text(result(task("push", 0.5), task("reach", 0.25)), "en")

    head, reach, push = text.splitlines()[:3]
    assert head.split() == ["task", "hardest", "weight", "difficulty", "windows", "suspects"]
    assert " ".join(reach.split()) == "reach gripper 1.21 0.250 64 of 12,345 0"
    assert push.startswith("push   gripper")


def test_the_hardest_stratum_is_one_that_was_looked_at():
    strata = [
        stratum("idle", 9.0, weight=3.0, windows=0),
        stratum("slow", 0.5, weight=1.25),
        stratum("gripper", 0.75, weight=0.75),
    ]

    assert "slow" in samples_text(result(task("push", 0.5, strata=strata)), "en").splitlines()[1]


@pytest.mark.parametrize(
    ("language", "proxy", "estimate", "partial"),
    [
        ("en", "It is a proxy", "are estimated", "Not complete"),
        ("zh", "替代指标", "估计", "未完成"),
    ],
)
def test_a_proxy_an_estimate_and_a_part_are_called_so(
    language: str, proxy: str, estimate: str, partial: str
):
    whole = samples_text(result(task("push", 0.5)), language)
    part = samples_text(result(task("push", 0.5, estimated=True), complete=False), language)

    assert proxy in whole
    assert estimate not in whole
    assert partial not in whole
    assert estimate in part
    assert partial in part
    assert "1,000" in whole


def moment(frame: int, difficulty: float) -> dict[str, Any]:
    return {"episode": 3, "frame": frame, "stratum": "gripper", "difficulty": difficulty}


@pytest.mark.parametrize(("language", "head"), [("en", "Hardest moments"), ("zh", "最难的时刻")])
def test_the_hardest_moments_of_all_tasks_are_listed_the_hardest_first(language: str, head: str):
    tasks = [
        task("push", 0.5, moments=[moment(40, 0.75), moment(90, 0.5)]),
        task("reach", 0.25, moments=[moment(frame, 0.625) for frame in range(0, 100, 10)]),
    ]

    lines = samples_text(result(*tasks), language).splitlines()

    [begin] = [place for place, line in enumerate(lines) if line.startswith(head)]
    assert lines[begin + 2].split() == ["push", "gripper", "3", "40", "0.750"]
    assert lines[begin + 3].split() == ["reach", "gripper", "3", "0", "0.625"]
    assert lines[begin + 12] == ""


def test_suspects_are_listed_with_the_most_often_wrong_first():
    suspects = [suspect(7), suspect(8, visits=5, gmse=1.5)]

    lines = samples_text(result(task("push", 0.5, suspects=suspects)), "en").splitlines()

    begin = lines.index("Suspect windows, whose error stays large while their task improves:")
    assert [line.split() for line in lines[begin + 1 : begin + 4]] == [
        ["task", "stratum", "episode", "frame", "GMSE", "visits"],
        ["push", "slow", "12", "8", "1.500", "5"],
        ["push", "slow", "12", "7", "2.000", "3"],
    ]


@pytest.mark.parametrize(
    ("language", "more"),
    [("en", "and 3 more; --json lists all"), ("zh", "另有 3 个，--json 列出全部")],
)
def test_many_suspects_are_counted(language: str, more: str):
    suspects = [suspect(frame) for frame in range(LISTED + 3)]

    lines = samples_text(result(task("push", 0.5, suspects=suspects)), language).splitlines()

    assert sum(line.startswith("push") for line in lines) == 1 + LISTED
    assert more in lines


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_longest_lines_fit_80_columns(language: str):
    long = task(
        "把红色的杯子放到托盘上然后把抽屉关好",
        12.5,
        strata=[stratum("waypoint", 123.4, weight=7.99)],
        suspects=[{**suspect(12345, gmse=123.4), "episode": 98765, "stratum": "waypoint"}],
        moments=[{**moment(12345, 123.4), "episode": 98765, "stratum": "waypoint"}],
        estimated=True,
    )
    names = ["plate-slide-back-side-v3", "put-the-red-cup-onto-the-tray-and-close-the-drawer"]

    text = samples_text(
        result(long, *(task(name, 0.5) for name in names), complete=False), language
    )

    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert "plate-slide-back-side-v3" in text
    assert "put-the-red-cup-onto-th…" in text


def test_a_scan_of_nothing_has_a_table_of_nothing():
    assert samples_text(result(), "en").startswith("task  hardest")


def test_the_record_is_named():
    assert "runs/x.jsonl.zst" in samples_text(result(record="runs/x.jsonl.zst"), "en")


@pytest.mark.parametrize(("language", "said"), [("en", "each moment"), ("zh", "各个时刻")])
def test_help_says_what_a_sample_scan_does(
    language: str, said: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["scan", "samples", "--help", "--lang", language]) == 0

    assert said in capsys.readouterr().out
