"""The figures in documents are those that the scripts under bench/ printed."""

import json
from pathlib import Path

import pytest

from quote import QUOTING, WORDS, duration, fill, quoted

ROOT = Path(__file__).parents[1]

FOUND = {
    "seeds": 3,
    "episodes": 3000,
    "success_mean": 0.9871,
    "success_half_width_95": 0.0123,
    "success_by_seed": [0.981, 0.987, 0.9933],
    "macro4": 0.97,
    "worst5_mean": 0.9,
    "lowest_over_seeds": {"soccer-v3": 0.7, "push-back-v3": 0.85},
    "experts_mean": 0.983,
    "experts_interval": [0.976, 0.989],
    "experts_episodes": 1000,
    "experts_macro4": 0.975,
    "experts_worst5": 0.88,
    "seconds": [523.4, 499.0, 601.2],
    "peak_memory_gb": 2.345,
    "machine": {"cores": 2, "cpu": "A CPU", "torch": "2.13.0"},
}


@pytest.mark.parametrize("document", sorted(QUOTING))
def test_a_document_says_what_was_measured(document: str):
    text = (ROOT / document).read_text(encoding="utf-8")

    assert fill(text, document) == text, "run `python bench/quote.py`"


def test_a_table_holds_the_figures_of_the_results(tmp_path: Path):
    (tmp_path / "mt50.json").write_text(json.dumps(FOUND))

    lines = quoted("mt50", "README.md", tmp_path).splitlines()

    assert lines[:8] == [
        "| | Policy, 3 seeds | Scripted experts, same episodes |",
        "| --- | --- | --- |",
        (
            "| Mean success over 50 tasks | **98.7 %** (± 1.2, 95 % over seeds) "
            "| 98.3 % (95 % interval 97.6 % – 98.9 %) |"
        ),
        "| Mean of the four difficulty groups | 97.0 % | 97.5 % |",
        "| Five lowest tasks of each seed, mean | 90.0 % | 88.0 % |",
        "| Episodes | 3,000 | 1,000 |",
        "| From nothing to the report | 8 min 19 s – 10 min 01 s | |",
        "| Peak memory, all processes | 2.35 GiB | |",
    ]
    assert lines[9] == (
        "2 cores (A CPU), PyTorch 2.13.0. Each seed: 98.1 %, 98.7 %, 99.3 %. "
        "Lowest over the seeds: soccer-v3 70.0 %, push-back-v3 85.0 %."
    )


@pytest.mark.parametrize(
    ("readme", "shown"), [("README.md", "12 min 03 s"), ("README.zh-CN.md", "12 分 03 秒")]
)
def test_seconds_are_read_as_minutes(readme: str, shown: str):
    assert duration(723.9, WORDS[readme]) == shown
