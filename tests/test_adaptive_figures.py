"""What bench/adaptive.py says of finished runs."""

from typing import Any

import pytest

from adaptive_figures import figures, half_width, speedup, steps_to


def run(
    rule: str, seed: int, *curve: list[float], marked: tuple[int, ...] = (3,)
) -> dict[str, Any]:
    """A run over four tasks whose success was measured every 100 steps."""
    return {
        "regime": "few_new",
        "rule": rule,
        "seed": seed,
        "steps": 100 * len(curve),
        "episodes": 10,
        "curve": [{"step": 100 * (place + 1), "rates": rates} for place, rates in enumerate(curve)],
        "marked": list(marked),
        "draws": [20, 20, 20, 40],
        "train_s": 10.0,
        "first_look_s": 2.0,
        "scored_s": 1.0,
    }


def test_gains_are_means_of_paired_differences():
    rows = [
        run("uniform", 0, [1.0, 1.0, 1.0, 0.2]),
        run("uniform", 1, [1.0, 0.8, 1.0, 0.4]),
        run("learnability", 0, [1.0, 1.0, 0.9, 0.7]),
        run("learnability", 1, [1.0, 0.8, 1.0, 0.6]),
    ]

    found = figures(rows)["few_new"]

    # The tasks' means are 0.8 and 0.8 alike, 0.9 and 0.85 by the rule: gains of 0.1 and 0.05. With
    # one degree of freedom the quantile is 12.706, and their standard error 0.025.
    assert (found["seeds"], found["success"], found["gain_mean"]) == (2, 0.875, 0.075)
    assert found["interval"] == pytest.approx([0.075 - 0.3177, 0.075 + 0.3177], abs=1e-4)
    assert (found["gain_new"], found["gain_old"]) == (0.35, -0.0167)
    assert (found["marked_share"], found["scored_share"]) == (0.4, 0.1)
    assert found["first_look_share"] == 0.2
    assert found["rates"]["1"]["uniform"] == [1.0, 0.8, 1.0, 0.4]
    assert found["rules"]["uniform"]["gain_mean"] == 0.0


def test_one_seed_has_no_interval():
    rows = [run(rule, 0, [0.5] * 4) for rule in ("uniform", "learnability")]

    assert figures(rows)["few_new"]["interval"] is None
    assert half_width([1.0]) is None


def test_a_regime_without_both_sides_has_no_figures():
    assert figures([run("learnability", 0, [1.0] * 4)]) == {}


def test_a_seed_that_only_one_side_has_counts_for_no_gain():
    rows = [
        run("uniform", 0, [0.5] * 4),
        run("learnability", 0, [0.6] * 4),
        run("learnability", 1, [0.1] * 4),
    ]

    found = figures(rows)["few_new"]

    assert (found["seeds"], found["gain_mean"]) == (1, 0.1)
    assert list(found["rates"]) == ["0"]


def test_steps_are_compared_at_what_the_lower_of_both_reaches():
    # Alike reaches 0.8 after 200 steps, the rule after 150: half way from 0.7 to 0.9.
    ours = [run("learnability", 0, [0.7] * 4, [0.9] * 4)]
    alike = [run("uniform", 0, [0.6] * 4, [0.8] * 4)]

    assert speedup(ours, alike) == pytest.approx(200 / 150, abs=1e-3)


def test_success_that_was_measured_once_says_nothing_of_steps():
    assert speedup([run("learnability", 0, [0.7] * 4)], [run("uniform", 0, [0.6] * 4)]) is None


def test_what_is_reached_at_once_takes_the_first_steps():
    assert steps_to(0.5, [(100, 0.6), (200, 0.7)]) == 100
    assert steps_to(0.9, [(100, 0.6), (200, 0.7)]) == float("inf")
