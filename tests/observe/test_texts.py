"""Words and figures in two languages."""

import re
import string
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import etude.observe
from etude.core.statistics import wilson
from etude.observe.texts import Text, counts, duration, interval, moment, percent, text

OBSERVE = Path(etude.observe.__file__).parent
CATALOGUE = tomllib.loads((OBSERVE / "texts.toml").read_text(encoding="utf-8"))


def places(words: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(words) if name}


@pytest.mark.parametrize("key", CATALOGUE)
def test_every_entry_speaks_both_languages_and_names_the_same_values(key: str) -> None:
    entry = CATALOGUE[key]
    assert set(entry) <= {"en", "zh", "one"}
    assert entry["en"].strip()
    assert entry["zh"].strip()
    assert places(entry["en"]) == places(entry["zh"])
    assert places(entry.get("one", "")) <= places(entry["en"])


def test_no_entry_is_left_unused() -> None:
    sources = [*OBSERVE.glob("*.py"), *OBSERVE.glob("templates/*.jinja")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    built = ("fact_", "phase_", "group_", "figure_", "status_")
    unused = [key for key in CATALOGUE if not re.search(rf'"{key}"', code)]
    assert [key for key in unused if not key.startswith(built)] == []


def test_a_single_thing_is_said_in_the_singular() -> None:
    assert text("n_tasks", n=1).en == "1 task"
    assert text("n_tasks", n=2).en == "2 tasks"
    assert text("n_tasks", n=1).zh == "1 个任务"


def test_whole_numbers_get_separators() -> None:
    assert text("n_held_out", n=1000).en == "1,000 held-out episodes"


def test_a_text_inside_a_text_keeps_its_language() -> None:
    said = text("fact_speed_value", steps=92312, time=duration(388.1))
    assert said.en == "92,312 environment steps in 6 min 28 s"
    assert said.zh == "92,312 个环境步，用时 6 分 28 秒"


def test_an_unknown_entry_is_an_error() -> None:
    with pytest.raises(KeyError):
        text("no such entry")


@pytest.mark.parametrize(
    "rate, english, chinese",
    [
        (0.972, "97.2\u00a0%", "97.2%"),
        (1.0, "100.0\u00a0%", "100.0%"),
        (0.0, "0.0\u00a0%", "0.0%"),
        (2499 / 2500, "99.96\u00a0%", "99.96%"),
        (1 / 2500, "0.04\u00a0%", "0.04%"),
        (None, "no rate", "无成功率"),
    ],
)
def test_percent_never_rounds_into_certainty(
    rate: float | None, english: str, chinese: str
) -> None:
    assert percent(rate) == Text(en=english, zh=chinese)


def test_a_rate_is_shown_with_its_counts_and_interval() -> None:
    assert counts(wilson(972, 1000)) == "972/1,000"
    assert interval(wilson(9, 10)).en == "59.6 to 98.2\u00a0%"
    assert interval(wilson(9, 10)).zh == "59.6–98.2%"
    assert interval(wilson(0, 0)).en == "none: nothing was tried"


@pytest.mark.parametrize(
    "seconds, english",
    [
        (0.04, "0.0 s"),
        (59.9, "59.9 s"),
        (61.0, "1 min 1 s"),
        (3600.0, "1 h 0 min"),
        (4350.0, "1 h 12 min"),
    ],
)
def test_durations_use_two_units(seconds: float, english: str) -> None:
    assert duration(seconds).en == english


@given(st.floats(min_value=60, max_value=1e7))
def test_minutes_and_seconds_never_reach_sixty(seconds: float) -> None:
    numbers = [int(number) for number in re.findall(r"\d+", duration(seconds).en)]
    assert numbers[-1] < 60


def test_moments_name_their_zone() -> None:
    assert moment("2026-11-30T16:03:24+08:00").en == "2026-11-30 16:03 UTC+08:00"
    assert moment(0.0).en == "1970-01-01 00:00 UTC"
    assert moment("last Tuesday").en == "last Tuesday"
    assert moment(None).zh == "未知"


def test_html_holds_both_languages_and_escapes_both() -> None:
    page = Text(en="<b>", zh="&").__html__()
    assert page == (
        '<span class="en" lang="en">&lt;b&gt;</span><span class="zh" lang="zh-CN">&amp;</span>'
    )
